//! Queueing disciplines: which packet waits, which goes next, which is dropped or marked. One file each.
//!
//! A discipline is independent of the wire: a served link asks it for the next packet when the transmitter is free. The link also keeps
//! the physical limit of the buffer, and passes only `full` to the discipline.

mod ared;
mod cake;
mod codel;
mod drop_tail;
mod dualpi2;
pub mod flow_hash;
mod fq_codel;
mod fq_pie;
pub mod labels;
mod outlet;
mod packets;
pub mod params;
mod periodic;
mod pie;
#[cfg(test)]
mod random_arrivals;
mod red;
mod step;
pub mod stock;
#[cfg(test)]
mod testing;

use crate::packet::Packet;
use crate::rng::{Identity, Purpose, Rng};
use ared::Ared;
use cake::Cake;
use codel::Codel;
use drop_tail::DropTail;
use dualpi2::DualPi2;
use flow_hash::FlowHash;
use fq_codel::FqCodel;
use fq_pie::FqPie;
use fullpipe_cc::Nanos;
use labels::Labels;
pub use params::{Info, Settings};
use pie::Pie;
use red::Red;
use std::sync::Arc;
use step::Step;
pub use stock::{Known, Stock};

/// A queueing discipline. Time never goes back from one call to the next; nothing is allocated per packet once it has been as full
/// as it gets.
pub trait Discipline {
    /// A packet of a flow will come, whose [`Packet::flow_key`] is this: of which class it is, for [`Discipline::enqueue`].
    fn expect(&self, _flow_key: u64) -> u32 {
        0
    }

    /// Takes a packet of a class that [`Discipline::expect`] has returned. `full`: the buffer has no room for it. The
    /// link counts the room, including the packet being sent. A packet dropped here or later frees its room.
    fn enqueue(&mut self, known: Known, class: u32, full: bool, stock: &mut Stock);

    /// A packet comes that would be sent at once: the queue is empty and the transmitter free. Whether it goes as it is, with the queue
    /// as if it had been in and out; otherwise nothing has changed.
    fn lets_pass(&mut self, _now: Nanos, _packet: &Packet, _size: u32) -> bool {
        false
    }

    /// The transmitter is free: the packet to send; `None` if none is left, however many were dropped in looking.
    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known>;

    /// Sets the link's rate from `now`, 0 during an outage. Called once before all other methods.
    fn set_rate(&mut self, _now: Nanos, _rate_bps: u64) {}

    /// Hash of flows into queues, for disciplines that separate flows; called before the first packet.
    fn set_flow_hash(&mut self, _hash: FlowHash) {}

    /// Hosts and classes of packets, for disciplines that read them; called before the first packet.
    fn set_labels(&mut self, _labels: &Arc<Labels>) {}

    /// Time before which a shaper holds all packets back; no call of [`Discipline::enqueue`] makes it earlier.
    fn ready_at(&self) -> Nanos {
        0
    }

    /// Bytes it takes on the heap.
    fn heap_bytes(&self) -> usize;
}

/// Operation on a discipline whose type is known during the operation.
pub trait Task {
    /// Does it.
    fn on(self, queue: &mut impl Discipline);
}

/// Declares every discipline once: [`ALL`], and [`Any`] that dispatches to it.
macro_rules! disciplines {
    ($($variant:ident = $info:expr, $new:expr;)*) => {
        /// Every discipline, in the order in which they are listed to users.
        pub static ALL: &[&Info] = &[$(&$info),*];

        /// Any of them, without a boxed call for each packet.
        #[derive(Debug)]
        pub enum Any {
            $(#[doc = "See the type's own file."] $variant($variant)),*
        }

        impl Any {
            /// Empty queue with `settings`. `seed` is for its random choices, `packet_size` the size of most packets
            /// (MTU) in bytes.
            pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Any {
                $(if settings.info.name == $info.name {
                    return Any::$variant($new(settings, seed, packet_size));
                })*
                unreachable!("{} is not a discipline", settings.info.name)
            }

            /// Does something with it that is much for one call.
            #[inline]
            pub fn perform(&mut self, task: impl Task) {
                match self { $(Any::$variant(queue) => task.on(queue)),* }
            }
        }

        impl Discipline for Any {
            #[inline]
            fn expect(&self, flow_key: u64) -> u32 {
                match self { $(Any::$variant(queue) => queue.expect(flow_key)),* }
            }

            #[inline]
            fn enqueue(&mut self, known: Known, class: u32, full: bool, stock: &mut Stock) {
                match self { $(Any::$variant(queue) => queue.enqueue(known, class, full, stock)),* }
            }

            #[inline]
            fn lets_pass(&mut self, now: Nanos, packet: &Packet, size: u32) -> bool {
                match self { $(Any::$variant(queue) => queue.lets_pass(now, packet, size)),* }
            }

            #[inline]
            fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
                match self { $(Any::$variant(queue) => queue.dequeue(now, stock)),* }
            }

            fn set_rate(&mut self, now: Nanos, rate_bps: u64) {
                match self { $(Any::$variant(queue) => queue.set_rate(now, rate_bps)),* }
            }

            fn set_flow_hash(&mut self, hash: FlowHash) {
                match self { $(Any::$variant(queue) => queue.set_flow_hash(hash)),* }
            }

            fn set_labels(&mut self, labels: &Arc<Labels>) {
                match self { $(Any::$variant(queue) => queue.set_labels(labels)),* }
            }

            fn ready_at(&self) -> Nanos {
                match self { $(Any::$variant(queue) => queue.ready_at()),* }
            }

            fn heap_bytes(&self) -> usize {
                match self { $(Any::$variant(queue) => queue.heap_bytes()),* }
            }
        }
    };
}

disciplines! {
    DropTail = drop_tail::INFO, DropTail::new;
    Red = red::INFO, Red::new;
    Ared = ared::INFO, Ared::new;
    Codel = codel::INFO, Codel::new;
    FqCodel = fq_codel::INFO, FqCodel::new;
    Pie = pie::INFO, Pie::new;
    FqPie = fq_pie::INFO, FqPie::new;
    Cake = cake::INFO, Cake::new;
    DualPi2 = dualpi2::INFO, DualPi2::new;
    Step = step::INFO, Step::new;
}

/// Seed of the queue of one direction in a run with this seed.
pub fn queue_seed(seed: u64, direction: Identity) -> u64 {
    Rng::new(seed, Purpose::Queue, direction).bits()
}

/// The discipline of that name.
pub fn find(name: &str) -> Option<&'static Info> {
    ALL.iter().copied().find(|info| info.name == name)
}

impl Settings {
    /// First in, first out; what does not fit is dropped.
    pub fn drop_tail() -> Settings {
        Settings::defaults(&drop_tail::INFO)
    }

    /// Whether it is plain drop-tail.
    pub fn is_drop_tail(&self) -> bool {
        self.info.name == drop_tail::INFO.name
    }

    /// Number of queues that flows are hashed into; `None` for a discipline that does not separate flows.
    pub fn flow_queues(&self) -> Option<usize> {
        let separates = [fq_codel::INFO.name, fq_pie::INFO.name].contains(&self.info.name);
        separates.then(|| self.whole("flows") as usize)
    }

    /// Whether it reads hosts and classes of packets.
    pub fn reads_labels(&self) -> bool {
        self.info.name == cake::INFO.name
    }

    /// Whether packets may wait while the transmitter is free.
    pub fn shapes(&self) -> bool {
        self.info.name == cake::INFO.name && self.value("bandwidth").is_some()
    }

    /// Whether it marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        (self.info.marks)(self)
    }
}
