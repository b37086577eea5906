//! Packet-level controllers in shared libraries: version 2 of `include/fullpipe.h`.

use crate::own::Failure;
use fullpipe_abi::{ABI, CAcked, CPath, Library, NONE, NOT_A_RATE, State, Table};
use fullpipe_cc::packets::{Acked, Event, Lost, PacketControl, Packets, Path, Rtt, Sent};
use fullpipe_cc::params::{Group, Info, Kind, Params, Value};
use fullpipe_cc::{CongestionControl, Nanos, Start};
use fullpipe_sim::catalogue::{Definition, Parameter, kept};
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Display;

/// Internals of a controller that the series can have.
const MOST_SHOWN: usize = 64;

/// Datagram of a controller that no connection has, in bytes (RFC 9000 section 14).
const DATAGRAM: u64 = 1252;

/// Controller of a library.
pub struct Class {
    table: Table,
    info: &'static Info,
}

/// Controllers of the library whose table is at `address`.
///
/// # Errors
/// Fault of the table.
///
/// # Safety
/// `address` is what `fullpipe_library` of a loaded library returned, and the library is never unloaded.
pub unsafe fn controls(address: usize) -> Result<Vec<Class>, String> {
    // SAFETY: the caller's.
    let Some(library) = (unsafe { (address as *const Library).as_ref() }) else {
        return Err("fullpipe_library returns NULL".to_owned());
    };
    if library.abi != ABI {
        return Err(format!("fullpipe_library must have abi {ABI}, got {}", library.abi));
    }
    if library.controls.is_null() || library.count == 0 {
        return Err("fullpipe_library has no controllers".to_owned());
    }
    // SAFETY: the caller's obligation. The first table has the size of each.
    let size = unsafe { (*library.controls).size };
    let controls = (0..library.count as usize).map(|index| {
        // SAFETY: as above.
        unsafe { Class::read(library.controls.byte_add(index * size).cast(), size) }
    });
    controls.collect()
}

/// Text of a library.
unsafe fn text(at: *const c_char) -> Option<&'static str> {
    // SAFETY: the library's text lives as long as the library.
    if at.is_null() { None } else { unsafe { CStr::from_ptr(at) }.to_str().ok() }
}

/// ECN codepoint that a controller asks for, with default parameters.
///
/// # Safety
/// The functions are of a loaded library.
unsafe fn codepoint(table: &Table, name: &str, params: &[Parameter]) -> Result<Option<u8>, String> {
    let (Some(ect), Some(create), Some(destroy)) = (table.ect, table.create, table.destroy) else { return Ok(None) };
    let defaults = params.iter().map(|param| match param.default {
        Value::Number(default) => default,
        _ => f64::NAN,
    });
    let values: Vec<f64> = defaults.collect();
    let start = fullpipe_abi::Start {
        size: size_of::<fullpipe_abi::Start>() as u64,
        initial_window: 10 * DATAGRAM,
        datagram: DATAGRAM,
        seed: 0,
        initial_rtt_ns: NONE,
        now_ns: 0,
    };
    // SAFETY: the caller's; the arguments outlive the calls.
    let found = unsafe {
        let state = create(&start, values.as_ptr());
        if state.is_null() {
            return Ok(None); // each run reports it
        }
        let found = ect(state);
        destroy(state);
        found
    };
    match found {
        -1 => Ok(None),
        0 | 1 => Ok(Some(found as u8)),
        _ => Err(format!("ect of controller {name:?} must return -1, 0, or 1, got {found}")),
    }
}

