//! Events of the sender, in the order of the calls that a kernel makes.

use super::*;

impl CongestionControl for Control {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn send_quantum(&self) -> u64 {
        self.quantum
    }

    fn takes_rate_samples(&self) -> bool {
        self.rules
    }

    fn rules_recovery(&self) -> bool {
        self.rules
    }

    fn holds_back(&self) -> bool {
        self.holds_back
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let s = &*SOCKET;
        self.look(flow, ack.rtt);
        let before = flow.flight_size + ack.acked;
        self.set(&s.max_packets_out, before);
        self.delivered_ce = self.delivered_ce.wrapping_add(ack.ce as u32);
        self.set(&s.delivered_ce, self.delivered_ce.into());
        let delivered = ack.rate.map_or(flow.delivered, |rate| rate.prior_delivered + rate.delivered);
        self.set(&s.delivered, delivered);
        let stamp = self.machine.now / MICROSECOND;
        self.set(&s.delivered_mstamp, stamp);
        if let Some(backward) = ack.backward_delay {
            let stamp = (self.machine.now as i64).wrapping_sub(backward).div_euclid(MILLISECOND as i64);
            self.set(&s.rcv_tsval, (stamp as u32).wrapping_add(self.timestamps_ahead).into());
        }
        if let Some(rtt) = ack.rtt {
            self.set(&s.rcv_tsecr, (self.machine.now - rtt.min(self.machine.now)) / MILLISECOND);
        }
        if self.machine.program().has(member::IN_ACK_EVENT) {
            let slow = flow.in_recovery || ack.newly_lost > 0 || ack.ce > 0;
            let flags = if slow { flag::SLOW_PATH } else { flag::WINDOW_UPDATE };
            self.call(member::IN_ACK_EVENT, &[flags | if ack.ce > 0 { flag::ECHO } else { 0 }]);
        }
        if ack.acked > 0 && self.machine.program().has(member::PKTS_ACKED) {
            let bytes = before * u64::from(self.mss);
            let sample = self.machine.sample_mut();
            ACK.pkts_acked.set(sample, ack.acked);
            ACK.rtt_us.set(sample, ack.rtt.map_or(u64::MAX, microseconds));
            ACK.in_flight.set(sample, bytes);
            self.call(member::PKTS_ACKED, &[Machine::address_of_sample()]);
        }
        let over = flow.delivered >= self.high && !flow.in_recovery;
        if over && matches!(self.read(&s.ca_state), state::CWR | state::LOSS) {
            self.open();
        }
        if self.rules {
            self.tell_of_rates(flow, ack);
            self.holds_back = !flow.app_limited && self.read(&s.app_limited) != 0;
        } else if ack.credit >= 1.0 && matches!(self.read(&s.ca_state), state::OPEN | state::LOSS) && !flow.in_recovery
        {
            let una = self.read(&s.una);
            self.call(member::CONG_AVOID, &[una, ack.credit as u64]);
        }
        self.take_over();
    }

    fn on_sent(&mut self, flow: &Flow) {
        self.look(flow, None);
        if flow.in_flight == 1 {
            self.call(member::CWND_EVENT, &[event::TX_START]);
            self.take_over();
        }
        self.note_departure();
        self.usage.note(flow, self.cwnd);
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        self.last_loss = Some(flow.now);
        if !self.machine.program().has(member::SKB_MARKED_LOST) {
            return;
        }
        self.look(flow, None);
        let s = &*LOST;
        let segment = self.machine.sample_mut();
        segment.fill(0);
        s.stamp.set(segment, 1);
        s.in_flight.set(segment, lost.tx_in_flight);
        s.lost.set(segment, flow.lost.saturating_sub(lost.lost));
        s.is_app_limited.set(segment, lost.is_app_limited.into());
        self.set(&SOCKET.delivered, lost.delivered);
        self.call(member::SKB_MARKED_LOST, &[Machine::address_of_sample()]);
        self.take_over();
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        self.look(flow, None);
        let s = &*SOCKET;
        match signal {
            // A tail loss probe has repaired a loss that was not reported.
            Signal::Loss if self.last_loss != Some(flow.now) && self.machine.program().has(member::SKB_MARKED_LOST) => {
                self.set(&s.tail_app_limited, flow.app_limited.into());
                self.cut(flow);
                self.set_state(state::CWR);
                self.call(member::CWND_EVENT, &[event::TLP_RECOVERY]);
            }
            Signal::Timeout => {
                // Recovery has reduced this window already.
                if self.read(&s.ca_state) == state::OPEN || flow.delivered >= self.high {
                    self.cut(flow);
                    self.call(member::CWND_EVENT, &[event::LOSS]);
                }
                self.high = flow.delivered + flow.flight_size;
                self.set(&s.cwnd, 1);
                self.set_state(state::LOSS);
            }
            Signal::Ecn => {
                self.cut(flow);
                self.set_state(state::CWR);
                self.reduce();
            }
            _ => {
                self.cut(flow);
                self.set_state(state::RECOVERY);
                self.reduce();
            }
        }
        self.take_over();
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.look(flow, None);
        self.open();
        self.take_over();
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.fault.as_ref().map(|fault| fault as &dyn Display)
    }

    fn on_undo(&mut self, _: f64, _: f64) {
        let s = &*SOCKET;
        let cwnd = self.call(member::UNDO_CWND, &[]);
        self.set(&s.cwnd, cwnd);
        let ssthresh = self.read(&s.ssthresh).max(self.read(&s.prior_ssthresh));
        self.set(&s.ssthresh, ssthresh);
        self.set_state(state::OPEN);
        self.take_over();
    }
}
