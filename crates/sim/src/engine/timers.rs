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

/// All alarms that are set.
#[derive(Debug)]
pub struct Timers {
    alarms: BinaryHeap<Reverse<(Nanos, Timer)>>,
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
            timer => self.alarms.push(Reverse((at, timer))),
        }
        self.next = self.next.min(at);
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.alarms.capacity() * size_of::<Reverse<(Nanos, Timer)>>()
            + self.turns.capacity() * size_of::<Reverse<(Nanos, u32)>>()
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
            _ => self.alarms.pop().map(|Reverse(entry)| entry),
        };
        let alarm = self.alarms.peek().map_or(Nanos::MAX, |entry| entry.0.0);
        self.next = self.turns.peek().map_or(alarm, |turn| alarm.min(turn.0.0));
        taken
    }
}
