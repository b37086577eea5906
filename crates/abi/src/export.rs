//! Table of functions of a controller written in Rust.

use crate::{CAcked, CPath, NONE, NOT_A_RATE, Param, Start, State, Table};
use fullpipe_cc::packets::{Acked, Lost, PacketControl, Path, Rtt, Sent};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

/// Controller that a library exports.
pub trait Controller: PacketControl + Sized {
    /// Name in scenarios.
    const NAME: &'static CStr;

    /// Parameters that a scenario can set.
    const PARAMS: &'static [Param] = &[];

    /// Controller of a connection. `params` has a value for each of [`PARAMS`](Self::PARAMS), in this order.
    fn create(start: &Start, params: &[f64]) -> Self;
}

/// Functions of a controller, for [`export!`](crate::export). A panic ends the process of the run with a message.
pub const fn table<C: Controller>() -> Table {
    Table {
        size: size_of::<Table>(),
        name: C::NAME.as_ptr(),
        params: C::PARAMS.as_ptr(),
        n_params: C::PARAMS.len(),
        create: Some(create::<C>),
        destroy: Some(destroy::<C>),
        sent: Some(sent::<C>),
        acked: Some(acked::<C>),
        lost: Some(lost::<C>),
        ecn_ce: Some(ecn_ce::<C>),
        spurious: Some(spurious::<C>),
        pto: Some(pto::<C>),
        app_limited: Some(app_limited::<C>),
        restart: Some(restart::<C>),
        ack_frequency: Some(ack_frequency::<C>),
        window: Some(window::<C>),
        pacing_rate: Some(pacing_rate::<C>),
        send_quantum: Some(send_quantum::<C>),
        ssthresh: Some(ssthresh::<C>),
        state_name: Some(state_name::<C>),
        inspect: Some(inspect::<C>),
        marks_app_limited: Some(marks_app_limited::<C>),
        mtu: Some(mtu::<C>),
        discarded: Some(discarded::<C>),
        ect: Some(ect::<C>),
    }
}

/// Controller behind a state.
///
/// # Safety
/// `state` comes from `create::<C>`, and no other reference to it exists.
unsafe fn control<'a, C>(state: State) -> &'a mut C {
    // SAFETY: the caller's.
    unsafe { &mut *state.cast::<C>() }
}

/// Items of an array in C, of which `at` is the first.
///
/// # Safety
/// The array has `count` items.
unsafe fn items<'a, T>(at: *const T, count: usize) -> &'a [T] {
    // SAFETY: the caller's.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, count) } }
}

/// Calls an event of the controller. Returns 1 where it cannot go on.
///
/// # Safety
/// As for [`control`]; `path` is valid.
unsafe fn event<C: Controller>(state: State, path: *const CPath, call: impl FnOnce(&mut C, &Path)) -> c_int {
    // SAFETY: the caller's.
    let (control, path) = unsafe { (control::<C>(state), Path::from(&*path)) };
    call(control, &path);
    c_int::from(control.fault().is_some())
}

unsafe extern "C" fn create<C: Controller>(start: *const Start, params: *const f64) -> State {
    // SAFETY: the program passes a start, and a value for each parameter.
    let (start, params) = unsafe { (&*start, items(params, C::PARAMS.len())) };
    Box::into_raw(Box::new(C::create(start, params))).cast()
}

unsafe extern "C" fn destroy<C: Controller>(state: State) {
    // SAFETY: the state comes from `create`, and the program uses it no more.
    drop(unsafe { Box::from_raw(state.cast::<C>()) });
}

// In each function below: the program passes a state of this controller, and arguments that outlive the call.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one argument for all, above")]
mod events {
    use super::*;

