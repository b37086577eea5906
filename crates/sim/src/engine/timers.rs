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
    /// A flow's receiver has held an ACK long enough.
    DelayedAck(u32),
    /// A source of datagrams sends.
    Datagram(u32),
    /// A web transfer of a group begins.
    Transfer(u32),
}

/// All alarms that are set.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<(Nanos, Timer)>>);

impl Timers {
    /// Makes room for `timers` more alarms.
    pub fn reserve(&mut self, timers: usize) {
        self.0.reserve_exact(timers);
    }

    /// Sets an alarm.
    pub fn set(&mut self, at: Nanos, timer: Timer) {
        self.0.push(Reverse((at, timer)));
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Reverse<(Nanos, Timer)>>()
    }

    /// When the next alarm is due; beyond every run if none is set.
    #[inline(always)]
    pub fn next_time(&self) -> Nanos {
        self.0.peek().map_or(Nanos::MAX, |entry| entry.0.0)
    }

    /// Takes the alarm that is due next.
    pub fn pop(&mut self) -> Option<(Nanos, Timer)> {
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
