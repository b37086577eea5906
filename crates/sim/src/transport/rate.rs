//! How fast data arrives at the receiver, ACK by ACK: the delivery-rate estimator of draft-ietf-ccwg-bbr, section 4.1.
//!
//! A sample spans the time from the last delivery that was known when a segment left to that segment's own; it is no faster than
//! data was sent, because the time that sending took counts where it is the longer one.
//!
//! Segments are lost when the recovery says so, or where it does not tell of each, when they are sent again. Without SACK a segment counts
//! as delivered when the cumulative point passes it.

use crate::ring::Ring;
use fullpipe_cc::{Lost, Nanos, RateSample};

/// A connection's estimator; times are the flow's own. The draft's names in brackets. In the order of use.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sampler {
    /// Samples tell of the application until so many segments are delivered (C.app_limited).
    app_limited_until: Option<u64>,
    /// Segments delivered (C.delivered), and when the last was (C.delivered_time).
    delivered: u64,
    delivered_at: Nanos,
    /// When the newest segment delivered was sent: the beginning of the next sending time (C.first_send_time).
    first_sent: Nanos,
    /// Segments found lost (C.lost), and those of which the algorithm has heard with an ACK.
    lost: u64,
    lost_told: u64,
    /// The least RTT of segments sent once (C.min_rtt); `Nanos::MAX` before the first.
    min_rtt: Nanos,
    sent: Ring<Sent>,
    /// Of which segment `sent` begins to know.
    base: u64,
    /// How many the ACK at hand delivers, and the newest of those.
    newly_delivered: u64,
    newest: Option<(u64, Sent)>,
}

/// State of a connection when a segment was last sent: counts of segments since it began.
#[derive(Clone, Copy, Debug)]
pub struct AtSending {
    /// Time of sending.
    pub sent_at: Nanos,
    /// Segments in flight, this one included.
    pub in_flight: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments delivered since then.
    pub delivered_since: u64,
    /// Segments lost.
    pub lost: u64,
    /// Time of the last delivery.
    pub delivered_at: Nanos,
    /// Beginning of the sending time of its sample.
    pub first_sent_at: Nanos,
    /// The application limited the sender.
    pub app_limited: bool,
}

/// What is remembered of a segment from when it was last sent; counts modulo 2^32, so that many of these lie close together.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    at: Nanos,
    first_sent: Nanos,
    delivered_at: Nanos,
    delivered: u32,
    in_flight: u32,
    lost: u32,
    is_app_limited: bool,
    /// Sent more than once; found lost since it was last.
    again: bool,
    is_lost: bool,
    /// Delivered, however often it has been sent.
    arrived: bool,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            lost: 0,
            lost_told: 0,
            app_limited_until: None,
            min_rtt: Nanos::MAX,
            base: 0,
            sent: Ring::default(),
            newest: None,
            newly_delivered: 0,
        }
    }
}

impl Sampler {
    /// A new connection begins.
    pub fn reset(&mut self) {
        let Sampler { mut sent, .. } = std::mem::take(self);
        sent.clear();
        *self = Sampler { sent, ..Sampler::default() };
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.sent.heap_bytes()
    }

    /// When each segment outstanding was last sent.
    pub fn times(&self) -> impl Iterator<Item = Nanos> {
        self.sent.iter().map(|sent| sent.at)
    }

    /// Segments found lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Those of them of which the algorithm has not heard with an ACK; it hears of them now.
    pub fn newly_lost(&mut self) -> u64 {
        self.lost - std::mem::replace(&mut self.lost_told, self.lost)
    }

    /// The algorithm has heard of them all.
    pub fn has_told_all(&self) -> bool {
        self.lost_told == self.lost
    }

    /// What is sent tells of the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Segment `seq` is sent, one known or the next; `in_flight` are in the network beside it.
    pub fn on_sent(&mut self, seq: u64, now: Nanos, in_flight: u64) {
        let sent = self.sent(now, in_flight);
        match self.sent.get_mut((seq - self.base) as usize) {
            Some(known) => *known = Sent { again: true, arrived: known.arrived, ..sent },
            None => self.sent.push_back(sent),
        }
    }

    /// The next segment is sent for the first time; `in_flight` are in the network beside it.
    #[inline(always)]
    pub fn on_new(&mut self, now: Nanos, in_flight: u64) {
        let sent = self.sent(now, in_flight);
        self.sent.push_back(sent);
    }