impl Class {
    unsafe fn read(at: *const u8, size: usize) -> Result<Class, String> {
        if size < std::mem::offset_of!(Table, pacing_rate) {
            return Err(format!("the size of a controller is too small, got {size}"));
        }
        let mut table = std::mem::MaybeUninit::<Table>::zeroed();
        // SAFETY: the table has `size` bytes, and zero is valid for each member.
        let table = unsafe {
            std::ptr::copy_nonoverlapping(at, table.as_mut_ptr().cast::<u8>(), size.min(size_of::<Table>()));
            table.assume_init()
        };
        // SAFETY: see `text`.
        let name = unsafe { text(table.name) }.ok_or("a controller has no name")?;
        let required = [
            ("create", table.create.is_some()),
            ("destroy", table.destroy.is_some()),
            ("acked", table.acked.is_some()),
            ("lost", table.lost.is_some()),
            ("window", table.window.is_some()),
        ];
        if let Some((member, _)) = required.iter().find(|(_, is_there)| !is_there) {
            return Err(format!("controller {name:?} has no {member}"));
        }
        let params = (0..table.n_params).map(|index| {
            // SAFETY: the library has `n_params` parameters.
            let param = unsafe { &*table.params.add(index) };
            // SAFETY: see `text`.
            let (name, unit) = unsafe { (text(param.name).unwrap_or(""), text(param.unit).unwrap_or("1")) };
            Parameter {
                name: name.to_owned(),
                unit: unit.to_owned(),
                kind: Kind::Number { min: param.minimum, max: param.maximum },
                default: Value::Number(param.default),
                doc: "A parameter of the library.".to_owned(),
                source: "the library".to_owned(),
            }
        });
        let params: Vec<Parameter> = params.collect();
        // SAFETY: the caller's.
        let ecn = unsafe { codepoint(&table, name, &params) }?.map(|ect| ("accurate".to_owned(), ect));
        let definition = Definition {
            name: name.to_owned(),
            paper: "a shared library".to_owned(),
            group: Group::Loss,
            recovery: "rack".to_owned(),
            own_slow_start: true,
            ecn,
            params,
        };
        Ok(Class { table, info: definition.kept() })
    }

    /// Registry entry.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// Begins a connection.
    pub fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        let values: Vec<f64> = self.info.params.iter().map(|param| params.number(param.name)).collect();
        let datagram = u64::from(start.segment_bytes);
        let begin = fullpipe_abi::Start {
            size: size_of::<fullpipe_abi::Start>() as u64,
            initial_window: (start.window * datagram as f64) as u64,
            datagram,
            seed: start.seed,
            initial_rtt_ns: start.rtt.unwrap_or(NONE),
            now_ns: 0,
        };
        // SAFETY: a function of the library, with arguments that outlive the call.
        let state = self.table.create.map(|create| unsafe { create(&begin, values.as_ptr()) });
        match state.filter(|state| !state.is_null()) {
            Some(state) => Box::new(Packets::new(Native { table: self.table, state, failed: None }, &start)),
            None => Box::new(Failure::because("create returned NULL".to_owned())),
        }
    }
}

/// State of a connection.
struct Native {
    table: Table,
    state: State,
    failed: Option<String>,
}

// SAFETY: one thread at a time has the state; the table is constant.
unsafe impl Send for Native {}

impl Native {
    /// Calls a function of the library, unless one has failed.
    fn call(&mut self, event: &Event, call: impl FnOnce(&Table, State) -> c_int) {
        if self.failed.is_none() {
            let code = call(&self.table, self.state);
            if code != 0 {
                self.failed = Some(format!("{} of the library returned {code}", event.name().0));
            }
        }
    }
}

