//! Compiled algorithms: functions by their addresses, with the interface of `include/fullpipe.h`.

use fullpipe_cc::packets::{Lost, Sent};
use fullpipe_cc::params::{Info, Params, Value};
use fullpipe_cc::time::seconds;
use fullpipe_cc::{Ack, CongestionControl, Flow, Nanos, Signal, Start};
use fullpipe_sim::catalogue::kept;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt::Display;
use std::mem::transmute;
use std::sync::Arc;

/// Functions and state of a class: `fullpipe.custom.compiled.Plug`.
#[derive(FromPyObject)]
pub struct Plug {
    pub state: Vec<u8>,
    pub fields: BTreeMap<String, (usize, bool)>,
    pub calls: BTreeMap<String, usize>,
    pub keep: Py<PyAny>,
}

/// `struct fullpipe_flow`.
#[repr(C)]
struct CFlow {
    now_s: f64,
    srtt_s: f64,
    min_rtt_s: f64,
    delivered: i64,
    lost: i64,
    flight_size: i64,
    in_flight: i64,
    round: i64,
    in_recovery: bool,
    cwnd_limited: bool,
    app_limited: bool,
}

/// `struct fullpipe_ack`.
#[repr(C)]
struct CAck {
    credit: f64,
    rtt_s: f64,
    forward_delay_s: f64,
    backward_delay_s: f64,
    delivery_rate: f64,
    acked: i64,
    newly_lost: i64,
    ce: i64,
    round_start: bool,
    is_app_limited: bool,
}

/// `struct fullpipe_start`.
#[repr(C)]
struct CStart {
    window: f64,
    rtt_s: f64,
    seed: i64,
    segment_bytes: i64,
    paced: bool,
}

type OnStart = unsafe extern "C" fn(*mut c_void, *const CStart) -> i32;
type OnAck = unsafe extern "C" fn(*mut c_void, *const CFlow, *const CAck) -> i32;
type OnFlow = unsafe extern "C" fn(*mut c_void, *const CFlow) -> i32;
type OnUndo = unsafe extern "C" fn(*mut c_void, f64, f64) -> i32;
type OnSent = unsafe extern "C" fn(*mut c_void, *const CFlow, *const Sent) -> i32;
type OnLost = unsafe extern "C" fn(*mut c_void, *const CFlow, *const Lost) -> i32;
type OnEnd = unsafe extern "C" fn(*mut c_void) -> i32;
type OnCongestion = unsafe extern "C" fn(*mut c_void, *const CFlow, i64) -> i32;

/// The functions of a class.
struct Calls {
    on_start: Option<OnStart>,
    on_ack: OnAck,
    on_congestion: OnCongestion,
    on_round: Option<OnFlow>,
    on_recovered: Option<OnFlow>,
    on_undo: Option<OnUndo>,
    on_sent: Option<OnSent>,
    on_lost: Option<OnLost>,
    on_end: Option<OnEnd>,
    /// Owner of their code.
    _keep: Py<PyAny>,
}

/// A class: its functions, and a state before a connection begins, in words of 8 bytes so that it is aligned.
pub struct Class {
    calls: Arc<Calls>,
    state: Vec<u64>,
    params: Vec<Place>,
    shown: Arc<[Place]>,
    paced: bool,
    rate_samples: bool,
    prr: bool,
}

/// Where a field is in the state's bytes.
#[derive(Clone, Copy)]
pub struct Place {
    pub name: &'static str,
    pub at: usize,
    pub is_flag: bool,
}

/// Bytes of a state in words, so that it is aligned.
pub fn words(state: &[u8]) -> Vec<u64> {
    let mut bytes = state.to_vec();
    bytes.resize(state.len().next_multiple_of(8).max(16), 0);
    bytes.chunks(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("eight bytes"))).collect()
}

/// Writes the value of the parameter of that name into a state.
pub fn put_param(state: &mut [u64], place: Place, params: &Params) {
    match params.value(place.name) {
        Some(Value::Flag(flag)) => put_flag(state, place, flag),
        _ => state[place.at / 8] = params.number(place.name).to_bits(),
    }
}

fn put_flag(state: &mut [u64], place: Place, flag: bool) {
    let mut bytes = state[place.at / 8].to_ne_bytes();
    bytes[place.at % 8] = u8::from(flag);
    state[place.at / 8] = u64::from_ne_bytes(bytes);
}

/// Where the window, the threshold and the pacing rate are, in words.
const CWND: usize = 0;
const SSTHRESH: usize = 1;
const PACING_RATE: usize = 2;

