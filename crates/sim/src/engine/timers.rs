//! Alarms: what happens at a time of its own rather than when a packet arrives.

use fullpipe_cc::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an alarm is for, with the number of the link, the flow, the source or the group. The order settles ties.
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
}

/// When an alarm is due and what it is for, as one number, in their order: two of them are compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm(u128);

impl Alarm {
    #[inline]
    fn new(at: Nanos, timer: Timer) -> Alarm {
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
        };
        Alarm(u128::from(at) << 64 | kind << 32 | u128::from(number))
    }

    #[inline]
    fn at(self) -> Nanos {
        (self.0 >> 64) as Nanos
    }

    #[inline]
    fn timer(self) -> Timer {
        let number = self.0 as u32;
        match self.0 as u64 >> 32 {
            0 => Timer::Change(number),
            1 => Timer::Start(number),
            2 => Timer::Stop(number),
            3 => Timer::Retransmit(number),
            4 => Timer::Pace(number),
            5 => Timer::DelayedAck(number),
            6 => Timer::Datagram(number),
            7 => Timer::Transfer(number),
            _ => Timer::Turn(number),
        }
    }
}

/// All alarms that are set.
#[derive(Debug)]
pub struct Timers {
    alarms: BinaryHeap<Reverse<Alarm>>,
    /// Turns of served links, which are many and soon, and few at a time: among all the others they would go to the top each time.
    turns: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// When the next of them all is due.
    next: Nanos,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { alarms: BinaryHeap::new(), turns: BinaryHeap::new(), next: Nanos::MAX }
    }
}

impl Timers {
    /// Makes room for `timers` more alarms.
    pub fn reserve(&mut self, timers: usize) {
        self.alarms.reserve_exact(timers);
    }

    /// Sets an alarm.
    pub fn set(&mut self, at: Nanos, timer: Timer) {
        match timer {
            Timer::Turn(link) => self.turns.push(Reverse((at, link))),
            timer => self.alarms.push(Reverse(Alarm::new(at, timer))),
        }
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

    const KINDS: [fn(u32) -> Timer; 9] = [
        Timer::Change,
        Timer::Start,
        Timer::Stop,
        Timer::Retransmit,
        Timer::Pace,
        Timer::DelayedAck,
        Timer::Datagram,
        Timer::Transfer,
        Timer::Turn,
    ];

    proptest! {
        /// They come in the order of their times, those of one time as [`Timer`] has it, but links' turns first.
        #[test]
        fn come_in_their_order(
            set in prop::collection::vec((prop_oneof![0u64..4, any::<u64>()], 0usize..9, any::<u32>()), 0..60),
        ) {
            let mut timers = Timers::default();
            let mut expected: Vec<_> = set.into_iter().map(|(at, kind, number)| (at, KINDS[kind](number))).collect();
            expected.iter().for_each(|&(at, timer)| timers.set(at, timer));
            expected.sort_by_key(|&(at, timer)| (at, !matches!(timer, Timer::Turn(_)), timer));
            for alarm in expected {
                prop_assert_eq!((timers.next_time(), timers.pop()), (alarm.0, Some(alarm)));
            }
            prop_assert_eq!((timers.next_time(), timers.pop()), (Nanos::MAX, None));
        }
    }
}
