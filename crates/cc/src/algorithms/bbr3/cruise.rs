//! ProbeBW_CRUISE (section 5.3.3.2): as fast as the path delivers, until it is time to probe.

use super::{Bbr3, News, Phase};

impl Bbr3 {
    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        if self.settings.linux {
            self.bound_short_term();
        }
        self.enter(Phase::Cruise);
    }

    pub(super) fn update_cruise(&mut self, news: &News) {
        self.is_time_to_probe_bw(news);
    }
}
