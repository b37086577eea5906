//! Client of an application: it is at the receiver of the data, and sends requests, one at a time. Times are those of the receiver.
//!
//! THINK ends after a drawn time, and a request leaves. The server answers after a drawn time. The response is complete when all of it is
//! at the client. Then THINK begins again. A request that does not arrive is repeated after 1 s, 2 s, 4 s, and so on.

use super::frames::packets;
use super::player::Player;
use crate::rng::Rng;
use crate::scenario::{Law, Requests};
use crate::window::Window;
use fullpipe_cc::Nanos;
use fullpipe_cc::time::SECOND;

/// Time after which a request is repeated first.
const FIRST_REPETITION: Nanos = SECOND;

/// Client of one flow.
#[derive(Debug)]
pub struct Client {
    plan: Plan,
    server: Law,
    packet_size: u32,
    /// Size of a request, bytes.
    pub request_size: u32,
    rng: Rng,
    state: State,
    /// Number of the request at hand, from 1 on.
    number: u32,
    /// No request follows.
    ends: bool,
    /// Row of the response among all transfers.
    pub transfer: Option<u32>,
    /// Time of its entry among the timers.
    pub timer_at: Nanos,
    window: Window,
    /// Number, and sum of the times, of responses that were requested and delivered in the measurement interval.
    completed: (u64, u128),
}

/// When requests are sent, and for how much.
#[derive(Debug)]
enum Plan {
    /// Think times and sizes from laws.
    Random { think: Law, size: Law },
    /// A video player.
    Video(Box<Player>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It has sent no request, or no other one follows.
    Idle,
    /// The next request leaves then.
    Think { until: Nanos },
    /// A request has left. Without an answer it is repeated at `again`.
    Wait { sent: Nanos, packets: u64, again: Nanos, interval: Nanos },
    /// The server has the request, and sends the response.
    Response { sent: Nanos },
    /// The response is complete at `at`.
    Complete { sent: Nanos, at: Nanos },
}

/// Action at a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// A request leaves, for a response of this number of packets.
    Request {
        /// Packets of the response.
        packets: u64,
        /// It has been sent before.
        again: bool,
    },
    /// The response is complete.
    Complete,
}

impl Client {
    /// Client with random requests.
    pub fn random(requests: &Requests, packet_size: u32, window: Window, rng: Rng) -> Client {
        let Requests { think, size, server, request_size } = *requests;
        Client::new(Plan::Random { think, size }, (server, request_size), packet_size, window, rng)
    }

    /// Client that plays a video.
    pub fn video(player: Player, request_size: u32, packet_size: u32, window: Window, rng: Rng) -> Client {
        let plan = Plan::Video(Box::new(player));
        Client::new(plan, (Law::Constant(0), request_size), packet_size, window, rng)
    }

    fn new(plan: Plan, (server, request_size): (Law, u32), packet_size: u32, window: Window, rng: Rng) -> Client {
        Client {
            plan,
            server,
            packet_size,
            request_size,
            rng,
            state: State::Idle,
            number: 0,
            ends: false,
            transfer: None,
            timer_at: Nanos::MAX,
            window,
            completed: (0, 0),
        }
    }

    /// The connection begins at `now`.
    pub fn begin(&mut self, now: Nanos) {
        if self.state == State::Idle && self.number == 0 {
            self.think(now);
        }
    }

    fn think(&mut self, now: Nanos) {
        let until = match &mut self.plan {
            Plan::Random { think, .. } => Some(now.saturating_add(think.draw(&mut self.rng))),
            Plan::Video(player) => player.next_request(now),
        };
        self.ends |= until.is_none();
        self.state = match until {
            Some(until) if !self.ends => State::Think { until },
            _ => State::Idle,
        };
    }

    /// Time of its next timer; `Nanos::MAX` without one.
    pub fn deadline(&self) -> Nanos {
        match self.state {
            State::Think { until } => until,
            State::Wait { again, .. } => again,
            State::Complete { at, .. } => at,
            State::Idle | State::Response { .. } => Nanos::MAX,
        }
    }

    /// Handles its timer at `now`.
    pub fn on_timer(&mut self, now: Nanos) -> Action {
        match self.state {
            State::Think { until } if until <= now => {
                let bytes = match &mut self.plan {
                    Plan::Random { size, .. } => size.draw(&mut self.rng),
                    Plan::Video(player) => player.choose(now),
                };
                let packets = packets(bytes, self.packet_size);
                self.number = self.number.wrapping_add(1).max(1);
                self.state = State::Wait {
                    sent: now,
                    packets,
                    again: now.saturating_add(FIRST_REPETITION),
                    interval: 2 * FIRST_REPETITION,
                };
                Action::Request { packets, again: false }
            }
            State::Wait { sent, packets, again, interval } if again <= now => {
                let next = now.saturating_add(interval);
                self.state = State::Wait { sent, packets, again: next, interval: interval.saturating_mul(2) };
                Action::Request { packets, again: true }
            }
            State::Complete { sent, at } if at <= now => {
                if sent >= self.window.from && self.window.contains(at) {
                    self.completed.0 += 1;
                    self.completed.1 += u128::from(at - sent);
                }
                if let Plan::Video(player) = &mut self.plan {
                    player.deliver(at, at - sent);
                }
                self.think(at);
                Action::Complete
            }
            _ => Action::Nothing,
        }
    }

