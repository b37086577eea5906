//! Order of calls of stacks that report acknowledgments before losses.

use crate::{Controller, Param, Start};
use fullpipe_cc::packets::{Acked, Event, Lost, PacketControl, Path, Rtt, Sent};
use std::ffi::CStr;

/// Controller that gets the acknowledgments of an ACK before its losses and marks: quinn and noq report them so.
/// The transport reports losses first ([`PacketControl`]). Losses that a timer finds are reported at once.
///
/// Example: `fullpipe_abi::export!(AckedFirst<Mine>)` in a library, and `Packets::new(AckedFirst::new(mine), start)` in a catalogue.
#[derive(Debug)]
pub struct AckedFirst<C> {
    control: C,
    lost: Vec<Lost>,
    persistent: bool,
    marked: Option<(u64, Acked)>,
}

impl<C: PacketControl> AckedFirst<C> {
    /// Wraps `control`.
    pub fn new(control: C) -> AckedFirst<C> {
        AckedFirst { control, lost: Vec::new(), persistent: false, marked: None }
    }

    fn pass(&mut self, path: &Path, event: &Event) {
        event.call(path, &mut self.control);
        if !self.lost.is_empty() {
            self.control.on_packets_lost(path, &self.lost, self.persistent);
            self.lost.clear();
        }
        if let Some((count, largest)) = self.marked.take() {
            self.control.on_ecn_ce(path, count, &largest);
        }
    }
}

impl<C: PacketControl> PacketControl for AckedFirst<C> {
    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        self.pass(path, &Event::Acked(acked, rtt));
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        let bytes: u64 = lost.iter().map(|packet| packet.sent.bytes).sum();
        // More has left flight than was lost: acknowledgments follow.
        if path.prior_in_flight > path.in_flight + bytes {
            self.lost.extend_from_slice(lost);
            self.persistent = persistent;
        } else {
            self.pass(path, &Event::Lost(lost, persistent));
        }
    }

    fn on_ecn_ce(&mut self, _: &Path, count: u64, largest: &Acked) {
        self.marked = Some((count, *largest));
    }

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        self.pass(path, &Event::Sent(sent));
    }

    fn on_spurious_loss(&mut self, path: &Path, arrived: &[Lost], all: bool) {
        self.pass(path, &Event::SpuriousLoss(arrived, all));
    }

    fn on_pto(&mut self, path: &Path, count: u32) {
        self.pass(path, &Event::Pto(count));
    }

    fn on_app_limited(&mut self, path: &Path) {
        self.pass(path, &Event::AppLimited);
    }

    fn on_restart(&mut self, path: &Path) {
        self.pass(path, &Event::Restart);
    }

    fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
        self.pass(path, &Event::Mtu(max_datagram_bytes));
    }

    fn on_discarded(&mut self, path: &Path, bytes: u64) {
        self.control.on_discarded(path, bytes);
    }

    fn on_ack_frequency(&mut self, path: &Path, threshold: u64, max_ack_delay: u64) {
        self.pass(path, &Event::AckFrequency(threshold, max_ack_delay));
    }

    crate::answers_of!(control);
}

impl<C: Controller> Controller for AckedFirst<C> {
    const NAME: &'static CStr = C::NAME;
    const PARAMS: &'static [Param] = C::PARAMS;

    fn create(start: &Start, params: &[f64]) -> AckedFirst<C> {
        AckedFirst::new(C::create(start, params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Notes its calls: numbers of packets acknowledged, lost, and marked.
    #[derive(Default)]
    struct Notes(RefCell<Vec<String>>);

    impl PacketControl for Notes {
        fn window_bytes(&self) -> u64 {
            14_720
        }
        fn on_packets_acked(&mut self, _: &Path, acked: &[Acked], _: Option<Rtt>) {
            self.0.get_mut().push(format!("acked {}", acked[0].sent.number));
        }
        fn on_packets_lost(&mut self, _: &Path, lost: &[Lost], persistent: bool) {
            self.0.get_mut().push(format!("lost {} {persistent}", lost[0].sent.number));
        }
        fn on_ecn_ce(&mut self, _: &Path, count: u64, largest: &Acked) {
            self.0.get_mut().push(format!("marked {count} {}", largest.sent.number));
        }
        fn on_packet_sent(&mut self, _: &Path, sent: &Sent) {
            self.0.get_mut().push(format!("sent {}", sent.number));
        }
    }

    fn packet(number: u64) -> Sent {
        Sent { number, bytes: 1000, ..Sent::default() }
    }

    /// Before the event 5000 bytes are in flight.
    fn path(in_flight: u64) -> Path {
        let mut path = Path::default();
        (path.prior_in_flight, path.in_flight, path.datagram) = (5000, in_flight, 1000);
        path
    }

    #[test]
    fn acknowledgments_come_before_the_losses_and_marks_of_their_ack() {
        let mut control = AckedFirst::new(Notes::default());
        let acked = Acked { sent: packet(4), ..Acked::default() };
        let lost = [Lost { sent: packet(1), ..Lost::default() }];
        control.on_ecn_ce(&path(3000), 2, &acked);
        control.on_packets_lost(&path(3000), &lost, true);
        control.on_packets_acked(&path(3000), &[acked], None);
        control.on_packet_sent(&path(4000), &packet(6));
        let notes = control.control.0.into_inner();
        assert_eq!(notes, ["acked 4", "lost 1 true", "marked 2 4", "sent 6"]);
    }

    #[test]
    fn losses_of_a_timer_are_reported_at_once() {
        let mut control = AckedFirst::new(Notes::default());
        control.on_packets_lost(&path(4000), &[Lost { sent: packet(1), ..Lost::default() }], false);
        assert_eq!(*control.control.0.borrow(), ["lost 1 false"]);
    }
}
