//! Rate sampler: the delivery-rate estimator of draft-ietf-ccwg-bbr, section 4.1.
//!
//! A sample spans the time from the last delivery before a segment left to the delivery of that segment. It never exceeds the send rate,
//! because the time that sending took counts where it is longer.
//!
//! A segment is lost when the loss recovery declares it lost. Recoveries without declarations lose a segment when they retransmit it.
//! Without SACK a segment is delivered when the cumulative ACK passes it. Counts at the transmission of a segment are in its [`Record`].

use super::outstanding::Record;
use fullpipe_cc::{Lost, Nanos, RateSample};

/// Delivery-rate estimator of a connection. Times are on the flow's clock, names of the draft in brackets. Fields in the order of use.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sampler {
    /// Samples are limited by the application until this many segments are delivered (C.app_limited).
    app_limited_until: Option<u64>,
    /// Delivered segments (C.delivered), and the time of the last delivery (C.delivered_time).
    delivered: u64,
    delivered_at: Nanos,
    /// Send time of the newest delivered segment: the start of the next sending interval (C.first_send_time).
    first_sent: Nanos,
    /// Lost segments (C.lost), and those of them that an ACK has reported to the algorithm.
    lost: u64,
    lost_reported: u64,
    /// Minimum RTT of segments sent once (C.min_rtt); `Nanos::MAX` before the first.
    min_rtt: Nanos,
    /// Segments that this ACK delivers, and the one of them that was sent last.
    newly_delivered: u64,
    newest: Option<(u64, Record)>,
    /// Segments that the loss recovery has declared lost since the last report, in order.
    pub found: Vec<u64>,
    /// Records of the segments that this ACK delivers, for packet-level controllers.
    pub arrived: Option<Vec<Record>>,
}

/// State of a connection when a segment was last sent: counts of segments since it began.
#[derive(Clone, Copy, Debug)]
pub struct AtSending {
    /// Segments delivered.
    pub delivered: u64,
    /// Segments delivered since then.
    pub delivered_since: u64,
    /// Segments lost.
    pub lost: u64,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            lost: 0,
            lost_reported: 0,
            app_limited_until: None,
            min_rtt: Nanos::MAX,
            newest: None,
            newly_delivered: 0,
            found: Vec::new(),
            arrived: None,
        }
    }
}

impl Sampler {
    /// Starts over for a new connection. Memory is kept.
    pub fn reset(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let arrived = self.arrived.is_some().then(Vec::new);
        *self = Sampler { found, arrived, ..Sampler::default() };
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        let arrived = self.arrived.as_ref().map_or(0, |arrived| arrived.capacity() * size_of::<Record>());
        self.found.capacity() * size_of::<u64>() + arrived
    }

    /// Lost segments.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Delivered segments.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Time of the last delivery.
    pub fn delivered_at(&self) -> Nanos {
        self.delivered_at
    }

    /// Start of the next sending interval.
    pub fn first_sent(&self) -> Nanos {
        self.first_sent
    }

    /// Lost segments since the last call.
    pub fn newly_lost(&mut self) -> u64 {
        self.lost - std::mem::replace(&mut self.lost_reported, self.lost)
    }

    /// Whether all lost segments have been reported with an ACK.
    #[inline]
    pub fn has_reported_all(&self) -> bool {
        self.lost == self.lost_reported
    }

