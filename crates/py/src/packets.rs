//! Packet-level controllers written in Python: classes that the package has declared, one object for each connection.

use crate::own::{Failure, number};
use crate::packet_views::{AckedList, LostList, PacketStart, PathView, RttView};
use crate::views::SentView;
use fullpipe_cc::packets::{Acked, Event, Lost, PacketControl, Packets, Path, Rtt, Sent};
use fullpipe_cc::params::{Info, Kind, Params};
use fullpipe_cc::{CongestionControl, Nanos, Start};
use fullpipe_sim::catalogue::kept;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyFloat, PyInt, PyString};
use std::fmt::Display;

/// A class, and the optional methods that it has.
pub struct Class {
    kind: Py<PyAny>,
    info: &'static Info,
    shown: Vec<(&'static str, Py<PyString>)>,
    has: Vec<&'static str>,
}

/// Methods that every class has.
const REQUIRED: [&str; 3] = ["window_bytes", "on_packets_acked", "on_packets_lost"];

/// Methods that a class may leave out.
const OPTIONAL: [&str; 16] = [
    "on_start",
    "on_packet_sent",
    "on_ecn_ce",
    "on_spurious_loss",
    "on_pto",
    "on_app_limited",
    "on_restart",
    "on_mtu",
    "on_discarded",
    "on_ack_frequency",
    "pacing_rate_bytes_per_s",
    "send_quantum_bytes",
    "marks_app_limited",
    "ect",
    "ssthresh_bytes",
    "state",
];

/// Names of the methods that every packet-level class has, and of those that it may have.
#[pyfunction]
pub fn packet_methods() -> ([&'static str; REQUIRED.len()], [&'static str; OPTIONAL.len()]) {
    (REQUIRED, OPTIONAL)
}

impl Class {
    /// Class of the algorithm `info`; the series show its fields `shown`.
    pub fn new(kind: &Bound<'_, PyAny>, info: &'static Info, shown: &[String]) -> PyResult<Class> {
        let text = |name: &String| (kept(name), PyString::new(kind.py(), name).unbind());
        let mut has = Vec::new();
        for name in OPTIONAL {
            if kind.getattr_opt(name)?.is_some_and(|method| method.is_callable()) {
                has.push(name);
            }
        }
        Ok(Class { kind: kind.clone().unbind(), info, shown: shown.iter().map(text).collect(), has })
    }

    /// Begins a connection.
    pub fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        match Python::attach(|py| Interpreted::new(py, self, params, start).map_err(Failure::of)) {
            Ok(control) => Box::new(Packets::new(control, &start)),
            Err(failure) => Box::new(failure),
        }
    }
}

