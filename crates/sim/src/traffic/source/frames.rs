//! Source of frames, as a camera makes them: frame i is made at begin + i / rate, and is cut into whole packets.

use super::units::Units;
use crate::rng::Rng;
use crate::scenario::{KeyFrames, Law, limits};
use fullpipe_cc::Nanos;

/// Frames that one call writes at most, so that a run of many frames can be interrupted.
const FRAMES_A_CALL: usize = 4096;

/// Creation time of frame `number`, of which the first one is made at `begin`.
pub fn made(begin: Nanos, number: u64, per_second: f64) -> Nanos {
    begin.saturating_add((number as f64 * 1e9 / per_second) as Nanos)
}

/// Whole packets of an amount of data; at least one.
pub fn packets(bytes: u64, packet_size: u32) -> u64 {
    bytes.clamp(1, *limits::BYTES.end()).div_ceil(packet_size.into())
}

/// Frames of one flow.
#[derive(Debug)]
pub struct Frames {
    begin: Nanos,
    per_second: f64,
    size: Law,
    key: Option<KeyFrames>,
    packet_size: u32,
    rng: Rng,
    /// Next frame to make.
    number: u64,
}

impl Frames {
    /// Frames of a size from `size`; each `key.every`th one, the first included, has the size of a key frame.
    pub fn new(per_second: f64, size: Law, key: Option<KeyFrames>, packet_size: u32, begin: Nanos, rng: Rng) -> Frames {
        Frames { begin, per_second, size, key, packet_size, rng, number: 0 }
    }

    /// Writes the frames up to `now`, of which there may be too many for one call. Returns the number of packets of all frames.
    pub fn write(&mut self, now: Nanos, units: &mut Units) -> u64 {
        for _ in 0..FRAMES_A_CALL {
            let made = self.next();
            if made > now {
                break;
            }
            let key = self.key.filter(|key| self.number % key.every == 0);
            let bytes = key.map_or_else(|| self.size.draw(&mut self.rng), |key| key.size);
            units.write(made, packets(bytes, self.packet_size));
            self.number += 1;
        }
        units.written()
    }

    /// Creation time of the next frame.
    pub fn next(&self) -> Nanos {
        made(self.begin, self.number, self.per_second)
    }

    /// Number of frames written.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of frames made before `time`.
    pub fn before(&self, time: Nanos) -> u64 {
        let made = |number| made(self.begin, number, self.per_second);
        let mut number = (time.saturating_sub(self.begin) as f64 * self.per_second / 1e9) as u64;
        while number > 0 && made(number - 1) >= time {
            number -= 1;
        }
        while made(number) < time {
            number += 1;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Identity, Purpose};

    const S: Nanos = 1_000_000_000;

    fn frames(per_second: f64, key: Option<KeyFrames>) -> Frames {
        let rng = Rng::new(1, Purpose::Source, Identity::NONE);
        Frames::new(per_second, Law::Constant(20_000), key, 1500, S, rng)
    }

    /// 20 kB are 14 packets of 1500 B. At 4 a second, frames 0, 3, and 6 are key frames of 21 packets.
    #[test]
    fn frames_are_cut_into_whole_packets() {
        let mut frames = frames(4.0, Some(KeyFrames { size: 31_000, every: 3 }));
        let mut units = Units::default();
        let written = [S - 1, S, S + S / 4, 2 * S, 3 * S].map(|now| frames.write(now, &mut units));
        assert_eq!(written, [0, 21, 35, 21 + 14 + 14 + 21 + 14, 3 * 21 + 6 * 14]);
        assert_eq!(frames.next(), 3 * S + S / 4);
    }

    /// 30 a second, the first one at 1 s: 30 before 2 s, and that at 2 s is the 31st.
    #[test]
    fn frames_before_a_time_are_counted() {
        let frames = frames(30.0, None);
        assert_eq!([0, S, S + 1, 2 * S, 2 * S + 1].map(|time| frames.before(time)), [0, 0, 1, 30, 31]);
        assert_eq!(frames.before(100_000 * S), 30 * 99_999);
    }

    #[test]
    fn one_call_writes_a_limited_number_of_frames() {
        let (mut frames, mut units) = (frames(1e6, None), Units::default());
        assert_eq!(frames.write(2 * S, &mut units), 4096 * 14);
        assert!(frames.next() <= 2 * S, "it is behind");
    }
}
