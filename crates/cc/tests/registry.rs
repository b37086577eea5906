//! List of algorithms: complete, documented, and strict about its input.

use fullpipe_cc::params::{Error, Group, Info, Kind, Value};
use fullpipe_cc::registry::{ALL, find};
use fullpipe_cc::{CongestionControl, Controller, Flow, Signal, build};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn has_every_algorithm_once() {
    let mut names: Vec<_> = ALL.iter().map(|info| info.name).collect();
    names.sort_unstable();
    let expected = [
        "adaptive-aimd",
        "bbr",
        "bbr3",
        "bic",
        "compound",
        "copa",
        "cubic",
        "dctcp",
        "ehstcp",
        "hstcp",
        "htcp",
        "hybla",
        "hyun-jang",
        "illinois",
        "ledbat",
        "ledbat++",
        "newreno",
        "prague",
        "reno",
        "scalable",
        "tahoe",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_parameter_is_documented_and_its_default_allowed() {
    for info in ALL {
        assert!(info.paper.len() > 20, "{}", info.name);
        for (i, param) in info.params.iter().enumerate() {
            let name = format!("{} {}", info.name, param.name);
            assert!(!param.unit.is_empty() && param.doc.ends_with('.') && !param.source.is_empty(), "{name}");
            assert!(param.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert!(info.params[..i].iter().all(|other| other.name != param.name), "{name} twice");
            let defaults = param.default.into_iter().chain(param.variants.iter().map(|(_, value)| *value));
            assert!(defaults.clone().count() > 0 && defaults.clone().all(|value| param.kind.admits(value)), "{name}");
            match param.kind {
                Kind::Number { min, max } => {
                    assert!(max.is_finite(), "{name}");
                    for outside in [min - 1.0, max + max.abs() + 1.0, f64::NAN, f64::INFINITY] {
                        assert!(!param.kind.admits(Value::Number(outside)), "{name} = {outside}");
                    }
                }
                Kind::Whole { max, .. } => assert!(!param.kind.admits(Value::Whole(max + 1)), "{name}"),
                Kind::Flag => assert!(!param.kind.admits(Value::Number(1.0)), "{name}"),
                Kind::Choice(names) => assert!(names.len() > 1 && !param.kind.admits(Value::Name("")), "{name}"),
                kind => panic!("{name}: {kind:?}"),
            }
        }
    }
}

/// Parts of a whole, such as the part of the window that a loss leaves, and the weight of a mean: at most 1, and below it where 1 would be
/// no response to losses, or no sample.
#[test]
fn parts_are_of_a_whole() {
    let below: [(&str, &[&str]); 11] = [
        ("vegas", &["loss_cut"]),
        ("scalable", &["b"]),
        ("bic", &["beta"]),
        ("adaptive-aimd", &["beta_min", "beta_max"]),
        ("cubic", &["beta"]),
        ("htcp", &["beta_min", "beta_max"]),
        ("westwood", &["memory"]),
        ("illinois", &["beta_min", "beta_max"]),
        ("veno", &["random_kept"]),
        ("compound", &["beta"]),
        ("bbr3", &["pacing_margin", "loss_threshold", "beta", "headroom"]),
    ];
    let at_most: [(&str, &[&str]); 9] = [
        ("scalable", &["a"]),
        ("adaptive-aimd", &["fading"]),
        ("hyun-jang", &["beta"]),
        ("htcp", &["fading"]),
        ("dctcp", &["g", "first_alpha"]),
        ("prague", &["g"]),
        ("compound", &["k"]),
        ("bbr3", &["drain_pacing_gain", "down_pacing_gain"]),
        ("hstcp", &["high_decrease", "high_p"]),
    ];
    let parts = below.iter().map(|part| (part, false)).chain(at_most.iter().map(|part| (part, true)));
    for ((name, params), may_be_1) in parts {
        let info = ALL.iter().find(|info| info.name == *name).expect("an algorithm");
        for param in *params {
            let kind = info.params.iter().find(|other| other.name == *param).expect("a parameter").kind;
            assert!(!kind.admits(Value::Number(1.0 + 1e-9)), "{name} {param}");
            assert!(may_be_1 || !kind.admits(Value::Number(1.0)), "{name} {param}");
        }
    }
}

#[test]
fn begins_with_the_window_given() {
    for info in ALL {
        let cc = build(info.name, &[], 10.0).unwrap();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, f64::INFINITY), "{}", info.name);
    }
}

/// Whatever answers to losses can do so to a mark by RFC 8511, and then leaves at least 0.8 of the window.
#[test]
fn every_answer_to_losses_has_abe() {
    let with_abe = |info: &Info| {
        let given = [("abe", Value::Flag(true))];
        let mut cc = build(info.name, &given, 1000.0).unwrap();
        cc.on_congestion(&Flow::at(0).cwnd_limited(true).flight_size(1000), Signal::Ecn);
        cc.cwnd()
    };
    for info in ALL.iter().filter(|info| matches!(info.group, Group::Loss | Group::Both)) {
        assert!(with_abe(info) >= 800.0, "{}: {}", info.name, with_abe(info));
    }
}

#[test]
fn refuses_what_it_does_not_know() {
    assert_eq!(build("rena", &[], 2.0).unwrap_err(), Error::UnknownAlgorithm("rena"));
    let given = [("alfa", Value::Number(1.0))];
    assert_eq!(build("vegas", &given, 2.0).unwrap_err(), Error::UnknownParam("alfa"));
    let alpha = find("vegas").unwrap().params.iter().find(|param| param.name == "alpha").unwrap();
    for bad in [Value::Number(-1.0), Value::Number(f64::NAN), Value::Flag(true), Value::Name("one")] {
        assert_eq!(build("vegas", &[("alpha", bad)], 2.0).unwrap_err(), Error::BadValue(alpha));
    }
}

#[test]
fn refusals_are_a_line() {
    fn refused<'a>(name: &'a str, given: &'a [(&'a str, Value)]) -> String {
        let error: Box<dyn std::error::Error + 'a> = Box::new(build(name, given, 2.0).unwrap_err());
        error.to_string()
    }
    assert_eq!(refused("rena", &[]), "unknown algorithm \"rena\"");
    assert_eq!(refused("vegas", &[("alfa", Value::Number(1.0))]), "unknown parameter \"alfa\"");
    assert_eq!(refused("scalable", &[("b", Value::Flag(true))]), "b must be in [0, 0.99]");
    assert_eq!(refused("reno", &[("abe", Value::Number(1.0))]), "abe must be true or false");
}

/// A flow's state is mostly this; ten thousand flows should stay in cache.
#[test]
fn controllers_are_small() {
    let size = size_of::<Controller>();
    assert!(size <= 896, "{size} bytes");
}

/// The registry imports the algorithms; only the crate's root imports the registry.
#[test]
fn nothing_below_imports_the_registry() {
    fn sources(dir: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let above = |file: &&PathBuf| !file.ends_with("src/lib.rs");
    for file in sources(&root).iter().filter(above) {
        let text = fs::read_to_string(file).expect("a source file");
        let imports = |line: &&str| !line.trim_start().starts_with("//") && line.contains("registry");
        assert_eq!(text.lines().find(imports), None, "{}", file.display());
    }
}
