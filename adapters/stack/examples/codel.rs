//! Two endpoints of quinn-proto transfer 10 MB over CoDel in virtual time, and write a qlog: `cargo run --example codel -- out.sqlog`.

use fullpipe_net::{Links, Scenario};
use fullpipe_stack::logged_transfer;
use quinn_proto::congestion::CubicConfig;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

const LINK: &str = r#"
duration = "60 s"
links = [{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "1000 packets", queue = "codel" }]
udp = [{ rate = "1 Mbit/s" }]
"#; // Links need a scenario with traffic; it is not simulated here.

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or("codel.sqlog".into());
    let log = Box::new(BufWriter::new(File::create(&file)?));
    let links = Links::new(&Scenario::from_toml(LINK)?)?;
    let found = logged_transfer(links, "l", 10_000_000, Arc::new(CubicConfig::default()), 60_000_000_000, Some(log));
    let seconds = found.completed_at.ok_or("the transfer takes more than 60 s")? as f64 / 1e9;
    println!("10 MB in {seconds:.3} s, {} of {} packets lost, hash {:016x}", found.lost, found.sent, found.digest);
    println!("qlog: {file}");
    Ok(())
}
