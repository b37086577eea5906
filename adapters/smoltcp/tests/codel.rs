//! Two stacks over CoDel.

use fullpipe_net::{Links, Scenario};
use fullpipe_smoltcp::{Transfer, transfer};

fn over(keys: &str) -> Transfer {
    // Links need a scenario with traffic; it is not simulated here.
    let text = format!("duration = \"100 s\"\nlinks = [{{ name = \"l\", {keys} }}]\nudp = [{{ rate = \"1 Mbit/s\" }}]");
    let links = Links::new(&Scenario::from_toml(&text).expect("a scenario")).expect("a valid scenario");
    transfer(links, "l", 10_000_000, 60_000_000_000)
}

const PATH: &str = r#"rate = "20 Mbit/s", delay = "20 ms""#;

/// 10 MB in segments of 1460 bytes are 6850 packets of 1500 bytes, which take 0.6 ms each: 4.11 s are the least.
#[test]
fn ten_megabytes_over_codel_arrive_and_runs_are_identical() {
    let codel = format!("{PATH}, buffer = \"1000 packets\", queue = \"codel\"");
    let first = over(&codel);
    let seconds = first.completed_at.expect("complete") as f64 / 1e9;
    println!("{seconds} s, {first:?}");
    assert_eq!(first.received, 10_000_000);
    assert!((4.1..8.0).contains(&seconds), "{seconds} s");
    assert!(first.lost > 0 && first.lost < first.sent / 20, "{first:?}");
    assert_eq!(over(&codel), first);
}

#[test]
fn losses_lengthen_the_transfer() {
    let clean = over(&format!("{PATH}, buffer = \"unlimited\""));
    let lossy = over(&format!("{PATH}, buffer = \"unlimited\", loss = 0.01"));
    println!("{clean:?} {lossy:?}");
    assert_eq!(clean.lost, 0);
    assert!(lossy.lost > 0 && lossy.completed_at > clean.completed_at, "{lossy:?}");
}
