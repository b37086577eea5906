//! The least value of a time that ends now.

use crate::time::Nanos;

/// Parts into which the time is divided.
const PARTS: u64 = 3;

/// Least value of a time, or of up to a third of it more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecentLeast {
    /// When each part began, and its least value; the oldest first.
    parts: [(Nanos, Nanos); PARTS as usize + 1],
    len: usize,
}

impl RecentLeast {
    /// Adds a value at `now`; values of bins that began more than `time` and a part of it ago are dropped.
    pub fn update(&mut self, now: Nanos, value: Nanos, time: Nanos) -> Nanos {
        let part = time / PARTS;
        let old = self.parts[..self.len].iter().take_while(|(began, _)| now - began > time + part).count();
        self.parts.copy_within(old..self.len, 0);
        self.len -= old;
        match self.parts[..self.len].last_mut() {
            Some((began, least)) if now - *began < part || self.len > PARTS as usize => *least = (*least).min(value),
            _ => {
                self.parts[self.len] = (now, value);
                self.len += 1;
            }
        }
        self.parts[..self.len].iter().map(|(_, least)| *least).min().unwrap_or(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over 30: a value of 5 at 0 counts up to 40, when the 9 that has been there since 10 is the least.
    #[test]
    fn what_is_old_is_forgotten() {
        let mut recent = RecentLeast::default();
        let least: [Nanos; 7] = [(0, 5), (4, 8), (10, 9), (20, 12), (30, 11), (40, 15), (41, 15)]
            .map(|(now, value)| recent.update(now, value, 30));
        assert_eq!(least, [5, 5, 5, 5, 5, 5, 9]);
    }

    /// All at one moment, or with no time at all, the least is of all that came at it.
    #[test]
    fn a_moment_is_a_time() {
        let mut recent = RecentLeast::default();
        assert_eq!([7, 3, 9, 8, 8, 8].map(|value| recent.update(100, value, 0)), [7, 3, 3, 3, 3, 3]);
        assert_eq!(recent.update(101, 9, 0), 9);
    }
}
