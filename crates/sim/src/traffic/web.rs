//! Web-like traffic: the users of a group, and the results of their transfers.

use crate::network::Route;
use crate::report::meter::Terms;
use crate::rng::{Identity, Rng};
use crate::scenario::Web;
use crate::window::Window;
use fullpipe_cc::{Nanos, time::seconds};
use std::sync::Arc;

/// A group of users.
pub struct WebGroup {
    /// Its rank where events tie, and part of the identity of its connections.
    pub identity: Identity,
    /// Connections so far.
    pub connections: u64,
    /// Draws all that is random about it.
    pub rng: Rng,
    /// The way of its transfers.
    pub route: Route,
    /// Metrics of the transfers.
    pub terms: Arc<Terms>,
    /// Connections at rest (Poisson arrivals take one, or make one).
    pub idle: Vec<u32>,
    /// Transfers begun in the measuring window.
    pub started: u64,
    /// Those of them that are complete.
    pub completed: u64,
    /// How long these took, seconds.
    pub completion_sum: f64,
}

/// Longest web transfer; the Pareto distribution has no bound.
const MAX_TRANSFER_SEGMENTS: f64 = 1e9;

impl WebGroup {
    /// One that has done nothing yet.
    pub fn new(identity: Identity, rng: Rng, route: Route, terms: Arc<Terms>) -> WebGroup {
        WebGroup {
            identity,
            connections: 0,
            rng,
            route,
            terms,
            idle: Vec::new(),
            started: 0,
            completed: 0,
            completion_sum: 0.0,
        }
    }

    /// A transfer begins at `now`; its size in segments of `packet_size` bytes.
    pub fn begin(&mut self, web: &Web, packet_size: u32, now: Nanos, window: Window) -> u64 {
        self.started += u64::from(window.contains(now));
        let segments = libm::ceil(self.rng.pareto(web.mean_size, web.shape) / f64::from(packet_size));
        segments.clamp(1.0, MAX_TRANSFER_SEGMENTS) as u64
    }

    /// A transfer that began at `started` is complete at `now`.
    pub fn complete(&mut self, started: Nanos, now: Nanos, window: Window) {
        if window.contains(started) {
            self.completed += 1;
            self.completion_sum += seconds(now - started);
        }
    }
}
