//! A sender over a bottleneck that can change, lose, hold back and police, and an application that can pause.

use super::*;

pub(super) struct Path {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Nanos,
    pub(super) segments: BTreeMap<(Nanos, u64), (u64, Nanos)>,
    pub(super) acks: BTreeMap<(Nanos, u64), (Arrival, Option<SackBlocks>)>,
    pub(super) count: u64,
    /// The bottleneck: its rate, when it is free, when those in its queue leave, and its buffer.
    pub(super) rate_bps: f64,
    pub(super) free_at: Nanos,
    pub(super) queue: VecDeque<Nanos>,
    pub(super) buffer: usize,
    /// ACKs leave at multiples only; 0 for at once.
    pub(super) aggregation: Nanos,
    /// A policer's rate and burst, segments, and its tokens at a time.
    pub(super) policer: Option<(f64, f64)>,
    pub(super) tokens: (f64, Nanos),
    /// Of this many segments, one is lost; 0 for none.
    pub(super) loses_one_in: u64,
    /// Of this many segments, one arrives late by this time.
    pub(super) late: Option<(u64, Nanos)>,
    /// Nothing arrives before.
    pub(super) held_until: Nanos,
    /// Rate of the application in segments per second, and its start; `None` for unlimited data.
    pub(super) writes: Option<f64>,
    pub(super) next_write: Nanos,
    /// Segments lost on the way, and sent; when the sender is to be woken, and how it keeps to its rate.
    pub(super) drops: u64,
    pub(super) sent: u64,
    pub(super) wake_at: Nanos,
    pub(super) pace: Pace,
}

/// Virtual clock of the sender's pacing: the time at which all its segments would have left if each were paced singly.
#[derive(Default)]
pub(super) struct Pace {
    pub(super) due: f64,
    /// How many could leave back to back when the last burst began, and the longest gap since, seconds.
    pub(super) quantum: f64,
    pub(super) gap: f64,
    /// By how many segments it has been ahead of that, at most.
    pub(super) worst: f64,
}

