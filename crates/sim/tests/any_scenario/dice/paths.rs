//! Keys of paths that are drawn last, so that scenarios keep their other keys: ACK rules, and the wires of links.

use super::{Dice, MS, SECOND};
use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{EcnField, Interpolation, JitterModel, Link, Loss, Samples};

impl Dice {
    /// ACKs for several segments, here and there.
    pub(super) fn acks(&mut self, scenario: &mut Scenario) {
        let flows = scenario.flows.iter_mut().map(|group| &mut group.tcp);
        for tcp in flows.chain(scenario.web.iter_mut().map(|web| &mut web.tcp)) {
            if self.one_in(8) {
                tcp.delayed_ack = false;
                tcp.ack_every = Some(self.any(1..=1000, 2..=10) as u16);
                tcp.delayed_ack_timeout = self.any(0..=2 * SECOND, MS..=100 * MS);
            }
        }
    }

    /// What the wires of some links do.
    pub(super) fn wires(&mut self, scenario: &mut Scenario) {
        for link in &mut scenario.links {
            self.wire(link);
            if let Some(back) = &mut link.reverse {
                self.wire(back);
            }
        }
    }

    /// Links that change the ECN field.
    pub(super) fn ecn_fields(&mut self, scenario: &mut Scenario) {
        for link in &mut scenario.links {
            if self.one_in(8) {
                link.ecn_field = self.pick(&EcnField::ALL);
            }
        }
    }

    fn wire(&mut self, link: &mut Link) {
        if self.one_in(16) {
            let first = self.any(1..=1_000_000_000_000, 1..=100);
            link.drop = vec![first, first + 1, first + 17];
            link.drop.retain(|number| *number <= 1_000_000_000_000);
        }
        if let Some(jitter) = &mut link.jitter {
            jitter.reorder = self.one_in(2);
            if let JitterModel::Normal { spread } = jitter.model {
                jitter.model =
                    self.pick(&[jitter.model, JitterModel::Pareto { spread }, JitterModel::ParetoNormal { spread }]);
            }
            if jitter.model != JitterModel::Wifi {
                jitter.correlation = self.pick(&[0.0, 0.25, 1.0 - f64::EPSILON / 2.0]);
            }
        }
        let (delays, losses) = (
            link.schedule.changes.iter().all(|change| change.delay.is_none()),
            link.loss == Loss::NONE && link.schedule.changes.iter().all(|change| change.loss.is_none()),
        );
        let (repeats, rule) = (self.one_in(2), self.pick(&Interpolation::ALL));
        if delays && self.one_in(16) {
            let rows = [(0.0, 0.05 * self.unit()), (0.5 + self.unit(), 0.05 * self.unit()), (1e6, 100.0 * self.unit())];
            link.delay_trace = Samples::delays(&rows[..self.pick(&[2, 3])], rule, repeats).ok();
        }
        if losses && self.one_in(16) {
            let rows = [(0.0, 0.1 * self.unit()), (1e-9, 0.0), (0.5 + self.unit(), 1.0)];
            link.loss_trace = Samples::losses(&rows, rule, repeats).ok();
        }
        if self.one_in(16) {
            link.limit = Some(self.any(1..=1_000_000_000_000, 1..=30));
        }
    }
}
