//! Video player: choice and times of its segments, and the picture that a viewer sees. Times are those of the receiver.
//!
//! Sources:
//! - Huang et al., *A Buffer-Based Approach to Rate Adaptation*, SIGCOMM 2014, section 4, algorithm 1 (BBA-0).
//! - Yin, Jindal, Sekar, and Sinopoli, *A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP*, SIGCOMM 2015. The
//!   model of the buffer (section 3) and the rate-based player "RB" (section 7) are from memory. The paper was not read again.
//!
//! # Deviations and choices
//!
//! - BBA-0 has a buffer of 240 s, a reservoir of 90 s, and a cushion of 126 s in the paper. Here the reservoir is 0.375 times the buffer, and
//!   the cushion ends at 0.9 times the buffer, or one segment below it if that is less: no request is sent at more.
//! - A player that has stalled plays again with the next segment.

use crate::scenario::{PlayerRule, Video};
use crate::window::Window;
use fullpipe_cc::Nanos;
use std::collections::VecDeque;

/// Samples of the throughput estimate.
const SAMPLES: usize = 5;

/// Player of one video.
#[derive(Clone, Debug)]
pub struct Player {
    video: Video,
    window: Window,
    /// Media in the buffer at `updated`, playing time, and its rates, segment by segment.
    buffered: Nanos,
    updated: Nanos,
    segments: VecDeque<u64>,
    /// Playing time left of the first segment.
    left: Nanos,
    state: State,
    /// Playing time requested so far.
    requested: Nanos,
    /// Place of the rate of the last request in the ladder.
    place: usize,
    /// Throughputs of the last segments, bits per second.
    throughputs: VecDeque<f64>,
    begun: Option<Nanos>,
    shown: Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Play,
    Stall,
    End,
}

/// Picture that a viewer has seen in the measurement interval.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    startup: Option<Nanos>,
    played: Nanos,
    stalled: Nanos,
    /// Rate times playing time, bits · 10⁹.
    amount: f64,
    switches: u64,
    last_rate: Option<u64>,
}

impl Player {
    /// Player that has requested nothing.
    pub fn new(video: Video, window: Window) -> Player {
        Player {
            left: 0,
            video,
            window,
            buffered: 0,
            updated: 0,
            segments: VecDeque::new(),
            state: State::Startup,
            requested: 0,
            place: 0,
            throughputs: VecDeque::new(),
            begun: None,
            shown: Shown::default(),
        }
    }

    /// Time of the next request; `None` at the end of the video.
    pub fn next_request(&mut self, now: Nanos) -> Option<Nanos> {
        self.begun.get_or_insert(now);
        self.advance(now);
        if self.video.length.is_some_and(|length| self.requested >= length) {
            return None;
        }
        // While it does not play, the buffer is not above this: `startup` segments fit in.
        let most = self.video.buffer - self.video.segment;
        Some(now + self.buffered.saturating_sub(most))
    }

