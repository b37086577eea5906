"""A small BBR with faults from public issue trackers.

It has the states, the filters, and the gains of draft-ietf-ccwg-bbr, and a simple response to loss. The parameter
``fault`` is the number of the entry of the museum; 0 for none. From 100 on, it is 100 and the number of a rule of
``fullpipe conform --rules bbr``, for example 107 for B07.
"""

import math

import fullpipe

STARTUP, DRAIN, DOWN, CRUISE, UP, PROBE_RTT = 0.0, 1.0, 2.0, 3.0, 5.0, 6.0
SHOWN = ["phase", "bw_bps", "max_bw_bps", "pacing_bps"]
CYCLE = ((UP, 1.25), (DOWN, 0.9), *((CRUISE, 1.0),) * 6)


@fullpipe.algorithm("museum-bbr", recovery="rack", group="model", rate_samples=True, inspect=SHOWN)
class Bbr:
    """A small BBR with a fault, by the number of the entry of the museum; 0 for none."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    pacing_rate: float = 1e5
    phase: float = STARTUP
    bw_bps: float = 0.0
    max_bw_bps: float = 0.0
    pacing_bps: float = 0.0
    fault: float = 0.0

    def on_start(self, start):
        """The initial pacing rate (5.6.2): by the round-trip time of the handshake, or by 1 ms without one."""
        self._bits = 8 * start.segment_bytes
        self._initial = start.window
        known = start.rtt_s > 0 and self.fault != 7
        self.pacing_rate = 2.77 * start.window / (start.rtt_s if known else 0.001)
        self._is_initial = True
        self._samples = []
        self._round = 0
        self._bw = 0.0
        self._full_bw, self._full_rounds, self._is_full = 0.0, 0, False
        self._min_rtt_s, self._min_rtt_at_s = math.inf, 0.0
        self._probed_at_s = 0.0
        self._cycle, self._cycle_at_s = 2, 0.0
        self._done_at_s = None
        self._limited_until = -1
        self._restarts = False
        self._lost, self._ranges, self._last_lost, self._delivered = 0, 0, -2, 0
        self._recovery_round = None

    def on_ack(self, flow, ack):
        """Model, state, and control parameters, in the order of the draft (5.2.3)."""
        self._round += ack.round_start
        self._measure(ack)
        self._advance(flow, ack)
        self._control(flow, ack)

    def on_sent(self, flow, sent):
        """A restart from idle counts as a drained queue (5.4.1)."""
        self._restarts = self._restarts or (sent.in_flight == sent.bytes and sent.app_limited)

    def on_lost(self, flow, lost):
        """Lost packets of this round, and their ranges (5.3.1.3)."""
        self._ranges += lost.number != self._last_lost + 1 or self.fault == 102
        self._lost, self._last_lost = self._lost + 1, lost.number

    def on_congestion(self, flow, signal):
        """A loss shows that the pipe is full: larger, older samples no longer count."""
        self._recovery_round = self._round
        if self._is_full:
            self._samples = self._samples[-1:]
        if signal == fullpipe.Signal.TIMEOUT:
            self.cwnd = max(float(flow.in_flight), 4.0)

    def on_undo(self, cwnd, ssthresh):
        """No reduction to undo."""

    def _measure(self, ack):
        limited = ack.is_app_limited or self._round <= self._limited_until
        rate = ack.delivery_rate
        if rate > 0 and math.isfinite(rate):
            if self.fault == 24 and limited:  # replaces larger ones
                self._samples = []
            if not limited or rate >= self._bw or self.fault == 24:
                self._samples = [(r, b) for r, b in self._samples if r > self._round - 10 and b > rate]
                self._samples.append((self._round, rate))
        self._bw = self._samples[0][1] if self._samples else self._bw

    def _advance(self, flow, ack):
        now_s = flow.now_s
        is_due = now_s > self._probed_at_s + 5.0
        if ack.rtt_s > 0 and (ack.rtt_s < self._min_rtt_s or now_s > self._min_rtt_at_s + 10.0):
            self._min_rtt_s, self._min_rtt_at_s = ack.rtt_s, now_s
        if ack.round_start:
            if self.phase == STARTUP:
                self._check_full(flow, ack)
            self._recovery_round = self._recovery_round if flow.in_recovery else None
            self._lost, self._ranges, self._delivered = 0, 0, flow.delivered
        if self.phase == DRAIN and flow.in_flight <= self._bdp():
            self._start_cycle(now_s)
        if self.phase in (UP, DOWN, CRUISE) and now_s > self._cycle_at_s + self._min_rtt_s:
            self._cycle, self._cycle_at_s = (self._cycle + 1) % len(CYCLE), now_s
            self.phase = CYCLE[self._cycle][0]
        if is_due and self._restarts and self.fault != 111:
            self._probed_at_s = now_s
        elif is_due and self.phase != PROBE_RTT:
            self.phase, self._done_at_s = PROBE_RTT, None
        self._restarts = False
        if self.phase == PROBE_RTT:
            self._probe_rtt(flow)

    def _check_full(self, flow, ack):
        """End of Startup by a plateau, or by loss (5.3.1.2, 5.3.1.3)."""
        if not ack.is_app_limited or self.fault == 107:
            self._full_rounds += 1
            if self._bw >= 1.25 * self._full_bw:
                self._full_bw, self._full_rounds = self._bw, 0
        sent = flow.delivered - self._delivered + self._lost
        recovers = self._recovery_round is not None and self._round > self._recovery_round
        high_loss = recovers and self._ranges >= 6 and self._lost > 0.02 * sent
        self._is_full = self._full_rounds >= 3 or high_loss
        self.phase = DRAIN if self._is_full else STARTUP

    def _probe_rtt(self, flow):
        """5.3.4.3: 200 ms with half a BDP, at least four packets."""
        self._limited_until = self._round + 1
        # Fault 8: the exit needs less than the window that the floor permits.
        fits = flow.in_flight <= (0.5 * self._bdp() if self.fault == 8 else self._probe_window())
        if self._done_at_s is None and fits:
            self._done_at_s = flow.now_s + 0.2
        elif self._done_at_s is not None and flow.now_s > self._done_at_s:
            self._probed_at_s = flow.now_s
            if self._is_full or self.fault == 120:
                self._start_cycle(flow.now_s)
            else:
                self.phase = STARTUP

    def _start_cycle(self, now_s):
        self._cycle, self._cycle_at_s, self.phase = 2, now_s, CRUISE

    def _bdp(self):
        return self._bw * self._min_rtt_s if self._bw else self._initial

    def _probe_window(self):
        return max(0.5 * self._bdp(), self._initial if self.fault == 8 else 4.0)

    def _gain(self):
        if self.phase in (STARTUP, DRAIN):
            return 2.77 if self.phase == STARTUP else 0.5
        return 1.0 if self.phase == PROBE_RTT else CYCLE[self._cycle][1]

    def _control(self, flow, ack):
        rate = 0.99 * self._gain() * self._bw
        if self._bw and (self._is_full or rate > self.pacing_rate):
            self.pacing_rate = rate
        target = 2 * self._bdp() + 3
        if self.fault == 23:  # bytes are compared with a gain, so that the guard of Startup is always true
            self.cwnd += ack.acked
        elif self._is_full:
            self.cwnd = min(self.cwnd + ack.acked, target)
        elif self.cwnd < target or flow.delivered < self._initial:
            self.cwnd += ack.acked
        self.cwnd = max(self.cwnd, 4.0)
        if self.phase == PROBE_RTT:
            self.cwnd = min(self.cwnd, self._probe_window())
        self.bw_bps = self.max_bw_bps = self._bw * self._bits
        self.pacing_bps = self.pacing_rate * self._bits
