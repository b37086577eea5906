//! The greatest value of a moving window, by three samples: Kathleen Nichols' algorithm, which draft-ietf-ccwg-bbr (section 5.5.5)
//! names. It is never less than the greatest value of the last window, and drops older ones.

/// The greatest sample, the greatest of those after it, and the greatest of those after that.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WindowedMax {
    values: [f64; 3],
    times: [u32; 3],
    /// At this time and with this window, no sample is of an age to be replaced: a value below all three changes nothing.
    settled: (u32, u32),
    /// Nor does one as great as the least, which is of this time.
    equals_too: bool,
}

impl WindowedMax {
    /// The greatest value.
    pub fn value(&self) -> f64 {
        self.values[0]
    }

    /// Takes a sample in at `time`, which never goes back; the greatest value of the last `window`, 1 or more, after it.
    #[inline(always)]
    pub fn update(&mut self, value: f64, time: u32, window: u32) -> f64 {
        if !self.outdoes(value, time, window) {
            self.change(value, time, window);
        }
        self.value()
    }

    /// Adds a value; returns whether the greatest value has changed.
    #[inline(always)]
    pub fn is_moved_by(&mut self, value: f64, time: u32, window: u32) -> bool {
        if self.outdoes(value, time, window) {
            return false;
        }
        let before = self.value();
        self.change(value, time, window) != before
    }

    /// A sample of this value changes nothing: the case of nearly all within a round.
    #[inline(always)]
    fn outdoes(&self, value: f64, time: u32, window: u32) -> bool {
        let is_least = value < self.values[2] || (value == self.values[2] && self.equals_too);
        is_least && self.settled == (time, window)
    }

    #[inline(never)]
    fn change(&mut self, value: f64, time: u32, window: u32) -> f64 {
        let age = |of: u32| time - of;
        if value >= self.values[0] || age(self.times[2]) > window {
            self.put(0, value, time);
        } else if value >= self.values[1] {
            self.put(1, value, time);
        } else if value >= self.values[2] {
            self.put(2, value, time);
        }
        if age(self.times[0]) > window {
            self.expire(value, time);
            if age(self.times[0]) > window {
                self.expire(value, time);
            }
        } else if self.times[1] == self.times[0] && age(self.times[1]) > window / 4 {
            // A quarter of the window has passed: the second best is of the rest of it.
            self.put(1, value, time);
        } else if self.times[2] == self.times[1] && age(self.times[2]) > window / 2 {
            self.put(2, value, time);
        } else {
            self.settled = (time, window);
            let [.., least] = self.values;
            self.equals_too = (0..3).all(|place| self.times[place] == time || self.values[place] > least);
        }
        self.value()
    }

    /// The sample replaces those from this place on.
    fn put(&mut self, from: usize, value: f64, time: u32) {
        self.values[from..].fill(value);
        self.times[from..].fill(time);
    }

    /// The greatest is too old: the second best takes its place.
    fn expire(&mut self, value: f64, time: u32) {
        self.values = [self.values[1], self.values[2], value];
        self.times = [self.times[1], self.times[2], time];
    }
}

#[cfg(test)]
mod tests {
    use super::WindowedMax;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Window of 10: 9 at time 0 is the maximum up to 10, then 5 of time 3, and then the latest sample.
    #[test]
    fn forgets_what_is_older_than_the_window() {
        let mut max = WindowedMax::default();
        let told = [(9.0, 0), (5.0, 3), (1.0, 6), (1.0, 10), (1.0, 11), (2.0, 13), (1.0, 14)];
        let told = told.map(|(value, time)| max.update(value, time, 10));
        assert_eq!(told, [9.0, 9.0, 9.0, 9.0, 5.0, 5.0, 2.0]);
    }

    /// Window of 10: at 13, 9 of time 0 is too old, and the second best, 5 of time 3, is just not; 4 is of time 9.
    #[test]
    fn the_second_best_may_be_as_old_as_the_window() {
        let mut max = WindowedMax::default();
        let told =
            [(9.0, 0), (5.0, 3), (4.0, 9), (1.0, 13), (1.0, 14)].map(|(value, time)| max.update(value, time, 10));
        assert_eq!(told, [9.0, 9.0, 9.0, 5.0, 4.0]);
    }

    /// A window of 1 is a round and the one before it.
    #[test]
    fn a_window_of_one() {
        let mut max = WindowedMax::default();
        assert_eq!([(4.0, 0), (1.0, 1), (2.0, 2)].map(|(value, time)| max.update(value, time, 1)), [4.0, 4.0, 2.0]);
    }

    proptest! {
        /// Samples that are skipped change nothing, also where samples are equal and the window varies.
        #[test]
        fn the_short_cut_changes_nothing(
            steps in prop::collection::vec((0u8..6, 0u32..40, prop::bool::weighted(0.05)), 1..300),
        ) {
            let [mut max, mut plain, mut moved] = [(); 3].map(|()| WindowedMax::default());
            let (mut time, mut window) = (0, 10);
            for (value, step, changes) in steps {
                time += step.saturating_sub(35);
                window = if changes { 11 - window } else { window };
                let told = max.update(f64::from(value), time, window);
                prop_assert_eq!(told, plain.change(f64::from(value), time, window));
                prop_assert_eq!((max.values, max.times), (plain.values, plain.times));
                let before = moved.value();
                prop_assert_eq!(moved.is_moved_by(f64::from(value), time, window), told != before);
                prop_assert_eq!(&moved, &max);
            }
        }

        /// At least the samples since, and at most the maximum of a window and a sample. Three samples give no closer
        /// bound.
        #[test]
        fn tells_the_greatest_of_the_window(
            steps in prop::collection::vec((0.0f64..100.0, 0u32..4), 1..200),
            window in 1u32..20,
        ) {
            let (mut max, mut time, mut all) = (WindowedMax::default(), 0, Vec::new());
            for (value, step) in steps {
                time += step;
                all.push((value, time));
                let told = max.update(value, time, window);
                let within = |&&(_, at): &&(f64, u32)| time - at <= window;
                let greatest = all.iter().filter(within).map(|&(value, _)| value).fold(0.0, f64::max);
                prop_assert!(told >= value && told <= greatest, "{told} where {value}, {greatest}");
            }
        }
    }
}
