//! Arguments of packet-level controllers written in Python: bytes and nanoseconds, unknown values as None.

use crate::views::LostView;
use fullpipe_cc::Start;
use fullpipe_cc::packets::{Acked, Lost, Path, RateSample, Rtt, Sent};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Declares a read-only view of a struct whose fields it copies.
macro_rules! view {
    ($(#[$doc:meta])* $view:ident($name:literal) of $source:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, name = $name, module = "fullpipe._core")]
        pub struct $view { $($field: $kind,)+ }

        impl From<&$source> for $view {
            fn from(source: &$source) -> $view {
                $view { $($field: source.$field,)+ }
            }
        }
    };
}

view! {
    /// State of a sender after an event.
    PathView("Path") of Path {
        now: u64,
        in_flight: u64,
        prior_in_flight: u64,
        delivered: u64,
        lost: u64,
        spurious: u64,
        sent: u64,
        ce: u64,
        delivered_at: u64,
        first_sent_at: u64,
        latest_rtt: Option<u64>,
        smoothed_rtt: Option<u64>,
        rttvar: Option<u64>,
        min_rtt: Option<u64>,
        max_ack_delay: u64,
        pto: u64,
        next_packet: u64,
        round: u64,
        in_recovery: bool,
        cwnd_limited: bool,
        app_limited: bool,
        datagram: u64,
    }
}

view! {
    /// Delivery rate that the newest packet of an ACK shows.
    RateView("RateSample") of RateSample {
        delivered: u64,
        interval: u64,
        prior_delivered: u64,
        tx_in_flight: u64,
        lost: u64,
        is_app_limited: bool,
    }
}

/// RTT sample of an ACK.
#[pyclass(frozen, get_all, name = "Rtt", module = "fullpipe._core")]
pub struct RttView {
    sample: u64,
    adjusted: u64,
    ack_delay: u64,
    packet: u64,
}

impl From<Rtt> for RttView {
    fn from(rtt: Rtt) -> RttView {
        let Rtt { sample, adjusted, ack_delay, packet } = rtt;
        RttView { sample, adjusted, ack_delay, packet }
    }
}

/// Start of a connection.
#[pyclass(frozen, get_all, name = "PacketStart", module = "fullpipe._core")]
pub struct PacketStart {
    initial_window: u64,
    datagram: u64,
    seed: u64,
    initial_rtt: Option<u64>,
}

impl PacketStart {
    /// Start in bytes and nanoseconds.
    pub fn of(start: Start) -> PacketStart {
        let datagram = u64::from(start.segment_bytes);
        let initial_window = (start.window * datagram as f64) as u64;
        PacketStart { initial_window, datagram, seed: start.seed, initial_rtt: start.rtt }
    }
}

/// Acknowledged packet.
#[pyclass(frozen, name = "Acked", module = "fullpipe._core")]
pub struct AckedView(Acked);

impl AckedView {
    fn of(packet: &Acked) -> AckedView {
        AckedView(*packet)
    }
}

macro_rules! sent_getters {
    ($view:ident: $($field:ident: $kind:ty),+) => {
        #[pymethods]
        impl $view {
            $(#[getter]
            fn $field(&self) -> $kind {
                self.0.sent.$field
            })+

            /// Time at which the ACK arrived.
            #[getter]
            fn acked_at(&self) -> u64 {
                self.0.acked_at
            }

            /// Rate sample; None except for the newest packet of the ACK.
            #[getter]
            fn rate(&self) -> Option<RateView> {
                self.0.rate.as_ref().map(RateView::from)
            }
        }
    };
}

sent_getters! { AckedView:
    number: u64, bytes: u64, sent_at: u64, in_flight: u64, delivered: u64, lost: u64, delivered_at: u64, first_sent_at: u64,
    app_limited: bool, is_probe: bool, ecn: u8
}

/// Column of a list of packets as a NumPy array of whole numbers.
fn column<'py>(py: Python<'py>, packets: impl Iterator<Item = u64>) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = packets.flat_map(u64::to_ne_bytes).collect();
    py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), "uint64"))
}

/// Place of item `index` of a list of `count`, from the end if it is negative.
fn place(index: isize, count: usize) -> PyResult<usize> {
    let place = if index < 0 { index + count as isize } else { index };
    usize::try_from(place).ok().filter(|&place| place < count).ok_or_else(|| PyIndexError::new_err("no such packet"))
}

/// Declares a read-only list of packets.
macro_rules! list {
    ($(#[$doc:meta])* $list:ident($name:literal) of $item:ident as $view:ident by $show:expr) => {
        $(#[$doc])*
        #[pyclass(frozen, sequence, name = $name, module = "fullpipe._core")]
        pub struct $list(Vec<$item>);

        impl From<&[$item]> for $list {
            fn from(packets: &[$item]) -> $list {
                $list(packets.to_vec())
            }
        }

        impl $list {
            fn sent(&self) -> impl Iterator<Item = &Sent> {
                self.0.iter().map(|packet| &packet.sent)
            }
        }

        #[pymethods]
        impl $list {
            fn __len__(&self) -> usize {
                self.0.len()
            }

            fn __getitem__(&self, index: isize) -> PyResult<$view> {
                Ok($show(&self.0[place(index, self.0.len())?]))
            }

            /// Sum of the sizes.
            #[getter]
            fn bytes_total(&self) -> u64 {
                self.sent().map(|sent| sent.bytes).sum()
            }

            /// Largest packet number; None for an empty list.
            #[getter]
            fn number_max(&self) -> Option<u64> {
                self.sent().map(|sent| sent.number).max()
            }

            /// Packet numbers, a NumPy array.
            #[getter]
            fn number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                column(py, self.sent().map(|sent| sent.number))
            }

            /// Sizes, a NumPy array.
            #[getter]
            fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                column(py, self.sent().map(|sent| sent.bytes))
            }

            /// Times of sending, a NumPy array.
            #[getter]
            fn sent_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                column(py, self.sent().map(|sent| sent.sent_at))
            }
        }
    };
}

list! {
    /// Packets that an ACK newly acknowledges, in the order of their numbers.
    AckedList("AckedList") of Acked as AckedView by AckedView::of
}

list! {
    /// Packets found lost together, in the order of their numbers.
    LostList("LostList") of Lost as LostView by LostView::of
}