/// Object of a connection, and its last answers.
struct Interpreted {
    object: Py<PyAny>,
    on_packets_acked: Py<PyAny>,
    on_packets_lost: Py<PyAny>,
    window_bytes: Py<PyAny>,
    methods: Methods,
    shown: Vec<(&'static str, Py<PyString>)>,
    window: u64,
    pacing_rate: Option<f64>,
    quantum: u64,
    marks_app_limited: bool,
    ssthresh: Option<u64>,
    state: &'static str,
    failure: Option<Failure>,
}

/// Bound optional methods.
#[derive(Default)]
struct Methods {
    on_packet_sent: Option<Py<PyAny>>,
    on_ecn_ce: Option<Py<PyAny>>,
    on_spurious_loss: Option<Py<PyAny>>,
    on_pto: Option<Py<PyAny>>,
    on_app_limited: Option<Py<PyAny>>,
    on_restart: Option<Py<PyAny>>,
    on_mtu: Option<Py<PyAny>>,
    on_discarded: Option<Py<PyAny>>,
    on_ack_frequency: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    quantum: Option<Py<PyAny>>,
    marks_app_limited: Option<Py<PyAny>>,
    ssthresh: Option<Py<PyAny>>,
    state: Option<Py<PyAny>>,
}

impl Interpreted {
    fn new(py: Python, class: &Class, params: &Params, start: Start) -> PyResult<Interpreted> {
        let object = class.kind.bind(py).call0()?;
        for param in class.info.params {
            match param.kind {
                Kind::Number { .. } => object.setattr(param.name, params.number(param.name))?,
                _ => object.setattr(param.name, params.flag(param.name))?,
            }
        }
        if class.has.contains(&"on_start") {
            object.call_method1(intern!(py, "on_start"), (PacketStart::of(start),))?;
        }
        let required = |name: &str| object.getattr(name).map(Bound::unbind);
        let optional = |name: &str| class.has.contains(&name).then(|| required(name)).transpose();
        let methods = Methods {
            on_packet_sent: optional("on_packet_sent")?,
            on_ecn_ce: optional("on_ecn_ce")?,
            on_spurious_loss: optional("on_spurious_loss")?,
            on_pto: optional("on_pto")?,
            on_app_limited: optional("on_app_limited")?,
            on_restart: optional("on_restart")?,
            on_mtu: optional("on_mtu")?,
            on_discarded: optional("on_discarded")?,
            on_ack_frequency: optional("on_ack_frequency")?,
            pacing_rate: optional("pacing_rate_bytes_per_s")?,
            quantum: optional("send_quantum_bytes")?,
            marks_app_limited: optional("marks_app_limited")?,
            ssthresh: optional("ssthresh_bytes")?,
            state: optional("state")?,
        };
        let mut control = Interpreted {
            on_packets_acked: required("on_packets_acked")?,
            on_packets_lost: required("on_packets_lost")?,
            window_bytes: required("window_bytes")?,
            methods,
            shown: class.shown.iter().map(|(name, text)| (*name, text.clone_ref(py))).collect(),
            object: object.unbind(),
            window: u64::from(start.segment_bytes).max(1),
            pacing_rate: None,
            quantum: 0,
            marks_app_limited: false,
            ssthresh: None,
            state: "",
            failure: None,
        };
        control.look(py, "on_start", None)?;
        Ok(control)
    }

    /// Calls `event`, then reads the answers of the object.
    fn call(&mut self, event: &Event, call: impl FnOnce(&Interpreted, Python) -> PyResult<()>) {
        if self.failure.is_some() {
            return;
        }
        let (method, packet) = event.name();
        let outcome = Python::attach(|py| call(self, py).and_then(|()| self.look(py, method, packet)));
        if let Err(error) = outcome {
            self.failure = Some(Failure::of(error));
        }
    }

    fn look(&mut self, py: Python, method: &str, packet: Option<u64>) -> PyResult<()> {
        let answer = self.window_bytes.call0(py)?;
        match whole("window_bytes", answer.bind(py))? {
            Ok(window) => self.window = window,
            Err(window) => {
                let packet = packet.map_or(String::new(), |packet| format!(" (packet {packet})"));
                let what = format!("returned window {window} after {method}{packet}; it must be a number of bytes");
                self.failure = Some(Failure::because(what));
            }
        }
        let Methods { pacing_rate, quantum, marks_app_limited, ssthresh, state, .. } = &self.methods;
        if let Some(read) = pacing_rate {
            let rate = read.call0(py)?;
            self.pacing_rate = if rate.is_none(py) { None } else { Some(rate.extract(py)?) };
        }
        if let Some(read) = quantum {
            self.quantum = bytes("send_quantum_bytes", read.call0(py)?.bind(py))?;
        }
        if let Some(read) = marks_app_limited {
            self.marks_app_limited = read.call0(py)?.is_truthy(py)?;
        }
        if let Some(read) = ssthresh {
            let answer = read.call0(py)?;
            self.ssthresh = if answer.is_none(py) { None } else { Some(bytes("ssthresh_bytes", answer.bind(py))?) };
        }
        if let Some(read) = state {
            self.state = kept(&read.call0(py)?.extract::<PyBackedStr>(py)?);
        }
        Ok(())
    }
}

/// Number of bytes that `method` returned.
fn bytes(method: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole(method, value)?
        .map_err(|number| PyValueError::new_err(format!("{method} must return bytes in [0, 2^63], got {number}")))
}

/// Whole number of bytes, or the text of a number that is none.
fn whole(method: &str, value: &Bound<'_, PyAny>) -> PyResult<Result<u64, String>> {
    if let Ok(number) = value.cast::<PyInt>() {
        return Ok(number.extract::<u64>().map_err(|_| number.to_string()));
    }
    let number = match value.cast::<PyFloat>() {
        Ok(number) => number.value(),
        Err(_) if value.is_none() => {
            return Err(PyTypeError::new_err(format!("{method} must return a number, got None")));
        }
        Err(_) => value.extract::<f64>()?,
    };
    let sound = number >= 0.0 && number < 2f64.powi(63);
    Ok(if sound { Ok(number as u64) } else { Err(number.to_string().to_lowercase()) })
}

impl PacketControl for Interpreted {
    fn window_bytes(&self) -> u64 {
        self.window
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        self.call(&Event::Acked(acked, rtt), |own, py| {
            let arguments = (PathView::from(path), AckedList::from(acked), rtt.map(RttView::from));
            own.on_packets_acked.call1(py, arguments).map(drop)
        });
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        self.call(&Event::Lost(lost, persistent), |own, py| {
            own.on_packets_lost.call1(py, (PathView::from(path), LostList::from(lost), persistent)).map(drop)
        });
    }

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        if self.methods.on_packet_sent.is_none() {
            return;
        }
        self.call(&Event::Sent(sent), |own, py| match &own.methods.on_packet_sent {
            Some(method) => method.call1(py, (PathView::from(path), SentView::of(sent))).map(drop),
            None => Ok(()),
        });
    }