    /// What is to be remembered of a segment sent.
    #[inline(always)]
    fn sent(&mut self, now: Nanos, in_flight: u64) -> Sent {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Sent {
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered as u32,
            in_flight: in_flight as u32 + 1,
            lost: self.lost as u32,
            is_app_limited: self.is_app_limited(),
            ..Sent::default()
        }
    }

    /// Segment `seq` is found lost, unless it has been since it was last sent, or is not known.
    pub fn on_lost(&mut self, seq: u64) -> Option<Lost> {
        let known = self.sent.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        if std::mem::replace(&mut known.is_lost, true) {
            return None;
        }
        self.lost += 1;
        let (in_flight, lost) = (u64::from(known.in_flight), since(known.lost, self.lost));
        let lost = Lost::of(seq).tx_in_flight(in_flight).lost(lost).is_app_limited(known.is_app_limited);
        Some(lost.delivered(self.delivered))
    }

    /// State when the outstanding segment `seq` was last sent.
    pub fn at_sending(&self, seq: u64) -> Option<AtSending> {
        let known = self.sent.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        let delivered_since = since(known.delivered, self.delivered);
        Some(AtSending {
            sent_at: known.at,
            in_flight: known.in_flight.into(),
            delivered: self.delivered - delivered_since,
            delivered_since,
            lost: self.lost - since(known.lost, self.lost),
            delivered_at: known.delivered_at,
            first_sent_at: known.first_sent,
            app_limited: known.is_app_limited,
        })
    }

    /// Nothing is left to send, with `in_flight` in the network: what is sent until all that has arrived tells of the application.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    /// An ACK that asks for `cumulative`; its SACK blocks newly tell of the segments `sacked` beyond. Says how many it delivers.
    pub fn on_ack(&mut self, now: Nanos, cumulative: u64, sacked: &[u64]) -> u64 {
        let before = self.delivered;
        self.newest = None;
        for &seq in sacked {
            let known = self.sent.get_mut((seq - self.base) as usize).filter(|known| !known.arrived);
            if let Some(known) = known {
                known.arrived = true;
                let sent = *known;
                self.deliver(seq, sent, now);
            }
        }
        while self.base < cumulative {
            // Nearly all behind a loss have arrived before.
            self.base += self.sent.pop_while((cumulative - self.base) as usize, |sent| sent.arrived) as u64;
            if self.base >= cumulative {
                break;
            }
            let Some(sent) = self.sent.pop_front() else { break };
            self.deliver(self.base, sent, now);
            self.base += 1;
        }
        if let Some((newest, _)) = self.newest {
            // The next ACK's, which has been out of use for a round trip.
            self.sent.prefetch((newest + 1).saturating_sub(self.base) as usize);
        }
        self.newly_delivered = self.delivered - before;
        self.newly_delivered
    }

    /// The same of an ACK that asks for what the one before did, and newly tells of segment `seq` alone; what it tells, unless that has been
    /// delivered before.
    #[inline(always)]
    pub fn on_sacked(&mut self, now: Nanos, seq: u64) -> Option<RateSample> {
        let place = (seq - self.base) as usize;
        let known = self.sent.get_mut(place).filter(|known| !known.arrived)?;
        known.arrived = true;
        let sent = *known;
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_delivered = 1;
        // The next ACK's, which has been out of use for a round trip.
        self.sent.prefetch(place + 1);
        Some(self.sample_of(seq, &sent, now))
    }

    /// The same where SACK blocks have told of none that is outstanding, and what the ACK tells: mostly of one segment. Also when the last
    /// of them was sent.
    #[inline(always)]
    pub fn on_expected_ack(&mut self, now: Nanos, cumulative: u64) -> Option<(RateSample, Nanos)> {
        if cumulative - self.base > 1 {
            let last = self.sent.get((cumulative - 1 - self.base) as usize)?.at;
            self.on_ack(now, cumulative, &[]);
            return Some((self.sample(now)?, last));
        }
        let newest = self.sent.pop_front()?;
        debug_assert!(!newest.arrived);
        self.base = cumulative;
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_delivered = 1;
        // The next ACK's.
        self.sent.prefetch(0);
        Some((self.sample_of(cumulative - 1, &newest, now), newest.at))
    }

    /// UpdateRateSample.
    #[inline]
    fn deliver(&mut self, seq: u64, sent: Sent, now: Nanos) {
        self.delivered += 1;
        self.delivered_at = now;
        if self.newest.is_none_or(|(newest, known)| (sent.at, seq) > (known.at, newest)) {
            self.newest = Some((seq, sent));
        }
    }