    pub unsafe extern "C" fn sent<C: Controller>(state: State, path: *const CPath, sent: *const Sent) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_packet_sent(path, &*sent)) }
    }

    pub unsafe extern "C" fn acked<C: Controller>(
        state: State,
        path: *const CPath,
        acked: *const CAcked,
        count: usize,
        rtt: *const Rtt,
    ) -> c_int {
        let packets: Vec<Acked> = unsafe { items(acked, count) }.iter().map(Acked::from).collect();
        let rtt = unsafe { rtt.as_ref() }.copied();
        unsafe { event::<C>(state, path, |control, path| control.on_packets_acked(path, &packets, rtt)) }
    }

    pub unsafe extern "C" fn lost<C: Controller>(
        state: State,
        path: *const CPath,
        lost: *const Lost,
        count: usize,
        persistent: c_int,
    ) -> c_int {
        let lost = unsafe { items(lost, count) };
        unsafe { event::<C>(state, path, |control, path| control.on_packets_lost(path, lost, persistent != 0)) }
    }

    pub unsafe extern "C" fn ecn_ce<C: Controller>(
        state: State,
        path: *const CPath,
        count: u64,
        largest: *const CAcked,
    ) -> c_int {
        let largest = unsafe { Acked::from(&*largest) };
        unsafe { event::<C>(state, path, |control, path| control.on_ecn_ce(path, count, &largest)) }
    }

    pub unsafe extern "C" fn spurious<C: Controller>(
        state: State,
        path: *const CPath,
        arrived: *const Lost,
        count: usize,
        all: c_int,
    ) -> c_int {
        let arrived = unsafe { items(arrived, count) };
        unsafe { event::<C>(state, path, |control, path| control.on_spurious_loss(path, arrived, all != 0)) }
    }

    pub unsafe extern "C" fn pto<C: Controller>(state: State, path: *const CPath, count: u32) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_pto(path, count)) }
    }

    pub unsafe extern "C" fn app_limited<C: Controller>(state: State, path: *const CPath) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_app_limited(path)) }
    }

    pub unsafe extern "C" fn restart<C: Controller>(state: State, path: *const CPath) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_restart(path)) }
    }

    pub unsafe extern "C" fn mtu<C: Controller>(state: State, path: *const CPath, datagram: u64) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_mtu(path, datagram)) }
    }

    pub unsafe extern "C" fn discarded<C: Controller>(state: State, path: *const CPath, bytes: u64) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_discarded(path, bytes)) }
    }

    pub unsafe extern "C" fn ack_frequency<C: Controller>(
        state: State,
        path: *const CPath,
        threshold: u64,
        delay: u64,
    ) -> c_int {
        unsafe { event::<C>(state, path, |control, path| control.on_ack_frequency(path, threshold, delay)) }
    }

    pub unsafe extern "C" fn window<C: Controller>(state: State) -> u64 {
        unsafe { control::<C>(state) }.window_bytes()
    }

    pub unsafe extern "C" fn pacing_rate<C: Controller>(state: State) -> f64 {
        let rate = unsafe { control::<C>(state) }.pacing_rate_bytes_per_s();
        rate.map_or(f64::NAN, |rate| if rate.is_nan() { NOT_A_RATE } else { rate })
    }

    pub unsafe extern "C" fn send_quantum<C: Controller>(state: State) -> u64 {
        unsafe { control::<C>(state) }.send_quantum_bytes()
    }

    pub unsafe extern "C" fn ssthresh<C: Controller>(state: State) -> u64 {
        unsafe { control::<C>(state) }.ssthresh_bytes().unwrap_or(NONE)
    }

    pub unsafe extern "C" fn state_name<C: Controller>(state: State) -> *const c_char {
        text(unsafe { control::<C>(state) }.state())
    }

    pub unsafe extern "C" fn inspect<C: Controller>(
        state: State,
        names: *mut *const c_char,
        values: *mut f64,
        capacity: usize,
    ) -> usize {
        let mut count = 0;
        unsafe { control::<C>(state) }.inspect(&mut |name, value| {
            if count < capacity {
                unsafe { (names.add(count).write(text(name)), values.add(count).write(value)) };
                count += 1;
            }
        });
        count
    }

    pub unsafe extern "C" fn marks_app_limited<C: Controller>(state: State) -> c_int {
        unsafe { control::<C>(state) }.marks_app_limited().into()
    }

    pub unsafe extern "C" fn ect<C: Controller>(state: State) -> c_int {
        unsafe { control::<C>(state) }.ect().map_or(-1, c_int::from)
    }
}

use events::*;