impl Class {
    /// The class of a plug, whose first fields are the window, the threshold and, if it has one, the pacing rate.
    pub fn new(plug: Plug, info: &'static Info, rate_samples: bool, prr: bool, shown: &[String]) -> PyResult<Class> {
        let Plug { state, fields, calls, keep } = plug;
        let place = |name: &str| {
            let &(at, is_flag) = fields.get(name).ok_or_else(|| PyValueError::new_err(format!("no field {name}")))?;
            let fits = if is_flag { at < state.len() } else { at % 8 == 0 && at + 8 <= state.len() };
            let found = Place { name: kept(name), at, is_flag };
            if fits { Ok(found) } else { Err(PyValueError::new_err(format!("{name} is outside of the state"))) }
        };
        for (name, word) in [("cwnd", CWND), ("ssthresh", SSTHRESH), ("pacing_rate", PACING_RATE)] {
            if fields.contains_key(name) && place(name)?.at != 8 * word {
                return Err(PyValueError::new_err(format!("{name} is not at byte {}", 8 * word)));
            }
        }
        let address = |name: &str| calls.get(name).copied().filter(|address| *address != 0);
        let required = |name: &str| address(name).ok_or_else(|| PyValueError::new_err(format!("no function {name}")));
        // SAFETY: the package hands over addresses of functions that it has compiled for these signatures, and their owner.
        let calls = unsafe {
            Calls {
                on_start: address("on_start").map(|at| transmute::<usize, OnStart>(at)),
                on_ack: transmute::<usize, OnAck>(required("on_ack")?),
                on_congestion: transmute::<usize, OnCongestion>(required("on_congestion")?),
                on_round: address("on_round").map(|at| transmute::<usize, OnFlow>(at)),
                on_recovered: address("on_recovered").map(|at| transmute::<usize, OnFlow>(at)),
                on_undo: address("on_undo").map(|at| transmute::<usize, OnUndo>(at)),
                on_sent: address("on_sent").map(|at| transmute::<usize, OnSent>(at)),
                on_lost: address("on_lost").map(|at| transmute::<usize, OnLost>(at)),
                on_end: address("on_end").map(|at| transmute::<usize, OnEnd>(at)),
                _keep: keep,
            }
        };
        Ok(Class {
            calls: Arc::new(calls),
            params: info.params.iter().map(|param| place(param.name)).collect::<PyResult<_>>()?,
            shown: shown.iter().map(|name| place(name)).collect::<PyResult<_>>()?,
            paced: fields.contains_key("pacing_rate"),
            state: words(&state),
            rate_samples,
            prr,
        })
    }

    /// A connection begins.
    pub fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        let (paced, rate_samples, prr) = (self.paced, self.rate_samples, self.prr);
        let shown = Arc::clone(&self.shown);
        let mut native = Native {
            calls: Arc::clone(&self.calls),
            state: self.state.clone(),
            shown,
            paced,
            rate_samples,
            prr,
            failed: false,
        };
        for &place in &self.params {
            put_param(&mut native.state, place, params);
        }
        native.state[CWND] = start.window.to_bits();
        if let Some(on_start) = self.calls.on_start {
            let Start { window, segment_bytes, rtt, paced, seed, .. } = start;
            let (seed, segment_bytes) = (seed as i64, i64::from(segment_bytes));
            let start = CStart { window, rtt_s: known(rtt), seed, segment_bytes, paced };
            // SAFETY: see `Native::call`.
            native.call(|state| unsafe { on_start(state, &start) });
        }
        Box::new(native)
    }
}

/// A connection's state.
struct Native {
    calls: Arc<Calls>,
    state: Vec<u64>,
    shown: Arc<[Place]>,
    paced: bool,
    rate_samples: bool,
    prr: bool,
    failed: bool,
}

impl Native {
    /// Calls a function with the state. The functions of a plug read and write the state, which is theirs alone and as large and aligned
    /// as they were compiled for, and read the structs that they are handed, which outlive the call.
    #[inline]
    fn call(&mut self, function: impl FnOnce(*mut c_void) -> i32) {
        if !self.failed {
            self.failed = function(self.state.as_mut_ptr().cast()) == 0;
        }
    }

    fn number(&self, word: usize) -> f64 {
        f64::from_bits(self.state[word])
    }

    fn flag(&self, place: Place) -> bool {
        self.state[place.at / 8].to_ne_bytes()[place.at % 8] != 0
    }
}

fn known(time: Option<Nanos>) -> f64 {
    time.map_or(f64::NAN, seconds)
}