    /// What the ACK at hand tells (GenerateRateSample); nothing where it delivers nothing, and no rate where it spans less than the least
    /// RTT, in which ACKs came closer together than data can have.
    pub fn sample(&mut self, now: Nanos) -> Option<RateSample> {
        let Some((segment, newest)) = self.newest else {
            self.look_whether_all_have_arrived();
            return None;
        };
        Some(self.sample_of(segment, &newest, now))
    }

    /// Samples tell of the application no more once what was in the network has been followed by more.
    #[inline(always)]
    fn look_whether_all_have_arrived(&mut self) {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
    }

    /// The same of an ACK whose newest segment is this one.
    #[inline(always)]
    fn sample_of(&mut self, segment: u64, newest: &Sent, now: Nanos) -> RateSample {
        self.look_whether_all_have_arrived();
        let sending = newest.at - newest.first_sent;
        let acknowledging = self.delivered_at - newest.delivered_at;
        self.first_sent = newest.at;
        let rtt = Some(now - newest.at).filter(|_| !newest.again);
        self.min_rtt = self.min_rtt.min(rtt.unwrap_or(Nanos::MAX));
        let interval = sending.max(acknowledging);
        let is_long = interval >= self.min_rtt || self.min_rtt == Nanos::MAX;
        let interval = (interval > 0 && is_long).then_some(interval);
        let delivered = since(newest.delivered, self.delivered);
        let sample = RateSample::new(delivered, interval).segment(segment).rtt(rtt);
        let sample = sample.newly_delivered(self.newly_delivered).prior_delivered(self.delivered - delivered);
        let sample = sample.tx_in_flight(newest.in_flight.into()).lost(since(newest.lost, self.lost));
        sample.is_app_limited(newest.is_app_limited)
    }
}

/// How far a count has come, which was `then` modulo 2^32, until `now`: no segment is under way for 2^32 others.
#[inline]
fn since(then: u32, now: u64) -> u64 {
    u64::from((now as u32).wrapping_sub(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// The samples of a path of 100 ms over which a segment is sent every `gap`; ACKs wait for the last of each `burst`.
    fn rates(segments: u64, gap: Nanos, burst: u64) -> Vec<f64> {
        let mut sampler = Sampler::default();
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

    /// Ten sent at 0 and nothing more to send; they arrive from 100 ms on, the next ten are sent at 1 s. Samples of the first ten are
    /// whole; those of the next tell of the application, up to and with the tenth, which passes the mark.
    #[test]
    fn after_an_idle_time_samples_tell_of_the_application() {
        let mut sampler = Sampler::default();
        (0..10).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let mut limited = Vec::new();
        for seq in 0..10 {
            sampler.on_ack((100 + seq) * MS, seq + 1, &[]);
            limited.push(sampler.sample((100 + seq) * MS).expect("a sample").is_app_limited);
        }
        sampler.on_app_limited(0);
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

    /// 0 to 4 are sent, 1 ms apart; 0 is lost. SACK delivers 1 to 4 one by one, the cumulative point then 0 alone, sent again at 60 ms when one
    /// was lost.
    #[test]
    fn each_segment_is_delivered_once() {
        let mut sampler = Sampler::default();
        (0..5).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let delivered: Vec<_> = (2..=5)
            .map(|end| {
                // What is told again counts no second time.
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
        assert_eq!([sampler.newly_lost(), sampler.newly_lost()], [1, 0]);
        sampler.on_sent(0, 60 * MS, 1);
        assert_eq!(sampler.on_ack(110 * MS, 5, &[]), 1);
        // 55 ms from the last delivery to this one, but 56 from the sending of the last one; four had been delivered when it left. Its round
        // trip is not told: the first transmission may have arrived.
        let sample = sampler.sample(110 * MS).expect("a sample");
        assert_eq!(sample, RateSample::new(1, Some(56 * MS)).prior_delivered(4).tx_in_flight(2));
        assert_eq!(sampler.sent.len(), 0);
    }

    /// A sample that spans less than the least RTT, of segments sent once, tells of no rate: 1 is acknowledged 10 ms after it has been sent again.
    #[test]
    fn short_samples_are_none() {
        let mut sampler = Sampler::default();
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
        let mut sampler = Sampler::default();
        (0..10).for_each(|seq| sampler.on_sent(seq, seq * MS, seq));
        let lost = [2, 5].map(|seq| sampler.on_lost(seq));
        assert_eq!(lost, [Some(Lost::of(2).tx_in_flight(3)), Some(Lost::of(5).tx_in_flight(6).lost(2))]);
        assert_eq!((sampler.lost(), sampler.newly_lost()), (2, 2));
    }
}