/// Text for C, which lives as long as the library. Controllers have a few names.
fn text(name: &'static str) -> *const c_char {
    static KEPT: Mutex<BTreeMap<&'static str, CString>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(name).or_insert_with(|| CString::new(name).unwrap_or_default()).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;
    use std::ptr::null;

    struct Counting {
        window: u64,
        calls: u64,
    }

    impl PacketControl for Counting {
        fn window_bytes(&self) -> u64 {
            self.window
        }
        fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
            self.window += acked.len() as u64 * path.datagram + rtt.map_or(0, |rtt| rtt.sample);
        }
        fn on_packets_lost(&mut self, _: &Path, lost: &[Lost], persistent: bool) {
            self.window -= lost.len() as u64 + u64::from(persistent);
        }
        fn on_pto(&mut self, _: &Path, count: u32) {
            self.calls += u64::from(count);
        }
        fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
            self.window = 2 * max_datagram_bytes + path.now;
        }
        fn on_discarded(&mut self, path: &Path, bytes: u64) {
            self.window += 10 * bytes + path.now;
        }
        fn ect(&self) -> Option<u8> {
            (self.calls > 0).then_some(1)
        }
        fn state(&self) -> &'static str {
            "Drain"
        }
        fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
            visit("calls", self.calls as f64);
            visit("more", 1.0);
        }
    }

    impl Controller for Counting {
        const NAME: &'static CStr = c"counting";
        const PARAMS: &'static [Param] = &[Param::number(c"packets", 10.0, 1.0, 100.0)];
        fn create(start: &Start, params: &[f64]) -> Counting {
            Counting { window: params[0] as u64 * start.datagram, calls: 0 }
        }
    }

    /// Events in C reach the controller, and its answers come back.
    #[test]
    fn functions_of_the_table_call_the_controller() {
        static TABLES: &[Table] = &[table::<Counting>()];
        let library = Library::of(TABLES);
        assert_eq!((library.abi, library.count), (2, 1));
        let table = TABLES[0];
        let start = Start {
            size: size_of::<Start>() as u64,
            initial_window: 0,
            datagram: 1000,
            seed: 0,
            initial_rtt_ns: NONE,
            now_ns: 0,
        };
        let mut path = Path::default();
        path.datagram = 1000;
        let path = CPath::from(&path);
        let acked = [CAcked::from(&Acked::default()); 2];
        let rtt = Rtt { sample: 7, ..Rtt::default() };
        let (mut names, mut values) = ([null(); 1], [0.0]);
        // SAFETY: the functions of one table, with a state that it created.
        unsafe {
            let state = table.create.unwrap()(&start, [4.0].as_ptr());
            assert_eq!(table.window.unwrap()(state), 4000);
            assert_eq!(table.acked.unwrap()(state, &path, acked.as_ptr(), 2, &rtt), 0);
            assert_eq!(table.acked.unwrap()(state, &path, acked.as_ptr(), 1, null()), 0);
            assert_eq!(table.window.unwrap()(state), 7007);
            assert_eq!(table.lost.unwrap()(state, &path, &Lost::default(), 1, 1), 0);
            assert_eq!(table.window.unwrap()(state), 7005);
            assert_eq!(table.ecn_ce.unwrap()(state, &path, 3, &acked[0]), 0);
            assert_eq!(table.window.unwrap()(state), 7004, "a mark is a loss by default");
            assert_eq!(table.ect.unwrap()(state), -1);
            assert_eq!(table.pto.unwrap()(state, &path, 5), 0);
            assert_eq!(table.ect.unwrap()(state), 1);
            assert_eq!(table.mtu.unwrap()(state, &path, 900), 0);
            assert_eq!(table.discarded.unwrap()(state, &path, 7), 0);
            assert_eq!(table.window.unwrap()(state), 1870);
            assert_eq!(table.inspect.unwrap()(state, names.as_mut_ptr(), values.as_mut_ptr(), 1), 1);
            assert_eq!((CStr::from_ptr(names[0]), values[0]), (c"calls", 5.0));
            assert_eq!(CStr::from_ptr(table.state_name.unwrap()(state)), c"Drain");
            assert!(table.pacing_rate.unwrap()(state).is_nan());
            table.destroy.unwrap()(state);
        }
    }
}
