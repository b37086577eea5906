//! ProbeBW_CRUISE (section 5.3.3.2): as fast as the path delivers, until it is time to probe.

use super::{Bbr3, Bbr3AckEvent, Bbr3Phase, Bbr3Rules};

impl<R: Bbr3Rules> Bbr3<R> {
    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        if self.settings.constants.linux {
            self.bound_short_term();
        }
        self.enter(Bbr3Phase::Cruise);
    }

    pub(super) fn update_cruise(&mut self, news: &Bbr3AckEvent) {
        self.is_time_to_probe_bw(news);
    }
}