    fn on_ecn_ce(&mut self, path: &Path, count: u64, largest: &Acked) {
        if self.methods.on_ecn_ce.is_none() {
            let marked = Lost { sent: largest.sent, ..Lost::default() };
            return self.on_packets_lost(path, &[marked], false);
        }
        self.call(&Event::EcnCe(count, largest), |own, py| match &own.methods.on_ecn_ce {
            Some(method) => method.call1(py, (PathView::from(path), count, SentView::of(&largest.sent))).map(drop),
            None => Ok(()),
        });
    }

    fn on_spurious_loss(&mut self, path: &Path, arrived: &[Lost], all: bool) {
        self.call(&Event::SpuriousLoss(arrived, all), |own, py| match &own.methods.on_spurious_loss {
            Some(method) => method.call1(py, (PathView::from(path), LostList::from(arrived), all)).map(drop),
            None => Ok(()),
        });
    }

    fn on_pto(&mut self, path: &Path, count: u32) {
        self.call(&Event::Pto(count), |own, py| match &own.methods.on_pto {
            Some(method) => method.call1(py, (PathView::from(path), count)).map(drop),
            None => Ok(()),
        });
    }

    fn on_app_limited(&mut self, path: &Path) {
        self.call(&Event::AppLimited, |own, py| match &own.methods.on_app_limited {
            Some(method) => method.call1(py, (PathView::from(path),)).map(drop),
            None => Ok(()),
        });
    }

    fn on_restart(&mut self, path: &Path) {
        self.call(&Event::Restart, |own, py| match &own.methods.on_restart {
            Some(method) => method.call1(py, (PathView::from(path),)).map(drop),
            None => Ok(()),
        });
    }

    fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
        self.call(&Event::Mtu(max_datagram_bytes), |own, py| match &own.methods.on_mtu {
            Some(method) => method.call1(py, (PathView::from(path), max_datagram_bytes)).map(drop),
            None => Ok(()),
        });
    }

    fn on_discarded(&mut self, path: &Path, bytes: u64) {
        self.call(&Event::Discarded(bytes), |own, py| match &own.methods.on_discarded {
            Some(method) => method.call1(py, (PathView::from(path), bytes)).map(drop),
            None => Ok(()),
        });
    }

    fn on_ack_frequency(&mut self, path: &Path, threshold: u64, max_ack_delay: Nanos) {
        let event = Event::AckFrequency(threshold, max_ack_delay);
        self.call(&event, |own, py| match &own.methods.on_ack_frequency {
            Some(method) => method.call1(py, (PathView::from(path), threshold, max_ack_delay)).map(drop),
            None => Ok(()),
        });
    }

    fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn send_quantum_bytes(&self) -> u64 {
        self.quantum
    }

    fn marks_app_limited(&self) -> bool {
        self.marks_app_limited
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh
    }

    fn state(&self) -> &'static str {
        self.state
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.failure.as_ref().map(|failure| failure.text() as &dyn Display)
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        Python::attach(|py| {
            for (name, text) in &self.shown {
                visit(name, number(self.object.bind(py), text.bind(py)).unwrap_or(f64::NAN));
            }
        });
    }
}
