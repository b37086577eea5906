//! C interface of packet-level controllers: version 2 of `fullpipe.h`, as types of Rust.
//!
//! A crate of type `cdylib` implements [`PacketControl`](packets::PacketControl) and [`Controller`], and names its controllers in
//! [`export!`]. Every command of fullpipe then takes the library, for example `--algorithms ./libmine.so`.

/// The example of the page that package indexes show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod acked_first;
mod export;
mod records;

pub use acked_first::AckedFirst;
pub use export::{Controller, table};
pub use fullpipe_cc::packets;
pub use records::{CAcked, CPath};

use fullpipe_cc::packets::{Lost, Rtt, Sent};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

/// Version of the interface: `FULLPIPE_ABI`.
pub const ABI: u32 = 2;

/// Unknown time.
pub const NONE: u64 = u64::MAX;
/// Pacing rate of a controller whose own is NaN, which means none here. It is refused.
pub const NOT_A_RATE: f64 = f64::NEG_INFINITY;

/// State of a connection.
pub type State = *mut c_void;

/// Function that takes the state of a connection and of its sender.
pub type OnPath = unsafe extern "C" fn(State, *const CPath) -> c_int;

/// Function that also takes a number of bytes.
pub type OnBytes = unsafe extern "C" fn(State, *const CPath, u64) -> c_int;

/// How a connection begins: `struct fullpipe_packet_start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Start {
    /// Bytes of this structure.
    pub size: u64,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Largest packet in bytes.
    pub datagram: u64,
    /// Seed of random choices.
    pub seed: u64,
    /// RTT of the handshake in nanoseconds; [`NONE`] without one.
    pub initial_rtt_ns: u64,
    /// Time in nanoseconds.
    pub now_ns: u64,
}

/// Parameter that a scenario can set: `struct fullpipe_param`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Param {
    /// Name.
    pub name: *const c_char,
    /// Default.
    pub default: f64,
    /// Smallest value.
    pub minimum: f64,
    /// Largest value.
    pub maximum: f64,
    /// Unit; null for none.
    pub unit: *const c_char,
}

// SAFETY: the text is constant.
unsafe impl Sync for Param {}

impl Param {
    /// Number without a unit.
    pub const fn number(name: &'static CStr, default: f64, minimum: f64, maximum: f64) -> Param {
        Param { name: name.as_ptr(), default, minimum, maximum, unit: null() }
    }

    /// Parameter with a unit.
    #[must_use]
    pub const fn unit(self, unit: &'static CStr) -> Param {
        Param { unit: unit.as_ptr(), ..self }
    }
}

/// Functions of a controller: `struct fullpipe_packet_control`. Functions return 0, or another number where the controller cannot go on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "fullpipe.h describes each member")]
pub struct Table {
    pub size: usize,
    pub name: *const c_char,
    pub params: *const Param,
    pub n_params: usize,
    pub create: Option<unsafe extern "C" fn(*const Start, *const f64) -> State>,
    pub destroy: Option<unsafe extern "C" fn(State)>,
    pub sent: Option<unsafe extern "C" fn(State, *const CPath, *const Sent) -> c_int>,
    pub acked: Option<unsafe extern "C" fn(State, *const CPath, *const CAcked, usize, *const Rtt) -> c_int>,
    pub lost: Option<unsafe extern "C" fn(State, *const CPath, *const Lost, usize, c_int) -> c_int>,
    pub ecn_ce: Option<unsafe extern "C" fn(State, *const CPath, u64, *const CAcked) -> c_int>,
    pub spurious: Option<unsafe extern "C" fn(State, *const CPath, *const Lost, usize, c_int) -> c_int>,
    pub pto: Option<unsafe extern "C" fn(State, *const CPath, u32) -> c_int>,
    pub app_limited: Option<OnPath>,
    pub restart: Option<OnPath>,
    pub ack_frequency: Option<unsafe extern "C" fn(State, *const CPath, u64, u64) -> c_int>,
    pub window: Option<unsafe extern "C" fn(State) -> u64>,
    pub pacing_rate: Option<unsafe extern "C" fn(State) -> f64>,
    pub send_quantum: Option<unsafe extern "C" fn(State) -> u64>,
    pub ssthresh: Option<unsafe extern "C" fn(State) -> u64>,
    pub state_name: Option<unsafe extern "C" fn(State) -> *const c_char>,
    pub inspect: Option<unsafe extern "C" fn(State, *mut *const c_char, *mut f64, usize) -> usize>,
    pub marks_app_limited: Option<unsafe extern "C" fn(State) -> c_int>,
    pub mtu: Option<OnBytes>,
    pub discarded: Option<OnBytes>,
    pub ect: Option<unsafe extern "C" fn(State) -> c_int>,
}

// SAFETY: a table has functions and constant text.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

/// Controllers of a library: `struct fullpipe_library`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Library {
    /// Version of the interface.
    pub abi: u32,
    /// Number of controllers.
    pub count: u32,
    /// First controller.
    pub controls: *const Table,
}

// SAFETY: the tables are constant.
unsafe impl Sync for Library {}

impl Library {
    /// Library of these controllers.
    pub const fn of(tables: &'static [Table]) -> Library {
        Library { abi: ABI, count: tables.len() as u32, controls: tables.as_ptr() }
    }
}

/// Exports controllers ([`Controller`]) from a crate of type `cdylib`, by the function `fullpipe_library`.
#[macro_export]
macro_rules! export {
    ($($control:ty),+ $(,)?) => {
        /// Controllers of this library.
        #[unsafe(no_mangle)]
        pub extern "C" fn fullpipe_library() -> *const $crate::Library {
            static TABLES: &[$crate::Table] = &[$($crate::table::<$control>()),+];
            static LIBRARY: $crate::Library = $crate::Library::of(TABLES);
            &LIBRARY
        }
    };
}

/// Methods of [`PacketControl`](packets::PacketControl) that only read the controller, for one that wraps another in its field `$control`.
#[macro_export]
macro_rules! answers_of {
    ($control:ident) => {
        fn window_bytes(&self) -> u64 {
            self.$control.window_bytes()
        }

        fn pacing_rate_bytes_per_s(&self) -> Option<f64> {
            self.$control.pacing_rate_bytes_per_s()
        }

        fn send_quantum_bytes(&self) -> u64 {
            self.$control.send_quantum_bytes()
        }

        fn marks_app_limited(&self) -> bool {
            self.$control.marks_app_limited()
        }

        fn ect(&self) -> Option<u8> {
            self.$control.ect()
        }

        fn ssthresh_bytes(&self) -> Option<u64> {
            self.$control.ssthresh_bytes()
        }

        fn state(&self) -> &'static str {
            self.$control.state()
        }

        fn fault(&self) -> Option<&dyn std::fmt::Display> {
            self.$control.fault()
        }

        fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
            self.$control.inspect(visit);
        }
    };
}
