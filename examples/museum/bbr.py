"""A small BBR with faults from public issue trackers.

It has the states, the filters, the gains, and the responses to loss of draft-ietf-ccwg-bbr, but neither extra_acked nor
inflight_shortterm. The parameter ``fault`` is the number of the entry of the museum; 0 for none. From 100 on, it is 100
and the number of a rule of ``fullpipe conform --rules bbr``, for example 107 for B07. From 200 on, the rule is of a
state: 211 for S11.
"""

import math

import fullpipe

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = map(float, range(7))
SHOWN = ["phase", "bw_bps", "max_bw_bps", "pacing_bps", "inflight_longterm_packets"]
GAINS = {STARTUP: 2.77, DRAIN: 0.5, DOWN: 0.9, CRUISE: 1.0, REFILL: 1.0, UP: 1.25, PROBE_RTT: 1.0}
PROBE_WAIT_S = 2.5
WRAP_PACKETS = 2**13


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
    inflight_longterm_packets: float = 0.0
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
        self._bw = self._max_bw = self._latest_bw = 0.0
        self._short_bw = self._long = math.inf
        self._kept, self._loses, self._recovers, self._up_rounds = (math.inf, math.inf), False, False, 0
        self._full_bw, self._full_rounds, self._is_full = 0.0, 0, False
        self._min_rtt_s, self._min_rtt_at_s = math.inf, 0.0
        self._probed_at_s, self._prior_cwnd = 0.0, 0.0
        self._cycle, self._down_at_s, self._begun_round = 0, 0.0, 0
        self._done_at_s = None
        self._limited_until, self._is_limited = -1, False
        self._restarts = False
        self._lost, self._ranges, self._last_lost, self._delivered = 0, 0, -2, 0
        self._recovery_round, self._is_undoable, self._too_high = None, False, 0.0
        self._is_careful = self._repeats = self._is_blind = False

    def on_ack(self, flow, ack):
        """Model, state, and control parameters, in the order of the draft (5.2.3)."""
        # Fault 14: where the target of the next round has wrapped, each ACK is a round.
        is_new = ack.round_start or (self.fault == 14 and flow.delivered >= WRAP_PACKETS)
        self._round += is_new
        self._measure(ack)
        self._advance(flow, ack, is_new)
        self._control(flow, ack)

    def on_sent(self, flow, sent):
        """A restart from idle counts as a drained queue, and begins at the bandwidth (5.4.1)."""
        if sent.in_flight == sent.bytes and sent.app_limited:
            self._restarts = True
            if self.phase in (DOWN, CRUISE, REFILL, UP) and self.fault != 211:
                self._pace(0.99 * self._bw)

    def on_lost(self, flow, lost):
        """Lost packets of this round, and their ranges (5.3.1.3)."""
        self._ranges += lost.number != self._last_lost + 1 or self.fault == 102
        self._lost, self._last_lost, self._loses = self._lost + 1, lost.number, True
        if self.phase == UP and self._too_high == 0 and lost.lost_since_sent > 0.02 * lost.in_flight:
            self._too_high = 8 * lost.in_flight / self._bits

    def on_congestion(self, flow, signal):
        """What an undo restores; a timeout leaves one packet (5.6.4.4)."""
        self._recovery_round, self._kept = self._round, (self._short_bw, self._long)
        self._prior_cwnd = max(self._prior_cwnd, self.cwnd) if self._recovers or self.phase == PROBE_RTT else self.cwnd
        self._recovers = True
        if signal == fullpipe.Signal.TIMEOUT:
            self.cwnd = flow.in_flight + 1.0
            self._is_blind = self.fault == 9  # the least RTT is infinite from now on, and the BDP is 0

    def on_recovered(self, flow):
        """The window before the losses (5.6.4.4)."""
        self._recovers = False
        if self.phase != PROBE_RTT:
            self.cwnd = max(self.cwnd, self._prior_cwnd)

    def on_undo(self, cwnd, _ssthresh):
        """All losses were spurious: the window and the bound before them, and another probe (5.5.11.2)."""
        self.cwnd, self._recovers, self._loses = max(self.cwnd, cwnd, self._prior_cwnd), False, False
        self._short_bw, self._long = max(self._short_bw, self._kept[0]), max(self._long, self._kept[1])
        if self.phase == DOWN and self._is_undoable:
            self._enter(REFILL)

    def _measure(self, ack):
        limited = self._is_limited = ack.is_app_limited or self._round <= self._limited_until
        rate = self._rate = ack.delivery_rate if math.isfinite(ack.delivery_rate) else 0.0
        if rate > 0:
            if self.fault == 24 and limited:  # replaces larger ones
                self._samples = []
            if not limited or rate >= self._max_bw or self.fault == 24:
                self._samples = [(c, b) for c, b in self._samples if c > self._cycle - 2 and b > rate]
                self._samples.append((self._cycle, rate))
            self._latest_bw = max(self._latest_bw, rate)
        self._max_bw = self._samples[0][1] if self._samples else self._max_bw
        self._bw = min(self._max_bw, self._short_bw)

    def _advance(self, flow, ack, is_new):
        now_s = flow.now_s
        is_due = now_s > self._probed_at_s + 5.0
        if ack.rtt_s > 0 and (ack.rtt_s < self._min_rtt_s or now_s > self._min_rtt_at_s + 10.0):
            self._min_rtt_s, self._min_rtt_at_s = ack.rtt_s, now_s
        if is_new:
            if self._loses and self.phase not in (STARTUP, REFILL, UP):  # the short-term bound (5.5.10.3)
                self._short_bw = max(self._latest_bw, 0.7 * self._bw)
            self._loses, self._latest_bw = False, self._rate
            if self.phase == UP and flow.cwnd_limited and self.cwnd >= self._long:  # 1, 2, 4, ... (5.3.3.4)
                self._long, self._up_rounds = self._long + 2**self._up_rounds, self._up_rounds + 1
            if self.phase in (STARTUP, UP, PROBE_RTT):
                self._check_full(flow)
            self._recovery_round = self._recovery_round if flow.in_recovery else None
            self._lost, self._ranges, self._delivered = 0, 0, flow.delivered
        if self.phase == DRAIN and (flow.in_flight <= self._bdp() or self._round > self._begun_round + 3):
            self._enter(CRUISE)
        self._probe(flow, ack)
        if is_due and self._restarts and self.fault != 111:
            self._probed_at_s = now_s
        elif is_due and self.phase != PROBE_RTT:
            self.phase, self._done_at_s, self._prior_cwnd = PROBE_RTT, None, self.cwnd
        self._restarts = False
        if self.phase == PROBE_RTT:
            self._probe_rtt(flow)

    def _check_full(self, flow):
        """End of Startup by a plateau, or by loss (5.3.1.2, 5.3.1.3)."""
        if not self._is_limited or self.fault == 107:
            self._full_rounds += 1
            if self._bw >= (4 / 3 if self.fault == 13 else 1.25) * self._full_bw:
                self._full_bw, self._full_rounds = self._bw, 0
        plateau = self._full_rounds >= 3
        if self.phase == UP:
            if plateau:
                self._go_down(flow.now_s, is_undoable=False)
            return
        sent = flow.delivered - self._delivered + self._lost
        recovers = self._recovery_round is not None and self._round > self._recovery_round
        self._is_full = self._is_full or plateau or (recovers and self._ranges >= 6 and self._lost > 0.02 * sent)
        if self._is_full and self.phase == STARTUP:
            self._enter(DRAIN)

    def _enter(self, phase):
        self.phase, self._begun_round = phase, self._round
        self._full_bw, self._full_rounds, self._too_high = 0.0, 0, 0.0
        if phase == REFILL:
            self._short_bw, self._up_rounds, self._repeats = math.inf, 0, False

    def _go_down(self, now_s, *, is_undoable):
        self._enter(DOWN)
        self._down_at_s, self._is_undoable = now_s, is_undoable
        self._cycle += 1

    def _probe(self, flow, ack):
        """5.3.3: from ProbeBW_DOWN to ProbeBW_UP."""
        repeats = self._repeats and self._round > self._begun_round + 1
        waits = flow.now_s <= self._down_at_s + PROBE_WAIT_S and not repeats
        if self.phase == UP and self._too_high:
            self._long = max(self._too_high, 0.7 * min(self._bdp(), self.cwnd))
            self._is_careful = True
            self._go_down(flow.now_s, is_undoable=True)
        elif self.phase == UP and self._is_careful and flow.in_flight + ack.acked + 1 > self._long:  # 5.3.3.6
            self._is_careful, self._repeats = False, True
            self._go_down(flow.now_s, is_undoable=False)
        elif self.phase in (DOWN, CRUISE) and not waits:
            self._enter(REFILL)
        elif self.phase == DOWN and flow.in_flight <= 0.85 * self._bdp():
            self._enter(CRUISE)
        elif self.phase == REFILL and self._round > self._begun_round:
            self._enter(UP)

    def _probe_rtt(self, flow):
        """5.3.4.3: 200 ms with half a BDP, at least four packets."""
        if self.fault != 210:
            self._limited_until = self._round + 1
        # Fault 8: the exit needs less than the window that the floor permits.
        fits = flow.in_flight <= (0.5 * self._bdp() if self.fault == 8 else self._probe_window())
        if self._done_at_s is None and fits:
            self._done_at_s = flow.now_s + 0.2
        elif self._done_at_s is not None and flow.now_s > self._done_at_s:
            self._probed_at_s = flow.now_s
            self.cwnd = max(self.cwnd, self._prior_cwnd)
            self.phase = CRUISE if self._is_full or self.fault == 120 else STARTUP

    def _bdp(self):
        if self._is_blind:
            return 0.0
        return self._bw * self._min_rtt_s if self._bw else self._initial

    def _probe_window(self):
        return max(0.5 * self._bdp(), self._initial if self.fault == 8 else 4.0)

    def _control(self, flow, ack):
        rate = 0.99 * GAINS[self.phase] * self._bw
        if self._bw and (self._is_full or rate > self.pacing_rate):
            self._pace(rate)
        target = 2 * self._bdp() + 3
        if self.fault == 23:  # bytes are compared with a gain, so that the guard of Startup is always true
            self.cwnd += ack.acked
        elif self._is_full:
            self.cwnd = min(self.cwnd + ack.acked, target)
        elif self.cwnd < target or flow.delivered < self._initial:
            self.cwnd += ack.acked
        if self.fault != 23:
            self.cwnd = min(self.cwnd, self._long if self.phase in (DRAIN, DOWN, REFILL, UP) else 0.85 * self._long)
        self.cwnd = max(self.cwnd, 4.0)
        if self.phase == PROBE_RTT:
            self.cwnd = min(self.cwnd, self._probe_window())
        self.bw_bps, self.max_bw_bps = self._bw * self._bits, self._max_bw * self._bits
        self._pace(self.pacing_rate)
        self.inflight_longterm_packets = self._long

    def _pace(self, rate):
        self.pacing_rate, self.pacing_bps = rate, rate * self._bits
