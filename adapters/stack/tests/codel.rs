//! Two endpoints over CoDel.

use fullpipe_net::{Links, Scenario};
use fullpipe_stack::{Transfer, logged_transfer, transfer};
use quinn_proto::congestion::{CubicConfig, NewRenoConfig};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

const MEGABYTES: u64 = 1_000_000;

fn links(keys: &str) -> Links {
    let text = format!("duration = \"100 s\"\nlinks = [{{ name = \"l\", {keys} }}]\nudp = [{{ rate = \"1 Mbit/s\" }}]");
    Links::new(&Scenario::from_toml(&text).expect("a scenario")).expect("a valid scenario")
}

fn over(keys: &str) -> Transfer {
    transfer(links(keys), "l", 10 * MEGABYTES, Arc::new(NewRenoConfig::default()), 60_000_000_000)
}

const CODEL: &str = "rate = \"20 Mbit/s\", delay = \"20 ms\", buffer = \"1000 packets\", queue = \"codel\"";

/// 10 MB are 8252 packets of 1252 bytes at most; each takes 0.512 ms on the wire, so that 4.23 s are the least.
#[test]
fn ten_megabytes_over_codel_arrive_and_runs_are_identical() {
    let first = over(CODEL);
    let seconds = first.completed_at.expect("complete") as f64 / 1e9;
    assert!((4.2..5.5).contains(&seconds), "{seconds} s");
    assert!(first.lost > 0 && first.lost < first.sent / 50, "{first:?}");
    assert_eq!(over(CODEL), first);
}

#[test]
fn marks_reach_the_sender() {
    let marking = CODEL.replace("\"codel\"", "{ name = \"codel\", ecn = true }");
    let found = over(&marking);
    assert_eq!(found.lost, 0, "CoDel marks instead: {found:?}");
    assert!(found.completed_at.is_some());
}

#[test]
fn losses_and_controllers_change_the_run() {
    let lossy = CODEL.replace("queue = \"codel\"", "loss = 0.01");
    let newreno = over(&lossy);
    assert!(newreno.completed_at > over(CODEL).completed_at, "{newreno:?}");
    let cubic = transfer(links(CODEL), "l", 10 * MEGABYTES, Arc::new(CubicConfig::default()), 60_000_000_000);
    assert_ne!(cubic.digest, over(CODEL).digest);
}

/// Text that two owners share.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn qlogs_of_two_runs_are_identical() {
    let [one, other] = [(); 2].map(|()| {
        let text = Text::default();
        let log = Some(Box::new(text.clone()) as Box<dyn Write + Send + Sync>);
        let newreno = Arc::new(NewRenoConfig::default());
        logged_transfer(links(CODEL), "l", MEGABYTES, newreno, 60_000_000_000, log);
        String::from_utf8(std::mem::take(&mut *text.0.lock().expect("no panic"))).expect("text")
    });
    assert!(one.lines().count() > 1000 && one.contains("congestion_window"), "{} lines", one.lines().count());
    let differing = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert_eq!(differing, None);
    assert_eq!(one.len(), other.len());
}