impl Path {
    pub(super) fn of(algorithm: &str, params: &[(&'static str, Value)], seed: u64) -> Path {
        let mut tcp = Tcp { initial_window: 10, ..Tcp::new(algorithm, Recovery::Rack, vec![0]) };
        tcp.algorithm.params = params.to_vec();
        let cc: Controller = controller(&tcp, 1500, Some(RTT), seed, &Guard::default());
        let meter = Meter::new(Arc::new(Terms {
            window: Window { from: 0, to: 1000 * SECOND },
            interval: None,
            distributes: false,
        }));
        let mut sender = Sender::new(&tcp, cc, u64::MAX, RTT, 0, 1500, meter);
        sender.meter.start(0);
        Path {
            sender,
            receiver: Receiver::new(Recovery::Rack.telling()),
            now: 0,
            segments: BTreeMap::new(),
            acks: BTreeMap::new(),
            count: 0,
            rate_bps: 20e6,
            free_at: 0,
            queue: VecDeque::new(),
            buffer: 2000,
            aggregation: 0,
            policer: None,
            tokens: (0.0, 0),
            loses_one_in: 0,
            late: None,
            held_until: 0,
            writes: None,
            next_write: Nanos::MAX,
            drops: 0,
            sent: 0,
            wake_at: Nanos::MAX,
            pace: Pace::default(),
        }
    }

    /// BBRv3 that does not probe for the round trip.
    pub(super) fn steady() -> Path {
        Path::of("bbr3", &[("probe_rtt_interval", Value::Number(1000.0))], 1)
    }

    pub(super) fn bbr3() -> Path {
        Path::of("bbr3", &[], 1)
    }

    /// One of the algorithm's internals.
    pub(super) fn shows(&self, wanted: &str) -> f64 {
        let mut found = None;
        self.sender.cc.inspect(&mut |name, value| found = found.or((name == wanted).then_some(value)));
        found.expect(wanted)
    }

    pub(super) fn phase(&self) -> f64 {
        self.shows("phase")
    }

    /// BBR's BDP at a gain of 1, as Inflight(1.0) has it: 3 quanta at least.
    pub(super) fn bdp(&self) -> f64 {
        let quantum = self.sender.cc.send_quantum() as f64;
        (self.shows("bw_bps") / BITS * self.shows("min_rtt_s")).max(3.0 * quantum)
    }

    pub(super) fn in_flight(&self) -> f64 {
        self.sender.in_network() as f64
    }

    /// BBR.pacing_gain, from the rate it has set.
    pub(super) fn pacing_gain(&self) -> f64 {
        self.shows("pacing_bps") / self.shows("bw_bps") / 0.99
    }

    /// Limits the application to `per_second` segments per second from now.
    pub(super) fn limit(&mut self, per_second: f64) {
        self.sender.progress.end = self.sender.progress.nxt;
        self.writes = Some(per_second);
        self.next_write = self.now;
    }

    /// Changes the bottleneck's rate. Waiting packets leave at the new rate.
    pub(super) fn changes_to(&mut self, rate_bps: f64) {
        let slower = std::mem::replace(&mut self.rate_bps, rate_bps) / rate_bps;
        let now = self.now;
        let changed = |leaves: Nanos| now + (leaves.saturating_sub(now) as f64 * slower) as Nanos;
        for ((arrives, order), segment) in std::mem::take(&mut self.segments) {
            let left = arrives - RTT / 2 <= now;
            let arrives = if left { arrives } else { changed(arrives - RTT / 2) + RTT / 2 };
            self.segments.insert((arrives, order), segment);
        }
        self.queue.iter_mut().for_each(|leaves| *leaves = changed(*leaves));
        self.free_at = changed(self.free_at);
    }

    /// Pauses the application.
    pub(super) fn pause(&mut self) {
        self.sender.progress.end = self.sender.progress.nxt;
        (self.writes, self.next_write) = (None, Nanos::MAX);
    }

    /// It has as much as there is room for.
    pub(super) fn resume(&mut self) {
        self.sender.progress.end = u64::MAX;
        (self.writes, self.next_write) = (None, Nanos::MAX);
        self.send();
    }

    /// Runs until `until` holds after an ACK. Returns whether it did within `seconds`.
    pub(super) fn runs(&mut self, seconds: f64, mut until: impl FnMut(&mut Path) -> bool) -> bool {
        let end = self.now + (seconds * SECOND as f64) as Nanos;
        if self.sent == 0 {
            self.send();
        }
        loop {
            let (acked, next) = self.step(end);
            if acked && until(self) {
                return true;
            }
            if !next {
                return false;
            }
        }
    }

    /// Until this phase; panics if it does not come.
    pub(super) fn reaches(&mut self, phase: f64, seconds: f64) {
        assert!(self.runs(seconds, |path| path.phase() == phase), "phase {} at {} s", self.phase(), self.now / SECOND);
    }

    /// The next event: whether it was an ACK, and whether it came before `end`.
    pub(super) fn step(&mut self, end: Nanos) -> (bool, bool) {
        let (segment, ack) = (first(&self.segments), first(&self.acks));
        let at = segment.min(ack).min(self.sender.deadline()).min(self.wake_at).min(self.next_write);
        if at > end {
            self.now = end;
            return (false, false);
        }
        self.now = at;
        if segment == at {
            let ((_, order), (seq, stamp)) = self.segments.pop_first().expect("seen");
            self.receiver.take(seq as u32, stamp, at, None);
            let (next, stamp) = self.receiver.acknowledge();
            let arrival = Arrival { cumulative: next as u32, stamp, receiver_stamp: at };
            let leaves = if self.aggregation > 0 { at.next_multiple_of(self.aggregation) } else { at };
            self.acks.insert((leaves + RTT / 2, order), (arrival, self.receiver.sack_blocks()));
            return (false, true);
        }
        if ack == at {
            let (_, (arrival, blocks)) = self.acks.pop_first().expect("seen");
            match blocks {
                Some(blocks) => self.sender.on_noted_ack(at, &arrival, &AckNote { blocks, echo: None }),
                None => self.sender.on_ack(at, &arrival),
            }
            self.send();
            return (true, true);
        }
        if self.next_write == at {
            self.sender.progress.end += 1;
            self.next_write += (SECOND as f64 / self.writes.expect("it writes")) as Nanos;
        } else if self.wake_at == at {
            self.wake_at = Nanos::MAX;
        } else {
            self.sender.on_timeout(at);
        }
        self.send();
        (false, true)
    }

    pub(super) fn send(&mut self) {
        while let Some(seq) = self.sender.next_segment(self.now) {
            self.put(seq);
        }
        if let Some(at) = self.sender.wake(self.now) {
            self.wake_at = at;
        }
    }

    /// A segment leaves.
    pub(super) fn put(&mut self, seq: u64) {
        self.keep_pace();
        (self.sent, self.count) = (self.sent + 1, self.count + 1);
        let now = self.now;
        self.queue.retain(|&leaves| leaves > now);
        if self.is_lost() {
            self.drops += 1;
            return;
        }
        self.free_at = self.free_at.max(now) + (BITS / self.rate_bps * SECOND as f64) as Nanos;
        self.queue.push_back(self.free_at);
        let late = self.late.filter(|(one_in, _)| self.count % one_in == 0).map_or(0, |(_, late)| late);
        let arrives = (self.free_at + RTT / 2 + late).max(self.held_until);
        self.segments.insert((arrives, self.count), (seq, now));
    }

    pub(super) fn is_lost(&mut self) -> bool {
        if self.loses_one_in > 0 && self.count % self.loses_one_in == 0 {
            return true;
        }
        if let Some((per_second, burst)) = self.policer {
            let (tokens, since) = self.tokens;
            let tokens = (tokens + per_second * (self.now - since) as f64 / SECOND as f64).min(burst);
            self.tokens = (if tokens >= 1.0 { tokens - 1.0 } else { tokens }, self.now);
            if tokens < 1.0 {
                return true;
            }
        }
        self.queue.len() >= self.buffer
    }

    /// A segment may leave when all before it have, at the rate in force then, less the quantum that may leave back to back.
    pub(super) fn keep_pace(&mut self) {
        let rate = self.sender.cc.pacing_rate().expect("it paces");
        let (now, gap, pace) = (self.now as f64 / SECOND as f64, 1.0 / rate, &mut self.pace);
        if now >= pace.due {
            (pace.due, pace.quantum, pace.gap) = (now, self.sender.cc.send_quantum() as f64, 0.0);
        }
        pace.gap = pace.gap.max(gap);
        pace.due += gap;
        pace.worst = pace.worst.max((pace.due - now) / pace.gap - pace.quantum);
    }
}

/// When the first of them arrives.
pub(super) fn first<T>(under_way: &BTreeMap<(Nanos, u64), T>) -> Nanos {
    under_way.first_key_value().map_or(Nanos::MAX, |((at, _), _)| *at)
}