    /// Whether segments sent now are limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Completes the record of a segment that has just been sent while `in_flight` others were in flight.
    #[inline(always)]
    pub fn on_sent(&mut self, record: &mut Record, in_flight: u64) {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (record.sent_at, record.sent_at);
        }
        record.first_sent_at = self.first_sent;
        record.delivered_at = self.delivered_at;
        record.delivered = self.delivered as u32;
        record.in_flight = in_flight as u32 + 1;
        record.lost = self.lost as u32;
        record.app_limited = self.is_app_limited();
    }

    /// Counts segment `seq` as lost.
    pub fn on_lost(&mut self, seq: u64, record: &Record) -> Lost {
        self.lost += 1;
        let lost = Lost::of(seq).tx_in_flight(record.in_flight.into()).lost(since(record.lost, self.lost));
        lost.is_app_limited(record.app_limited).delivered(self.delivered)
    }

    /// Counts when the segment of `record` was last sent.
    pub fn at_sending(&self, record: &Record) -> AtSending {
        let delivered_since = since(record.delivered, self.delivered);
        let lost = self.lost - since(record.lost, self.lost);
        AtSending { delivered: self.delivered - delivered_since, delivered_since, lost }
    }

    /// Handles the end of the data, with `in_flight` segments in flight: samples are limited by the application until all of these and one
    /// more have been delivered.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    /// Starts the sample of the next ACK.
    #[inline(always)]
    pub fn begin_ack(&mut self) {
        self.newly_delivered = 0;
        self.newest = None;
    }

    /// Segments that this ACK delivers.
    #[inline(always)]
    pub fn newly_delivered(&self) -> u64 {
        self.newly_delivered
    }

    /// Counts a segment that an ACK at `now` delivers (UpdateRateSample).
    #[inline(always)]
    pub fn deliver(&mut self, seq: u64, record: &Record, now: Nanos) {
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_delivered += 1;
        if self.newest.is_none_or(|(newest, known)| (record.sent_at, seq) > (known.sent_at, newest)) {
            self.newest = Some((seq, *record));
        }
        if let Some(arrived) = &mut self.arrived {
            arrived.push(*record);
        }
    }

    /// Counts `count` segments up to `seq` that an ACK delivers in the order of transmission, without retransmissions.
    #[inline(always)]
    pub fn deliver_in_order(&mut self, count: u64, seq: u64, record: &Record, now: Nanos) {
        self.delivered += count;
        self.delivered_at = now;
        self.newly_delivered = count;
        self.newest = Some((seq, *record));
    }

    /// Sample of this ACK (GenerateRateSample); `None` if the ACK delivers nothing. The sample has no rate if it spans less than the minimum
    /// RTT: ACKs came closer together than the data.
    #[inline(always)]
    pub fn sample(&mut self, now: Nanos) -> Option<RateSample> {
        // Once more than the segments in flight has been delivered, samples are no longer limited by the application.
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let (segment, newest) = self.newest.as_ref()?;
        let sending = newest.sent_at - newest.first_sent_at;
        let acknowledging = self.delivered_at - newest.delivered_at;
        self.first_sent = newest.sent_at;
        let rtt = Some(now - newest.sent_at).filter(|_| !newest.retransmitted);
        self.min_rtt = self.min_rtt.min(rtt.unwrap_or(Nanos::MAX));
        let interval = sending.max(acknowledging);
        let is_long = interval >= self.min_rtt || self.min_rtt == Nanos::MAX;
        let interval = (interval > 0 && is_long).then_some(interval);
        let delivered = since(newest.delivered, self.delivered);
        let sample = RateSample::new(delivered, interval).segment(*segment).rtt(rtt);
        let sample = sample.newly_delivered(self.newly_delivered).prior_delivered(self.delivered - delivered);
        let sample = sample.tx_in_flight(newest.in_flight.into()).lost(since(newest.lost, self.lost));
        Some(sample.is_app_limited(newest.app_limited))
    }
}

/// Increase of a count, which was `then` modulo 2^32, until `now`. No segment is in flight for 2^32 others.
#[inline]
fn since(then: u32, now: u64) -> u64 {
    u64::from((now as u32).wrapping_sub(then))
}

#[cfg(test)]
mod tests {
    use super::super::outstanding::Outstanding;
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Records of a connection with a rate sampler.
    struct Bench(Outstanding);

    impl Bench {
        fn new() -> Bench {
            Bench(Outstanding::new(Some(Box::default())))
        }

        fn rate(&mut self) -> &mut Sampler {
            self.0.rate.as_mut().expect("a sampler")
        }

        fn on_sent(&mut self, seq: u64, now: Nanos, in_flight: u64) {
            self.0.send(seq, now);
            self.0.add_rate_state(seq, in_flight);
        }

        /// Number of segments that an ACK with the given SACKed segments delivers.
        fn on_ack(&mut self, now: Nanos, cumulative: u64, sacked: &[u64]) -> u64 {
            self.rate().begin_ack();
            for &seq in sacked {
                self.0.sack(seq, now);
            }
            self.0.forget_below(cumulative, now);
            self.rate().newly_delivered()
        }

        fn sample(&mut self, now: Nanos) -> Option<RateSample> {
            self.rate().sample(now)
        }

        fn on_lost(&mut self, seq: u64) -> Option<Lost> {
            self.0.report_loss(seq)
        }
    }

    /// The samples of a path of 100 ms over which a segment is sent every `gap`; ACKs wait for the last of each `burst`.
    fn rates(segments: u64, gap: Nanos, burst: u64) -> Vec<f64> {
        let mut sampler = Bench::new();
        let (mut rates, mut next) = (Vec::new(), 0);
        for acked in 1..=segments {
            let now = 100 * MS + acked.div_ceil(burst) * burst * gap;
            while next * gap <= now {
                sampler.on_sent(next, next * gap, next - (acked - 1));
                next += 1;
            }
            assert_eq!(sampler.on_ack(now, acked, &[]), 1);
            rates.extend(sampler.sample(now).and_then(|sample| sample.per_second()));
        }
        rates
    }

    /// 10 Mbit/s of 1000 bytes: 1250 segments a second, 0.8 ms each. Every sample is within one segment of the 125 of a round trip, from
    /// the first on of a segment that was sent after something had been delivered, which 127 were not.
    #[test]
    fn a_steady_stream_gives_its_rate_within_a_segment() {
        let rates = rates(2000, 800_000, 1);
        assert!(rates.len() > 1900, "{}", rates.len());
        for rate in &rates[127..] {
            assert!((rate - 1250.0).abs() <= 1250.0 / 125.0, "{rate}");
        }
    }

