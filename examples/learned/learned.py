"""Policy exported by fullpipe.gym.export, with the interval, features, and history of its environment."""

# ruff: noqa

import math

import fullpipe


@fullpipe.algorithm("learned", recovery="rack", group="both", rate_samples=True, prr=False, compiled=True)
class Learned:
    """Policy exported from fullpipe.gym."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    pacing_rate: float = 1e12

    _bits: float = 8000.0
    _begun_ns: int = 0
    _until_ns: int = 10000000
    _started: bool = False
    _ended: int = 0
    _window: float = 10.0
    _rate_bps: float = 0.0
    _timed_out: bool = False
    _last_rtt_s: float = 0.0
    _best_rtt_s: float = math.inf
    _best_bps: float = 0.0
    _srtt_s: float = 0.0
    _min_rtt_s: float = 0.0
    _in_flight: int = 0
    _limited_ns: int = 0
    _limited_since_ns: int = -1
    _all_delivered: int = 0
    _all_lost: int = 0
    _old_delivered: int = 0
    _old_lost: int = 0
    _sent: int = 0
    _marked: int = 0
    _samples: int = 0
    _first_rtt_s: float = 0.0
    _least_rtt_s: float = 0.0
    _rtts: float = 0.0
    _times: float = 0.0
    _squares: float = 0.0
    _rises: float = 0.0
    _products: float = 0.0
    _x0: float = 0.0
    _x1: float = 0.0
    _x2: float = 0.0
    _x3: float = 0.0
    _x4: float = 0.0
    _x5: float = 0.0
    _x6: float = 0.0
    _x7: float = 0.0

    def on_start(self, start):
        self._bits = 8.0 * start.segment_bytes
        self._window = start.window

    def on_ack(self, flow, ack):
        self._see(flow)
        self._timed_out = False
        if ack.rtt_s > 0:
            self._sample((round(flow.now_s * 1e9) - self._begun_ns) / 1e9, ack.rtt_s)
        self._marked += ack.ce
        self._control()

    def on_congestion(self, flow, signal):
        self._see(flow)
        if signal == 2:
            self._timed_out = True
        self._control()

    def on_sent(self, flow, sent):
        self._see(flow)
        self._sent += 1
        self._control()

    def on_lost(self, flow, lost):
        self._see(flow)
        self._control()

    def on_undo(self, cwnd, ssthresh):
        self._control()

    def _see(self, flow):
        """Ends the intervals before this event, and takes the state of the flow."""
        now_ns = round(flow.now_s * 1e9)
        while now_ns > self._until_ns:
            self._end()
        if self._limited_since_ns >= 0:
            self._limited_ns += now_ns - self._limited_since_ns
        self._limited_since_ns = now_ns if flow.app_limited else -1
        self._all_delivered = flow.delivered
        self._all_lost = flow.lost
        self._in_flight = flow.in_flight
        self._srtt_s = flow.srtt_s if flow.srtt_s > 0 else 0.0
        self._min_rtt_s = flow.min_rtt_s if flow.min_rtt_s > 0 else 0.0

    def _sample(self, time_s, rtt_s):
        if self._samples == 0:
            self._first_rtt_s = rtt_s
            self._least_rtt_s = rtt_s
        rise = rtt_s - self._first_rtt_s
        self._samples += 1
        self._least_rtt_s = min(rtt_s, self._least_rtt_s)
        self._rtts += rtt_s
        self._times += time_s
        self._squares += time_s * time_s
        self._rises += rise
        self._products += time_s * rise

    def _control(self):
        self.cwnd = 1.0 if self._timed_out else self._window
        self.ssthresh = self._window

    def _end(self):
        """Ends an interval: observation, action, and the next interval."""
        samples = self._samples
        if samples > 0:
            self._last_rtt_s = self._rtts / samples
            self._best_rtt_s = min(self._best_rtt_s, self._last_rtt_s)
        if self._started:
            self._observe()
            self._ended += 1
            if self._ended >= 2:
                self._act()
        length_ns = self._length() if self._ended >= 2 else self._round_trips(1.0)
        if not self._started and self._last_rtt_s > 0:
            self._started = True
            self.pacing_rate = 10.0 / self._last_rtt_s
            self._rate_bps = self.pacing_rate * self._bits
            self._window = 4 * 10.0
        elif not self._started:
            length_ns = 10000000
        self._begun_ns = self._until_ns
        self._until_ns += length_ns
        self._old_delivered = self._all_delivered
        self._old_lost = self._all_lost
        self._limited_ns = 0
        if self._limited_since_ns >= 0:
            self._limited_since_ns = self._begun_ns
        self._sent = 0
        self._marked = 0
        self._samples = 0
        self._least_rtt_s = 0.0
        self._rtts = 0.0
        self._times = 0.0
        self._squares = 0.0
        self._rises = 0.0
        self._products = 0.0

    def _over(self, part, whole, otherwise):
        return part / whole if whole > 0 else otherwise

    def _where(self, test, a, b):
        return a if test else b

    def _tanh(self, x):
        return math.tanh(x)

    def _softsign(self, x):
        return x / (1.0 + abs(x))

    def _relu(self, x):
        return max(x, 0.0)

    def _clip(self, x):
        return min(max(x, -1.0), 1.0)

    def _single(self, x, low, high):
        """In the box of the feature, with the precision of an observation (float32)."""
        x = min(max(x, low), high)
        if abs(x) < 2.0**-126:
            return x
        unit = 2.0 ** (math.floor(math.log2(abs(x))) - 23)
        return round(x / unit) * unit

    def _length(self):
        """Length of the next interval, nanoseconds."""
        return self._round_trips(1.0)

    def _round_trips(self, count):
        rtt_s = self._last_rtt_s if self._last_rtt_s > 0 else 0.1
        return round(min(max(count * rtt_s, 0.001), 10.0) * 1e9)

    def _observe(self):
        """The measurements of the interval (fullpipe.gym.core), and the features of the observation."""
        duration_s = (self._until_ns - self._begun_ns) / 1e9
        sent = float(self._sent)
        delivered = float(self._all_delivered - self._old_delivered)
        lost = float(self._all_lost - self._old_lost)
        marked = float(self._marked)
        rtt_samples = float(self._samples)
        mean_rtt_s = self._last_rtt_s
        least_rtt_s = self._least_rtt_s
        rtt_slope = 0.0
        if self._samples > 0:
            spread = self._squares - self._times * self._times / rtt_samples
            if spread > 1e-12 * self._squares:
                rtt_slope = (self._products - self._times * self._rises / rtt_samples) / spread
        cwnd = self._window
        in_flight = float(self._in_flight)
        srtt_s = self._srtt_s
        min_rtt_s = self._min_rtt_s
        rate_bps = delivered * self._bits / duration_s
        send_rate_bps = sent * self._bits / duration_s
        lost_bps = lost * self._bits / duration_s
        pacing_bps = self.pacing_rate * self._bits if self.pacing_rate < 1e12 else 1e12
        loss_rate = self._over(lost, lost + delivered, 0.0)
        self._best_bps = max(self._best_bps, rate_bps)
        best_bps = self._best_bps
        best_mean_rtt_s = self._best_rtt_s if self._best_rtt_s < math.inf else 0.0
        delay_metric = min(1.0, 1.25 * min_rtt_s / srtt_s) if srtt_s > 0 else 1.0
        active = 1.0
        limited_ns = self._limited_ns
        if self._limited_since_ns >= 0:
            limited_ns += self._until_ns - self._limited_since_ns
        limited_share = limited_ns / 1e9 / duration_s
        self._x0 = self._x4
        self._x1 = self._x5
        self._x2 = self._x6
        self._x3 = self._x7
        self._x4 = self._single(rtt_slope, -1.0, 10.0)
        self._x5 = self._single(math.log10(self._over(mean_rtt_s, best_mean_rtt_s, 1.0)) / 4, 0.0, 1.0)
        self._x6 = self._single(math.log2(max(self._over(sent, delivered, 1.0), 1e-9)), -1.0, 1.0)
        self._x7 = self._single(loss_rate, 0.0, 1.0)

    def _act(self):
        """The network, and the rate or window that its action sets."""
        h0_0 = self._softsign(
            1.4420563272171991
            + self._x0 * 0.31811763009239996
            + self._x1 * 1.6330870205947483
            + self._x2 * 1.6436833305732357
            + self._x3 * 0.21629674426562484
            + self._x4 * -1.2619513563904756
            + self._x5 * 0.841914431162793
            + self._x6 * 0.8645987388581243
            + self._x7 * -1.4672763586314008
        )
        h0_1 = self._softsign(
            0.1371194204814408
            + self._x0 * 0.3749907803600983
            + self._x1 * 0.3244233423013712
            + self._x2 * -0.585722062989561
            + self._x3 * -0.8298460953891912
            + self._x4 * -1.2461101400104022
            + self._x5 * 0.16886074170148507
            + self._x6 * -2.518262531092801
            + self._x7 * -1.7265871263269459
        )
        h0_2 = self._softsign(
            1.2520319510315088
            + self._x0 * -1.1041274804695174
            + self._x1 * 0.4766687452316808
            + self._x2 * -0.3074282362741865
            + self._x3 * 1.8098770498494836
            + self._x4 * 0.18683175583086328
            + self._x5 * -2.0863342581027293
            + self._x6 * -0.6857338225930945
            + self._x7 * 0.03880596303024636
        )
        h0_3 = self._softsign(
            0.3276453590694281
            + self._x0 * 0.9381864685229764
            + self._x1 * 1.924790041530473
            + self._x2 * -0.41560350921642214
            + self._x3 * -1.7338451688736898
            + self._x4 * 1.4618980223209512
            + self._x5 * 0.3263947583142751
            + self._x6 * 0.285586770635013
            + self._x7 * -0.6543467921493068
        )
        h0_4 = self._softsign(
            0.15308621233654965
            + self._x0 * -0.7442858243771492
            + self._x1 * -0.7916840605058237
            + self._x2 * 1.0602909980433455
            + self._x3 * -1.1083216260541549
            + self._x4 * -0.08347626599343463
            + self._x5 * -0.6698003706669042
            + self._x6 * -1.7661695075453399
            + self._x7 * 0.3687633067074606
        )
        h0_5 = self._softsign(
            0.7388146119906076
            + self._x0 * -0.4670024692948119
            + self._x1 * -0.4833336103088445
            + self._x2 * -1.4191789578706286
            + self._x3 * -1.059236436228184
            + self._x4 * -1.5382285738179533
            + self._x5 * -1.941217632348733
            + self._x6 * -1.421262006249069
            + self._x7 * -1.2694550182951352
        )
        h0_6 = self._softsign(
            0.5161779852248644
            + self._x0 * -0.5395713987097538
            + self._x1 * 1.5146264182568296
            + self._x2 * 2.2389152007840782
            + self._x3 * 0.3948730453200277
            + self._x4 * 2.5179825267369442
            + self._x5 * 0.19713598183523012
            + self._x6 * -1.5236828024770943
            + self._x7 * -0.9196091784290445
        )
        h0_7 = self._softsign(
            0.7083888199095849
            + self._x0 * 1.2849169292735718
            + self._x1 * 0.3266533883240119
            + self._x2 * -1.8222031850273397
            + self._x3 * -0.8694184593668906
            + self._x4 * -0.9875015334998247
            + self._x5 * 1.5048490339410414
            + self._x6 * 0.9482905481045836
            + self._x7 * -2.6295697619432423
        )
        action = self._clip(
            -0.5767827857152978
            + h0_0 * 0.1907107090749257
            + h0_1 * 1.9935419022070184
            + h0_2 * 0.8236492582923989
            + h0_3 * 1.3211369629636511
            + h0_4 * 1.1202891490061972
            + h0_5 * 3.128216367381708
            + h0_6 * 0.6056857942833851
            + h0_7 * 2.541107138373491
        )
        target = self._rate_bps * self._where(action >= 0, 1 + (0.5 * action), 1 / (1 - min((0.5 * action), 0.0)))
        target = min(max(target, 100000.0), 100000000.0)
        self.pacing_rate = target / self._bits
        self._rate_bps = self.pacing_rate * self._bits
        self._window = max(4.0, 4 * self.pacing_rate * self._srtt_s)
