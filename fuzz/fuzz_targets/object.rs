//! Any bytes, taken for an object file: refused in one line, or run, or stopped in one line.
#![no_main]

use fullpipe_cc::{Ack, CongestionControl, Flow, Signal, Start};
use fullpipe_kernel::{Program, begin};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|file: &[u8]| {
    match Program::load(file, None) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(program) => {
            let mut control = begin(&Arc::new(program), Start::from(10.0));
            let flow = Flow::at(1_000_000).delivered(10).flight_size(20).in_flight(20).cwnd_limited(true);
            for signal in [Signal::Loss, Signal::Timeout, Signal::Ecn] {
                control.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(1_000_000)));
                control.on_congestion(&flow, signal);
                control.on_recovered(&flow);
            }
            control.on_undo(20.0, 20.0);
            assert!(control.fault().is_none_or(|fault| !fault.to_string().contains('\n')));
        }
    }
});
