//! Digests of whole reports, to compare two versions of the engine.
//!
//! `FULLPIPE_DIGESTS=FILE cargo test --test any_scenario -- --ignored digests` writes a line for each of the standing scenarios, or of those in
//! `FULLPIPE_SCENARIOS`: its number, the digest of its resolved text, and the digest of its report. Two versions give the same results where
//! `diff` finds their files equal. `FULLPIPE_TEXTS=DIR` also writes each text to `DIR/NUMBER.toml`.

use crate::{asked_for, dice};
use fullpipe_sim::run;
use std::fmt::Write;

/// Calls of the watch, 16,384 events apart, after which a run is given up.
const PATIENCE: usize = 8;

#[test]
#[ignore = "writes files, for a comparison of two versions"]
fn digests_of_reports() {
    let mut lines = String::new();
    let texts = std::env::var_os("FULLPIPE_TEXTS").map(std::path::PathBuf::from);
    for number in asked_for() {
        let scenario = dice::scenario(number);
        let text = scenario.to_toml();
        if let Some(folder) = &texts {
            std::fs::write(folder.join(format!("{number}.toml")), &text).expect("a folder that can be written to");
        }
        let mut calls = PATIENCE;
        let report = run(&scenario, &mut |_| {
            calls -= 1;
            calls > 0
        });
        writeln!(lines, "{number} {:016x} {:016x}", digest(&text), digest(&format!("{report:?}"))).expect("a string");
    }
    let file = std::env::var_os("FULLPIPE_DIGESTS").expect("FULLPIPE_DIGESTS=FILE");
    std::fs::write(file, lines).expect("a file that can be written to");
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
