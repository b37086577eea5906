//! Application of a flow that does not always have data: when it writes, and how much. Times are on the flow's own clock.

pub mod client;
pub mod frames;
mod law;
mod paced;
pub mod player;
pub mod units;

use crate::rng::Rng;
use crate::scenario::{self, FlowGroup, Tcp};
use crate::transport::growth::{Growth, MaxFlight, Response};
use crate::transport::validation::Validation;
use crate::window::Window;
use client::Client;
use frames::Frames;
use fullpipe_cc::Nanos;
use fullpipe_cc::params::Group;
use paced::{OnOff, Ticks};
use player::Player;
use units::{FrameDelays, Unit, Units};

/// Application of one flow, and the connection's state for it.
#[derive(Debug)]
pub struct Source {
    writer: Writer,
    /// Packets written.
    written: u64,
    /// Time of the timer for the next write, on the loop's clock.
    pub timer_at: Nanos,
    /// Whether the window limits the sender, and its restart after idle time.
    pub validation: Validation,
    /// Time without data to send.
    pub app_limited: AppLimitedTime,
    /// Delivery of its units of data, if it has any.
    pub delivery: Option<Delivery>,
    /// Client that requests the data, if it has one.
    pub client: Option<Box<Client>>,
    /// Time at which it stopped.
    stopped_at: Option<Nanos>,
}

/// Units of data of a source, and their delays.
#[derive(Debug)]
pub struct Delivery {
    units: Units,
    /// Delays of frames; `None` for responses to a client.
    delays: Option<FrameDelays>,
}

impl Delivery {
    fn count(&mut self, unit: Unit, at: Nanos) {
        self.delays.iter_mut().for_each(|delays| delays.count(unit.made, at));
    }

    fn heap_bytes(&self) -> usize {
        self.units.heap_bytes() + self.delays.as_ref().map_or(0, |delays| delays.delays().heap_bytes())
    }
}

#[derive(Debug)]
enum Writer {
    /// Number of packets from the beginning on; `u64::MAX` for no end.
    Bulk(u64),
    Rate(Ticks),
    OnOff(OnOff),
    Frames(Frames),
    /// Response to a request, which is written at this time.
    Response(Option<(Nanos, u64)>),
}

impl Source {
    /// Source of a flow that begins at `begin`; `None` for one that always has data.
    pub fn new(group: &FlowGroup, packet_size: u32, begin: Nanos, window: Window, rng: Rng) -> Option<Box<Source>> {
        let tcp = &group.tcp;
        let (mut delivery, mut client) = (None, None);
        let writer = match &group.source {
            scenario::Source::Bulk if group.tcp.growth == Growth::Rfc => return None,
            scenario::Source::Bulk => Writer::Bulk(group.size.unwrap_or(u64::MAX)),
            scenario::Source::Rate { rate_bps } => Writer::Rate(Ticks::new(begin, *rate_bps, packet_size)),
            scenario::Source::OnOff { on, off, rate_bps } => {
                Writer::OnOff(OnOff::new((*on, *off), rate_bps.map(|rate| (rate, packet_size)), begin, rng))
            }
            scenario::Source::Frames { per_second, size, key, deadline } => {
                delivery =
                    Some(Delivery { units: Units::default(), delays: Some(FrameDelays::new(window, *deadline)) });
                Writer::Frames(Frames::new(*per_second, *size, *key, packet_size, begin, rng))
            }
            scenario::Source::Requests(requests) => {
                client = Some(Client::random(requests, packet_size, window, rng));
                Writer::Response(None)
            }
            scenario::Source::Video(video) => {
                let player = Player::new(video.clone(), window);
                client = Some(Client::video(player, scenario::Requests::SIZE, packet_size, window, rng));
                Writer::Response(None)
            }
        };
        if client.is_some() {
            delivery = Some(Delivery { units: Units::default(), delays: None });
        }
        Some(Box::new(Source {
            writer,
            written: 0,
            timer_at: Nanos::MAX,
            validation: Validation::new(tcp.idle, tcp.initial_window, begin).limited_to(max_flight(tcp)),
            app_limited: AppLimitedTime::default(),
            delivery,
            client: client.map(Box::new),
            stopped_at: None,
        }))
    }

    /// Number of packets written up to `now`, of which `sent` have been sent.
    pub fn written(&mut self, now: Nanos, sent: u64) -> u64 {
        if !self.is_stopped() {
            self.written = match &mut self.writer {
                Writer::Bulk(packets) => *packets,
                Writer::Rate(ticks) => ticks.until(now),
                Writer::OnOff(periods) => periods.written(now, sent),
                Writer::Frames(frames) => {
                    self.delivery.as_mut().map_or(0, |delivery| frames.write(now, &mut delivery.units))
                }
                Writer::Response(response) => self.delivery.as_mut().map_or(0, |delivery| {
                    if let Some((at, packets)) = response.take_if(|(at, _)| *at <= now) {
                        delivery.units.write(at, packets);
                    }
                    delivery.units.written()
                }),
            };
        }
        self.written
    }

    /// Time at which the sender must be woken for more data, with or without unsent data; `Nanos::MAX` for never. A
    /// sender with unsent data checks by itself, so no event is needed for each packet that waits.
    pub fn next_write(&self, now: Nanos, has_unsent: bool) -> Nanos {
        match &self.writer {
            _ if self.is_stopped() => Nanos::MAX,
            Writer::OnOff(periods) if periods.is_behind(now) => now,
            Writer::OnOff(periods) if periods.is_unlimited() || !has_unsent => periods.next(now),
            Writer::Response(response) => response.map_or(Nanos::MAX, |(at, _)| at.max(now)),
            Writer::Rate(ticks) if !has_unsent => ticks.next(),
            Writer::Frames(frames) if !has_unsent || frames.next() <= now => frames.next().max(now),
            _ => Nanos::MAX,
        }
    }