// In each call below: a function of the library, called with its state and with arguments that outlive the call.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one argument for all, above")]
impl PacketControl for Native {
    fn window_bytes(&self) -> u64 {
        self.table.window.map_or(0, |window| unsafe { window(self.state) })
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        let packets: Vec<CAcked> = acked.iter().map(CAcked::from).collect();
        let rtt_at = rtt.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.call(&Event::Acked(acked, rtt), |table, state| match table.acked {
            Some(call) => unsafe { call(state, &CPath::from(path), packets.as_ptr(), packets.len(), rtt_at) },
            None => 0,
        });
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        self.call(&Event::Lost(lost, persistent), |table, state| match table.lost {
            Some(call) => unsafe { call(state, &CPath::from(path), lost.as_ptr(), lost.len(), persistent.into()) },
            None => 0,
        });
    }

    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        self.call(&Event::Sent(sent), |table, state| match table.sent {
            Some(call) => unsafe { call(state, &CPath::from(path), sent) },
            None => 0,
        });
    }

    fn on_ecn_ce(&mut self, path: &Path, count: u64, largest: &Acked) {
        if self.table.ecn_ce.is_none() {
            let marked = Lost { sent: largest.sent, ..Lost::default() };
            return self.on_packets_lost(path, &[marked], false);
        }
        self.call(&Event::EcnCe(count, largest), |table, state| match table.ecn_ce {
            Some(call) => unsafe { call(state, &CPath::from(path), count, &CAcked::from(largest)) },
            None => 0,
        });
    }

    fn on_spurious_loss(&mut self, path: &Path, arrived: &[Lost], all: bool) {
        self.call(&Event::SpuriousLoss(arrived, all), |table, state| match table.spurious {
            Some(call) => unsafe { call(state, &CPath::from(path), arrived.as_ptr(), arrived.len(), all.into()) },
            None => 0,
        });
    }

    fn on_pto(&mut self, path: &Path, count: u32) {
        self.call(&Event::Pto(count), |table, state| match table.pto {
            Some(call) => unsafe { call(state, &CPath::from(path), count) },
            None => 0,
        });
    }

    fn on_app_limited(&mut self, path: &Path) {
        self.call(&Event::AppLimited, |table, state| match table.app_limited {
            Some(call) => unsafe { call(state, &CPath::from(path)) },
            None => 0,
        });
    }

    fn on_restart(&mut self, path: &Path) {
        self.call(&Event::Restart, |table, state| match table.restart {
            Some(call) => unsafe { call(state, &CPath::from(path)) },
            None => 0,
        });
    }

    fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
        self.call(&Event::Mtu(max_datagram_bytes), |table, state| match table.mtu {
            Some(call) => unsafe { call(state, &CPath::from(path), max_datagram_bytes) },
            None => 0,
        });
    }

    fn on_discarded(&mut self, path: &Path, bytes: u64) {
        self.call(&Event::Discarded(bytes), |table, state| match table.discarded {
            Some(call) => unsafe { call(state, &CPath::from(path), bytes) },
            None => 0,
        });
    }

    fn on_ack_frequency(&mut self, path: &Path, threshold: u64, max_ack_delay: Nanos) {
        let event = Event::AckFrequency(threshold, max_ack_delay);
        self.call(&event, |table, state| match table.ack_frequency {
            Some(call) => unsafe { call(state, &CPath::from(path), threshold, max_ack_delay) },
            None => 0,
        });
    }

    fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
        let rate = unsafe { self.table.pacing_rate?(self.state) };
        Some(if rate == NOT_A_RATE { f64::NAN } else { rate }).filter(|_| !rate.is_nan())
    }

    fn send_quantum_bytes(&self) -> u64 {
        self.table.send_quantum.map_or(0, |quantum| unsafe { quantum(self.state) })
    }

    fn marks_app_limited(&self) -> bool {
        self.table.marks_app_limited.is_some_and(|marks| unsafe { marks(self.state) } != 0)
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        let bytes = unsafe { self.table.ssthresh?(self.state) };
        Some(bytes).filter(|&bytes| bytes != NONE)
    }

    fn state(&self) -> &'static str {
        let name = self.table.state_name.and_then(|name| unsafe { text(name(self.state)) });
        name.map_or("", kept)
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.failed.as_ref().map(|failed| failed as &dyn Display)
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let Some(inspect) = self.table.inspect else { return };
        let (mut names, mut values) = ([std::ptr::null(); MOST_SHOWN], [f64::NAN; MOST_SHOWN]);
        let count = unsafe { inspect(self.state, names.as_mut_ptr(), values.as_mut_ptr(), MOST_SHOWN) };
        for (&name, &value) in names.iter().zip(&values).take(count) {
            if let Some(name) = unsafe { text(name) } {
                visit(kept(name), value);
            }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the state is used no more.
            unsafe { destroy(self.state) };
        }
    }
}