fn signed(time: Option<i64>) -> f64 {
    time.map_or(f64::NAN, |nanos| nanos as f64 / 1e9)
}

impl From<&Flow> for CFlow {
    #[inline]
    fn from(flow: &Flow) -> CFlow {
        CFlow {
            now_s: seconds(flow.now),
            srtt_s: known(flow.srtt),
            min_rtt_s: known(flow.min_rtt),
            delivered: flow.delivered as i64,
            lost: flow.lost as i64,
            flight_size: flow.flight_size as i64,
            in_flight: flow.in_flight as i64,
            round: flow.round as i64,
            in_recovery: flow.in_recovery,
            cwnd_limited: flow.cwnd_limited,
            app_limited: flow.app_limited,
        }
    }
}

impl From<&Ack> for CAck {
    #[inline]
    fn from(ack: &Ack) -> CAck {
        CAck {
            credit: ack.credit,
            rtt_s: known(ack.rtt),
            forward_delay_s: signed(ack.forward_delay),
            backward_delay_s: signed(ack.backward_delay),
            delivery_rate: ack.rate.and_then(|rate| rate.per_second()).unwrap_or(f64::NAN),
            acked: ack.acked as i64,
            newly_lost: ack.newly_lost as i64,
            ce: ack.ce as i64,
            round_start: ack.round_start,
            is_app_limited: ack.rate.is_some_and(|rate| rate.is_app_limited),
        }
    }
}

impl CongestionControl for Native {
    fn cwnd(&self) -> f64 {
        self.number(CWND)
    }

    fn ssthresh(&self) -> f64 {
        self.number(SSTHRESH)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.paced.then(|| self.number(PACING_RATE))
    }

    fn takes_rate_samples(&self) -> bool {
        self.rate_samples
    }

    fn rules_recovery(&self) -> bool {
        !self.prr
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let seen = CFlow::from(flow);
        let added = CAck::from(ack);
        let (on_ack, on_round) = (self.calls.on_ack, self.calls.on_round);
        if let Some(on_round) = on_round.filter(|_| ack.round_start) {
            // SAFETY: see `Native::call`.
            self.call(|state| unsafe { on_round(state, &seen) });
        }
        // SAFETY: see `Native::call`.
        self.call(|state| unsafe { on_ack(state, &seen, &added) });
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let on_congestion = self.calls.on_congestion;
        let signal = match signal {
            Signal::Ecn => 1,
            Signal::Timeout => 2,
            _ => 0,
        };
        // SAFETY: see `Native::call`.
        self.call(|state| unsafe { on_congestion(state, &CFlow::from(flow), signal) });
    }

    fn on_recovered(&mut self, flow: &Flow) {
        if let Some(on_recovered) = self.calls.on_recovered {
            // SAFETY: see `Native::call`.
            self.call(|state| unsafe { on_recovered(state, &CFlow::from(flow)) });
        }
    }

    fn takes_packets(&self) -> bool {
        self.calls.on_sent.is_some() || self.calls.on_lost.is_some()
    }

    fn on_packet_sent(&mut self, flow: &Flow, sent: &Sent) {
        if let Some(on_sent) = self.calls.on_sent {
            // SAFETY: see `Native::call`.
            self.call(|state| unsafe { on_sent(state, &CFlow::from(flow), sent) });
        }
    }

    fn on_packet_lost(&mut self, flow: &Flow, lost: &Lost) {
        if let Some(on_lost) = self.calls.on_lost {
            // SAFETY: see `Native::call`.
            self.call(|state| unsafe { on_lost(state, &CFlow::from(flow), lost) });
        }
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if let Some(on_undo) = self.calls.on_undo {
            // SAFETY: see `Native::call`.
            return self.call(|state| unsafe { on_undo(state, cwnd, ssthresh) });
        }
        self.state[CWND] = self.cwnd().max(cwnd).to_bits();
        self.state[SSTHRESH] = self.ssthresh().max(ssthresh).to_bits();
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.failed.then_some(&"its compiled code cannot go on" as &dyn Display)
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        for &place in self.shown.iter() {
            let value = if place.is_flag { f64::from(u8::from(self.flag(place))) } else { self.number(place.at / 8) };
            visit(place.name, value);
        }
    }
}

impl Drop for Native {
    /// The connection's state is used no more, after a failure too: its memory can be freed.
    fn drop(&mut self) {
        if let Some(on_end) = self.calls.on_end {
            // SAFETY: see `Native::call`.
            unsafe { on_end(self.state.as_mut_ptr().cast()) };
        }
    }
}