    /// Chooses the rate of a segment that is requested at `now`. Returns its size in bytes.
    pub fn choose(&mut self, now: Nanos) -> u64 {
        self.advance(now);
        self.place = match self.video.player {
            PlayerRule::Rate => self.by_rate(),
            PlayerRule::Buffer => buffer_based(&self.video, self.place, self.buffered),
        };
        self.requested += self.video.segment;
        let bits = u128::from(self.rate()) * u128::from(self.video.segment);
        u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX).max(1)
    }

    fn rate(&self) -> u64 {
        self.video.ladder[self.place]
    }

    /// Highest rate that is at most the estimate, by the harmonic mean of the last samples.
    fn by_rate(&self) -> usize {
        let inverse: f64 = self.throughputs.iter().map(|sample| 1.0 / sample).sum();
        let estimate = self.video.safety * self.throughputs.len() as f64 / inverse;
        self.video.ladder.iter().rposition(|&rate| rate as f64 <= estimate).unwrap_or(0)
    }

    /// A segment is complete at `now`, `took` after its request.
    pub fn deliver(&mut self, now: Nanos, took: Nanos) {
        self.advance(now);
        let bits = self.rate() as f64 * self.video.segment as f64 / 1e9;
        self.throughputs.push_back(bits / (took.max(1) as f64 / 1e9));
        if self.throughputs.len() > SAMPLES {
            self.throughputs.pop_front();
        }
        self.buffered += self.video.segment;
        if self.segments.is_empty() {
            self.left = self.video.segment;
        }
        self.segments.push_back(self.rate());
        let starts = self.buffered >= Nanos::from(self.video.startup) * self.video.segment || self.is_whole();
        match self.state {
            State::Startup if starts => {
                self.state = State::Play;
                self.shown.startup = self.begun.map(|begun| now - begun);
            }
            State::Stall => self.state = State::Play,
            _ => {}
        }
    }

    /// Whether all of the video has been requested.
    fn is_whole(&self) -> bool {
        self.video.length.is_some_and(|length| self.requested >= length)
    }

    /// Plays up to `now`.
    fn advance(&mut self, now: Nanos) {
        let mut from = self.updated;
        self.updated = now.max(from);
        while self.state == State::Play && from < now {
            let Some(&rate) = self.segments.front() else {
                self.state = if self.is_whole() { State::End } else { State::Stall };
                break;
            };
            let to = now.min(from + self.left);
            self.play(rate, from, to);
            self.buffered -= to - from;
            self.left -= to - from;
            if self.left == 0 {
                self.segments.pop_front();
                self.left = self.video.segment;
            }
            from = to;
        }
        if self.state == State::Stall {
            self.shown.stalled += self.inside(from, now);
        }
    }

    fn play(&mut self, rate: u64, from: Nanos, to: Nanos) {
        let time = self.inside(from, to);
        self.shown.played += time;
        self.shown.amount += rate as f64 * time as f64;
        let before = self.shown.last_rate.replace(rate);
        self.shown.switches += u64::from(before.is_some_and(|before| before != rate) && self.window.contains(from));
    }

    /// Part of a time in the measurement interval.
    fn inside(&self, from: Nanos, to: Nanos) -> Nanos {
        to.min(self.window.to).saturating_sub(from.max(self.window.from))
    }

    /// Figures of the video at the end of the run.
    pub fn figures(&self) -> Figures {
        let mut end = self.clone();
        end.advance(self.window.to);
        let Shown { startup, played, stalled, amount, switches, .. } = end.shown;
        let watched = (played + stalled) as f64;
        Figures {
            startup_s: startup.map_or(f64::NAN, |time| time as f64 / 1e9),
            stall_s: stalled as f64 / 1e9,
            rebuffer_ratio: if watched == 0.0 { 0.0 } else { stalled as f64 / watched },
            mean_bitrate_bps: amount / played as f64,
            switches,
        }
    }

    /// Heap memory in bytes, its own included.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Player>() + (self.segments.capacity() + self.throughputs.capacity() + self.video.ladder.len()) * 8
    }
}

/// Figures of a video in the measurement interval.
///
/// ```
/// use fullpipe_sim::{Scenario, Simulation};
///
/// let report = Simulation::new(Scenario::from_toml(r#"
///     duration = "30 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "50 packets" }]
///     flows = [{ algorithm = "cubic", source = { video = ["1 Mbit/s"], segment = "2 s", buffer = "20 s" } }]
/// "#)?)?.report()?;
/// let video = report.flows[0].video.expect("a flow with a video");
/// assert_eq!((video.stall_s, video.rebuffer_ratio, video.switches), (0.0, 0.0, 0), "a tenth of the link's rate");
/// assert!((video.mean_bitrate_bps - 1e6).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Time from the first request to the first picture, seconds; NaN if there is none.
    pub startup_s: f64,
    /// Time without a picture after that.
    pub stall_s: f64,
    /// That over the sum of it and the playing time.
    pub rebuffer_ratio: f64,
    /// Media rate, averaged over the playing time; NaN without any.
    pub mean_bitrate_bps: f64,
    /// Changes of the rate from a played segment to the next.
    pub switches: u64,
}