    /// ACKs in bursts of ten, 8 ms of them at a time: no sample is above the rate of sending, one segment aside.
    #[test]
    fn acks_in_bursts_raise_no_sample_above_the_rate_of_sending() {
        let rates = rates(2000, 800_000, 10);
        assert!(rates.len() > 1000, "{}", rates.len());
        let most = rates.iter().copied().fold(0.0, f64::max);
        assert!(most <= 1250.0 * (1.0 + 1.0 / 125.0), "{most}");
    }

    /// Ten segments leave at 0, with no further data. They arrive from 100 ms on, and the next ten leave at 1 s.
    /// Samples of the first ten are valid. Those of the next are application-limited, up to and including the tenth,
    /// which passes the mark.
    #[test]
    fn after_an_idle_time_samples_tell_of_the_application() {
        let mut sampler = Bench::new();
        (0..10).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let mut limited = Vec::new();
        for seq in 0..10 {
            sampler.on_ack((100 + seq) * MS, seq + 1, &[]);
            limited.push(sampler.sample((100 + seq) * MS).expect("a sample").is_app_limited);
        }
        sampler.rate().on_app_limited(0);
        (10..30).for_each(|seq| sampler.on_sent(seq, 1000 * MS + seq * MS, seq - 10));
        for seq in 10..30 {
            sampler.on_ack(1100 * MS + seq * MS, seq + 1, &[]);
            let sample = sampler.sample(1100 * MS + seq * MS).expect("a sample");
            limited.push(sample.is_app_limited);
            assert!(sample.interval <= Some(120 * MS), "the idle time is in no sample: {:?}", sample.interval);
        }
        sampler.on_sent(30, 2000 * MS, 0);
        sampler.on_ack(2100 * MS, 31, &[]);
        limited.push(sampler.sample(2100 * MS).expect("a sample").is_app_limited);
        assert_eq!(limited, [[false; 10].as_slice(), &[true; 20], &[false]].concat());
    }

    /// 0 to 4 are sent, 1 ms apart; 0 is lost. SACK delivers 1 to 4 one by one, the cumulative point then 0 alone, retransmitted at 60 ms when one
    /// was lost.
    #[test]
    fn each_segment_is_delivered_once() {
        let mut sampler = Bench::new();
        (0..5).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let delivered: Vec<_> = (2..=5)
            .map(|end| {
                // Repeated reports do not count again.
                sampler.on_ack(end * MS + 50 * MS, 0, &(1..end).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(delivered, [1, 1, 1, 1]);
        // The first was sent at 1 ms and came back at 52, the last after 51 ms too.
        let known = RateSample::new(4, Some(55 * MS)).segment(4).newly_delivered(1).rtt(Some(51 * MS)).tx_in_flight(5);
        assert_eq!(sampler.sample(55 * MS), Some(known));
        // Segments 1 to 4 had been delivered when the loss of 0 was found.
        let lost = Some(Lost::of(0).delivered(4));
        assert_eq!([sampler.on_lost(0), sampler.on_lost(0), sampler.on_lost(9)], [lost, None, None]);
        assert_eq!([sampler.rate().newly_lost(), sampler.rate().newly_lost()], [1, 0]);
        sampler.on_sent(0, 60 * MS, 1);
        assert_eq!(sampler.on_ack(110 * MS, 5, &[]), 1);
        // 55 ms from the last delivery to this one, but 56 from the last transmission; four had been delivered when it
        // left. There is no RTT sample, because the first transmission may have arrived.
        let sample = sampler.sample(110 * MS).expect("a sample");
        assert_eq!(sample, RateSample::new(1, Some(56 * MS)).prior_delivered(4).tx_in_flight(2));
        assert_eq!(sampler.0.get(4).map(|record| record.sent_at), None);
    }

    /// A sample that spans less than the minimum RTT, of segments sent once, gives no rate: 1 is acknowledged 10 ms
    /// after its retransmission.
    #[test]
    fn short_samples_are_none() {
        let mut sampler = Bench::new();
        sampler.on_sent(0, 0, 0);
        sampler.on_ack(40 * MS, 1, &[]);
        assert_eq!(sampler.sample(40 * MS).and_then(|sample| sample.interval), Some(40 * MS));
        sampler.on_sent(1, 50 * MS, 0);
        assert!(sampler.on_lost(1).is_some());
        sampler.on_sent(1, 95 * MS, 0);
        sampler.on_ack(105 * MS, 2, &[]);
        let sample = sampler.sample(105 * MS).expect("it tells of losses and of rounds");
        assert_eq!((sample.interval, sample.rtt, sample.delivered, sample.lost), (None, None, 1, 0));
    }

    /// Ten are sent, 2 and 5 are lost: with 3 in the network when 2 left, and 6 when 5 did.
    #[test]
    fn each_loss_tells_what_was_in_the_network() {
        let mut sampler = Bench::new();
        (0..10).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let lost = [2, 5].map(|seq| sampler.on_lost(seq));
        assert_eq!(lost, [Some(Lost::of(2).tx_in_flight(3)), Some(Lost::of(5).tx_in_flight(6).lost(2))]);
        assert_eq!((sampler.rate().lost(), sampler.rate().newly_lost()), (2, 2));
    }
}