    /// Request `number` is at the server at `now`.
    pub fn on_request(&mut self, now: Nanos, number: u32) {
        let Some((wait, packets)) = self.client.as_mut().and_then(|client| client.on_request(number)) else { return };
        if let Writer::Response(response) = &mut self.writer {
            *response = Some((now.saturating_add(wait), packets));
        }
    }

    /// No request is sent from now on. Returns whether the application has a client that waits for a response.
    pub fn stop_client(&mut self) -> bool {
        self.client.as_mut().is_some_and(|client| !client.stop())
    }

    /// Stops the application at `now`. Data that it has written and not sent, beyond `sent` packets, is discarded.
    pub fn stop(&mut self, now: Nanos, sent: u64) {
        self.stopped_at = Some(now);
        self.written = self.written.min(sent);
    }

    /// Whether it always has data, up to its end.
    pub fn is_bulk(&self) -> bool {
        matches!(self.writer, Writer::Bulk(_))
    }

    /// Whether the flow ends once everything is acknowledged.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.is_bulk() || self.client.as_ref().is_some_and(|client| client.is_over())
    }

    /// Whether the application writes no more.
    fn is_stopped(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Every packet below `next` is at the receiver at `at`.
    pub fn deliver_in_order(&mut self, next: u64, at: Nanos) {
        let Some(delivery) = &mut self.delivery else { return };
        while let Some(unit) = delivery.units.deliver_in_order(next) {
            delivery.count(unit, at);
            self.client.iter_mut().for_each(|client| client.on_response(at));
        }
    }

    /// Packet `number` is at the receiver at `at`, where units do not wait for each other.
    pub fn deliver_packet(&mut self, number: u64, at: Nanos) {
        let Some(delivery) = &mut self.delivery else { return };
        if let Some(unit) = delivery.units.deliver_packet(number) {
            delivery.count(unit, at);
            self.client.iter_mut().for_each(|client| client.on_response(at));
        }
    }

    /// Delays of its frames, if it has any, and the numbers of late frames and of frames that could have been late.
    pub fn frames(&self) -> Option<(&FrameDelays, Option<(u64, u64)>)> {
        let (Writer::Frames(frames), Some(delivery)) = (&self.writer, &self.delivery) else { return None };
        let delays = delivery.delays.as_ref()?;
        let late = delays.due().map(|(from, to)| {
            // A frame of the moment at which it stopped was made or not, depending on which event came first.
            let all = self.stopped_at.map_or(u64::MAX, |stopped| frames.before(stopped).max(frames.number()));
            let due = frames.before(to).min(all).saturating_sub(frames.before(from));
            (due.saturating_sub(delays.on_time()), due)
        });
        Some((delays, late))
    }

    /// Heap memory in bytes, its own included.
    pub fn heap_bytes(&self) -> usize {
        let delivery = self.delivery.as_ref();
        let parts =
            delivery.map_or(0, Delivery::heap_bytes) + self.client.as_ref().map_or(0, |client| client.heap_bytes());
        size_of::<Source>() + parts + self.validation.heap_bytes()
    }
}

/// Record of the largest flight size, if growth depends on it.
fn max_flight(tcp: &Tcp) -> Option<MaxFlight> {
    let initial_window = f64::from(tcp.initial_window);
    let response = match tcp.algorithm.name.as_str() {
        "reno" | "newreno" => Response::Additive,
        _ if tcp.algorithm.info().is_some_and(|info| info.group == Group::Model) => Response::RateBased(initial_window),
        _ => Response::Other,
    };
    (tcp.growth == Growth::Validated).then(|| MaxFlight::new(initial_window, response))
}

/// Time in which a sender has nothing to send, while window and pacer permit a packet and no loss is unrepaired.
#[derive(Debug)]
pub struct AppLimitedTime {
    /// Begin of the stretch at hand; `Nanos::MAX` outside.
    from: Nanos,
    total: Nanos,
}

impl Default for AppLimitedTime {
    fn default() -> Self {
        AppLimitedTime { from: Nanos::MAX, total: 0 }
    }
}

impl AppLimitedTime {
    /// Ends a stretch at `now`, and counts the part of it that is in `window`.
    pub fn end(&mut self, now: Nanos, window: Window) {
        let from = std::mem::replace(&mut self.from, Nanos::MAX).max(window.from);
        self.total += now.min(window.to).saturating_sub(from);
    }

    /// Begins a stretch at `from`, which may be later than now.
    pub fn begin(&mut self, from: Nanos) {
        self.from = from;
    }

    /// Part of a time of length `active`.
    pub fn share(&self, active: Nanos) -> f64 {
        self.total as f64 / active as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_count_inside_the_window() {
        let window = Window { from: 10, to: 50 };
        let mut time = AppLimitedTime::default();
        for (from, to) in [(0, 5), (8, 12), (20, 20), (30, 35), (40, 30), (45, 60)] {
            time.begin(from);
            time.end(to, window);
        }
        // 2 + 0 + 5 + 0 (it would have begun after its end) + 5.
        assert_eq!(time.share(24), 0.5);
        time.end(70, window);
        assert_eq!(time.share(24), 0.5);
    }
}
