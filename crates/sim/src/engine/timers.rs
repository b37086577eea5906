//! Timers: events at a set time, independent of packet arrivals.

use crate::memory::make_room;
use crate::rng::{Identity, TIE_BITS, Ties};
use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Purpose of an alarm, with the number of the link, the flow, the source or the group. At one moment alarms go by their purpose, in
/// this order, then by [`Ties::rank`], then by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Something changes of a served link.
    Change(u32),
    /// A flow begins.
    Start(u32),
    /// A flow sends nothing new from now on.
    Stop(u32),
    /// A flow's retransmission timer.
    Retransmit(u32),
    /// A flow's pacer lets the next segment leave.
    Pace(u32),
    /// A flow's receiver has held an ACK long enough.
    DelayedAck(u32),
    /// A source of datagrams sends.
    Datagram(u32),
    /// A web transfer of a group begins.
    Transfer(u32),
    /// The transmitter of a served link is free.
    Turn(u32),
    /// The application of a flow writes data.
    Write(u32),
    /// The client of a flow sends a request, or its response is complete.
    Client(u32),
}

/// Time, purpose, rank, and number of an alarm as one number, in this order: two of them are compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm(u128);

impl Alarm {
    #[inline]
    fn new(at: Nanos, timer: Timer, rank: u32) -> Alarm {
        let (kind, number) = match timer {
            Timer::Change(number) => (0, number),
            Timer::Start(number) => (1, number),
            Timer::Stop(number) => (2, number),
            Timer::Retransmit(number) => (3, number),
            Timer::Pace(number) => (4, number),
            Timer::DelayedAck(number) => (5, number),
            Timer::Datagram(number) => (6, number),
            Timer::Transfer(number) => (7, number),
            Timer::Turn(number) => (8, number),
            Timer::Write(number) => (9, number),
            Timer::Client(number) => (10, number),
        };
        Alarm(u128::from(at) << 64 | kind << (32 + TIE_BITS) | u128::from(rank) << 32 | u128::from(number))
    }

    #[inline]
    fn at(self) -> Nanos {
        (self.0 >> 64) as Nanos
    }

    #[inline]
    fn timer(self) -> Timer {
        let number = self.0 as u32;
        match self.0 as u64 >> (32 + TIE_BITS) {
            0 => Timer::Change(number),
            1 => Timer::Start(number),
            2 => Timer::Stop(number),
            3 => Timer::Retransmit(number),
            4 => Timer::Pace(number),
            5 => Timer::DelayedAck(number),
            6 => Timer::Datagram(number),
            7 => Timer::Transfer(number),
            8 => Timer::Turn(number),
            9 => Timer::Write(number),
            _ => Timer::Client(number),
        }
    }
}

/// All alarms that are set.
#[derive(Debug)]
pub struct Timers {
    ties: Ties,
    alarms: BinaryHeap<Reverse<Alarm>>,
    /// Turns of served links, which are many and soon, and few at a time: among all the others they would go to the top each time.
    turns: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// When the next of them all is due.
    next: Nanos,
}

impl Timers {
    /// No alarm set.
    pub fn new(ties: Ties) -> Timers {
        Timers { ties, alarms: BinaryHeap::new(), turns: BinaryHeap::new(), next: Nanos::MAX }
    }

    /// Makes room for `timers` more alarms.
    pub fn reserve(&mut self, timers: usize) {
        self.alarms.reserve_exact(timers);
    }

    /// Sets an alarm of a link, which has no rank: links do nothing to each other at one moment.
    pub fn set(&mut self, at: Nanos, timer: Timer) {
        match timer {
            Timer::Turn(link) => self.turns.push(Reverse((at, link))),
            timer => {
                make_room(&mut self.alarms);
                self.alarms.push(Reverse(Alarm::new(at, timer, 0)));
            }
        }
        self.next = self.next.min(at);
    }

    /// Sets an alarm of the flow, source, or group with this identity.
    pub fn set_of(&mut self, at: Nanos, timer: Timer, identity: Identity) {
        make_room(&mut self.alarms);
        self.alarms.push(Reverse(Alarm::new(at, timer, self.ties.rank(at, identity))));
        self.next = self.next.min(at);
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.alarms.capacity() * size_of::<Alarm>() + self.turns.capacity() * size_of::<Reverse<(Nanos, u32)>>()
    }

    /// When the next alarm is due; beyond every run if none is set.
    #[inline(always)]
    pub fn next_time(&self) -> Nanos {
        self.next
    }

    /// Takes the alarm that is due next; links' turns first.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Nanos, Timer)> {
        let taken = match self.turns.peek() {
            Some(&Reverse((at, link))) if at == self.next => {
                self.turns.pop();
                Some((at, Timer::Turn(link)))
            }
            _ => self.alarms.pop().map(|Reverse(alarm)| (alarm.at(), alarm.timer())),
        };
        let alarm = self.alarms.peek().map_or(Nanos::MAX, |Reverse(alarm)| alarm.at());
        self.next = self.turns.peek().map_or(alarm, |turn| alarm.min(turn.0.0));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [fn(u32) -> Timer; 11] = [
        Timer::Change,
        Timer::Start,
        Timer::Stop,
        Timer::Retransmit,
        Timer::Pace,
        Timer::DelayedAck,
        Timer::Datagram,
        Timer::Transfer,
        Timer::Turn,
        Timer::Write,
        Timer::Client,
    ];

    proptest! {
        /// The order is that of their times, then of [`Timer`]'s purposes with links' turns first, then of their ranks.
        #[test]
        fn alarms_go_by_time_purpose_and_rank(
            set in prop::collection::vec((prop_oneof![0u64..4, any::<u64>()], 0usize..11, any::<u32>()), 0..60),
            seed in any::<u64>(),
        ) {
            let ties = Ties::new(seed);
            let mut timers = Timers::new(ties);
            let identity = |number: u32| Identity::NONE.number(number.into());
            let of_link = |kind| kind == 0 || kind == 8;
            let mut expected = set;
            for &(at, kind, number) in &expected {
                match of_link(kind) {
                    true => timers.set(at, KINDS[kind](number)),
                    false => timers.set_of(at, KINDS[kind](number), identity(number)),
                }
            }
            expected.sort_by_key(|&(at, kind, number)| {
                let rank = if of_link(kind) { 0 } else { ties.rank(at, identity(number)) };
                (at, kind != 8, kind, rank, number)
            });
            for (at, kind, number) in expected {
                prop_assert_eq!((timers.next_time(), timers.pop()), (at, Some((at, KINDS[kind](number)))));
            }
            prop_assert_eq!((timers.next_time(), timers.pop()), (Nanos::MAX, None));
        }
    }
}
