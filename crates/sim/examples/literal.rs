//! `literal`: a scenario from plain data, without TOML. Two CUBIC flows and one BBR flow over FQ-CoDel at 20 Mbit/s.

use fullpipe_sim::Simulation;
use fullpipe_sim::model::{Buffer, FlowGroup, Link, Recovery, Scenario, Tcp};

const MILLISECOND: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = fullpipe_sim::queues::find("fq-codel").ok_or("no such queue")?;
    let link = Link {
        rate_bps: 20_000_000,
        delay: 15 * MILLISECOND,
        buffer: Buffer::Packets(1000),
        queue: fullpipe_sim::queues::Settings::defaults(queue),
        ..Link::named("bottleneck")
    };
    let cubic = FlowGroup { count: 2, ..FlowGroup::of(Tcp::new("cubic", Recovery::Sack, vec![0])) };
    let bbr = FlowGroup::of(Tcp::new("bbr", Recovery::Rack, vec![0]));
    let scenario = Scenario { links: vec![link], flows: vec![cubic, bbr], ..Scenario::lasting(20_000 * MILLISECOND) };
    for flow in Simulation::new(scenario)?.report()?.flows {
        println!("{} {}: {:.2} Mbit/s", flow.id, flow.name, flow.goodput_bps / 1e6);
    }
    Ok(())
}