/// Place of the next rate by BBA-0, where the last one was at `last`.
fn buffer_based(video: &Video, last: usize, buffered: Nanos) -> usize {
    let ladder = &video.ladder;
    let top = ladder.len() - 1;
    let (lowest, highest) = (ladder[0] as f64, ladder[top] as f64);
    let reservoir = video.buffer / 8 * 3;
    let end = (video.buffer / 10 * 9).min(video.buffer - video.segment);
    if buffered <= reservoir {
        return 0;
    }
    if buffered >= end {
        return top;
    }
    let share = (buffered - reservoir) as f64 / (end - reservoir) as f64;
    let rate = lowest + share * (highest - lowest);
    if rate >= ladder[(last + 1).min(top)] as f64 {
        ladder.iter().rposition(|&known| (known as f64) < rate).unwrap_or(0)
    } else if rate <= ladder[last.saturating_sub(1)] as f64 {
        ladder.iter().position(|&known| known as f64 > rate).unwrap_or(top)
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;
    const ALWAYS: Window = Window { from: 0, to: 25 * S };

    fn video(ladder: &[u64], buffer: Nanos, player: PlayerRule) -> Video {
        let ladder = ladder.iter().map(|kbps| kbps * 1000).collect();
        Video { ladder, segment: 2 * S, buffer, player, startup: 1, safety: 1.0, length: None }
    }

    /// One rate of 1 Mbit/s and segments of 2 s, each of which takes 2.5 s: it plays from 2.5 s on, with a stall of 0.5 s before each later
    /// segment. At 25 s: 9 stalls, 4.5 s, and 18 s of playing time.
    #[test]
    fn a_link_that_is_too_slow_stalls_the_player() {
        let mut player = Player::new(video(&[1000], 20 * S, PlayerRule::Buffer), ALWAYS);
        let mut now = 0;
        while now < 25 * S {
            assert_eq!(player.next_request(now), Some(now));
            assert_eq!(player.choose(now), 250_000);
            now += 5 * S / 2;
            player.deliver(now, 5 * S / 2);
        }
        let figures = player.figures();
        assert_eq!((figures.startup_s, figures.stall_s, figures.rebuffer_ratio), (2.5, 4.5, 0.2));
        assert_eq!((figures.mean_bitrate_bps, figures.switches), (1e6, 0));
    }

    /// The harmonic mean of 2, 4, 4, 8, and 1 Mbit/s is 2.353 Mbit/s.
    #[test]
    fn the_rate_based_player_takes_the_harmonic_mean() {
        for (ladder, place) in [([1000, 2352, 3000], 1), ([1000, 2354, 3000], 0)] {
            let mut player = Player::new(video(&ladder, 20 * S, PlayerRule::Rate), ALWAYS);
            assert_eq!(player.by_rate(), 0, "the first segment has the lowest rate");
            player.throughputs.extend([2e6, 4e6, 4e6, 8e6, 1e6]);
            assert_eq!(player.by_rate(), place);
        }
    }

    /// Ladder and buffer of the paper: f(120 s) = 893.3, f(153 s) = 1617.5, and f(200 s) = 2648.9 kbit/s.
    #[test]
    fn bba_0_maps_the_buffer_to_a_rate() {
        let ladder = [235, 375, 560, 750, 1050, 1750, 2350, 3000];
        let video = video(&ladder, 240 * S, PlayerRule::Buffer);
        let chosen = |last: u64, buffered: u64| {
            let last = ladder.iter().position(|&rate| rate == last).expect("a rate");
            ladder[buffer_based(&video, last, buffered * S)]
        };
        assert_eq!([chosen(560, 90), chosen(560, 216), chosen(235, 240)], [235, 3000, 3000]);
        // f = 893.3 is above the next rate, 750: the highest rate below it.
        assert_eq!(chosen(560, 120), 750);
        // It lies between the neighbors 750 and 1750.
        assert_eq!(chosen(1050, 120), 1050);
        assert_eq!([chosen(1050, 153), chosen(375, 153)], [1050, 1050]);
        assert_eq!([chosen(2350, 200), chosen(1050, 200)], [2350, 2350]);
        // It is below the neighbor 2350: the lowest rate above it.
        assert_eq!(chosen(3000, 153), 1750);
    }

    /// Buffer 20 s, segments of 2 s: the reservoir is 7.5 s, and the cushion ends at 18 s, where each request after a wait is sent.
    #[test]
    fn a_full_buffer_waits_and_asks_for_the_highest_rate() {
        let mut player = Player::new(video(&[500, 1000], 20 * S, PlayerRule::Buffer), ALWAYS);
        let mut sizes = Vec::new();
        for _ in 0..10 {
            sizes.push(player.choose(0));
            player.deliver(0, S / 10);
        }
        assert_eq!(player.next_request(0), Some(2 * S), "20 s are 2 s too many");
        assert_eq!(player.choose(2 * S), 250_000);
        assert_eq!(sizes[..4], [125_000; 4], "up to 7.5 s");
        assert_eq!(sizes[9], 250_000, "at 18 s");
    }

    /// Three segments, of which the second has another rate, and then the end: 6 s are played, with two switches and no stall.
    #[test]
    fn a_video_ends_without_a_stall() {
        let ladder = video(&[500, 1000], 20 * S, PlayerRule::Rate);
        let mut player = Player::new(Video { length: Some(6 * S), ..ladder }, ALWAYS);
        for (throughput, took) in [(2e6, S), (0.1e6, S), (0.1e6, S)] {
            assert!(player.next_request(0).is_some());
            player.choose(0);
            player.deliver(0, took);
            player.throughputs = VecDeque::from([throughput]);
        }
        assert_eq!(player.next_request(0), None);
        let figures = player.figures();
        assert_eq!((figures.stall_s, figures.switches, figures.mean_bitrate_bps), (0.0, 2, 2e6 / 3.0));
    }

    #[test]
    fn only_the_measurement_interval_counts() {
        let window = Window { from: 10 * S, to: 25 * S };
        let mut player = Player::new(video(&[1000], 20 * S, PlayerRule::Buffer), window);
        player.choose(0);
        player.deliver(9 * S, 9 * S);
        // It plays from 9 s to 11 s, and stalls from then on.
        let figures = player.figures();
        assert_eq!((figures.stall_s, figures.rebuffer_ratio), (14.0, 14.0 / 15.0));
    }
}