    /// Number of the request at hand.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Request `number` is at the server. Returns the time until the response begins, and its packets, unless the server has the request.
    pub fn on_request(&mut self, number: u32) -> Option<(Nanos, u64)> {
        let State::Wait { sent, packets, .. } = self.state else { return None };
        if number != self.number {
            return None;
        }
        self.state = State::Response { sent };
        Some((self.server.draw(&mut self.rng), packets))
    }

    /// The response is complete at `at`.
    pub fn on_response(&mut self, at: Nanos) {
        if let State::Response { sent } = self.state {
            self.state = State::Complete { sent, at };
        }
    }

    /// No request is sent from now on. Returns whether none is under way.
    pub fn stop(&mut self) -> bool {
        self.ends = true;
        if matches!(self.state, State::Think { .. }) {
            self.state = State::Idle;
        }
        self.is_over()
    }

    /// Whether no response is under way, and no request follows.
    pub fn is_over(&self) -> bool {
        self.ends && self.state == State::Idle
    }

    /// Mean time from a request to its complete response, seconds; NaN without any.
    pub fn mean_completion_s(&self) -> f64 {
        let (count, sum) = self.completed;
        sum as f64 / count as f64 / 1e9
    }

    /// Heap memory in bytes, its own included.
    pub fn heap_bytes(&self) -> usize {
        let player = if let Plan::Video(player) = &self.plan { player.heap_bytes() } else { 0 };
        size_of::<Client>() + player
    }

    /// The player of a video.
    pub fn player(&self) -> Option<&Player> {
        match &self.plan {
            Plan::Video(player) => Some(player),
            Plan::Random { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Identity, Purpose};

    const MS: Nanos = 1_000_000;
    const ALWAYS: Window = Window { from: 0, to: Nanos::MAX };

    fn client() -> Client {
        let requests = Requests {
            think: Law::Constant(1000 * MS),
            size: Law::Constant(100_000),
            server: Law::Constant(50 * MS),
            request_size: 328,
        };
        Client::random(&requests, 1500, ALWAYS, Rng::new(1, Purpose::Source, Identity::NONE))
    }

    /// 100 kB are 67 packets. The request leaves at 1 s, arrives at 1.05 s, and the response is complete at 1.35 s: 350 ms.
    #[test]
    fn a_request_follows_a_think_time() {
        let mut client = client();
        client.begin(0);
        assert_eq!((client.deadline(), client.on_timer(999 * MS)), (1000 * MS, Action::Nothing));
        assert_eq!(client.on_timer(1000 * MS), Action::Request { packets: 67, again: false });
        assert_eq!(client.on_request(1), Some((50 * MS, 67)));
        assert_eq!((client.on_request(1), client.deadline()), (None, Nanos::MAX), "it is there already");
        client.on_response(1350 * MS);
        assert_eq!((client.deadline(), client.on_timer(1350 * MS)), (1350 * MS, Action::Complete));
        assert_eq!((client.deadline(), client.mean_completion_s()), (2350 * MS, 0.35));
    }

    #[test]
    fn a_lost_request_is_repeated_after_1_2_and_4_seconds() {
        let mut client = client();
        client.begin(0);
        client.on_timer(1000 * MS);
        for at in [2000, 4000, 8000] {
            assert_eq!(client.deadline(), at * MS);
            assert_eq!(client.on_timer(at * MS), Action::Request { packets: 67, again: true });
        }
        assert_eq!(client.on_request(1), Some((50 * MS, 67)));
        client.on_response(9000 * MS);
        client.on_timer(9000 * MS);
        assert_eq!(client.mean_completion_s(), 8.0);
    }

    #[test]
    fn a_stop_ends_the_think_time_alone() {
        let mut one = client();
        one.begin(0);
        assert!(one.stop());
        let mut other = client();
        other.begin(0);
        other.on_timer(1000 * MS);
        assert!(!other.stop());
        other.on_request(1);
        other.on_response(1300 * MS);
        assert_eq!((other.on_timer(1300 * MS), other.is_over()), (Action::Complete, true));
    }
}
