//! s2n-quic's controllers alone over a link.

use fullpipe_sim::{Catalogue, Report, Simulation};

/// One flow over a drop-tail link of 20 Mbit/s and a round trip of 40 ms: a BDP of 100 packets.
fn alone(algorithm: &str, buffer: &str) -> Report {
    let scenario = format!(
        r#"
        duration = "60 s"
        warmup = "20 s"
        links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "{buffer}" }}]
        flows = [{{ algorithm = {algorithm} }}]
        "#
    );
    let scenario = fullpipe_s2n_quic::add_to(Catalogue::builtin()).read_toml(&scenario).expect("a scenario");
    Simulation::new(scenario).expect("a valid scenario").report().expect("it runs")
}

#[test]
fn the_same_run_twice_is_the_same() {
    for algorithm in ["\"s2n-cubic\"", "\"s2n-bbr\""] {
        // As text, because unknown values are NaN, and NaN does not equal NaN.
        let [first, second] = [(); 2].map(|()| format!("{:?}", alone(algorithm, "0.5 BDP")));
        assert!(first == second, "{algorithm}");
    }
}

/// RFC 9438 section 4.6: beta_cubic is 0.7. The window grows by less than a packet and a half between two samples, of 100 to 150.
#[test]
fn a_loss_leaves_cubic_seven_tenths() {
    let report = alone("\"s2n-cubic\"", "0.5 BDP");
    let (_, windows) = report.flow_series.columns.iter().find(|(name, _)| name == "cwnd_packets").expect("a column");
    let steady = &windows[windows.len() / 3..];
    let least = steady.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
    assert!((0.69..0.715).contains(&least), "{least}");
}

/// A buffer of a BDP keeps the link busy through a cut to 0.7 (RFC 9438 section 4.6), and is no matter to BBR's.
#[test]
fn a_buffer_of_a_bdp_fills_the_link() {
    for algorithm in ["\"s2n-cubic\"", "\"s2n-bbr\""] {
        let used = alone(algorithm, "1 BDP").links[0].forward.utilization;
        assert!(used > 0.95 && used <= 1.0, "{algorithm}: {used}");
    }
}

/// BBRv2 cruises at the path's rate with almost no queue; CUBIC fills the buffer.
#[test]
fn bbr_leaves_the_buffer_to_others() {
    let queue = |algorithm| alone(algorithm, "4 BDP").links[0].forward.mean_queue_packets;
    let (bbr, cubic) = (queue("\"s2n-bbr\""), queue("\"s2n-cubic\""));
    assert!(bbr < cubic / 4.0, "{bbr} {cubic}");
}

/// RFC 9002 section 7.2: two packets at least, for CUBIC; BBRMinPipeCwnd is four.
#[test]
fn a_link_that_loses_much_leaves_the_least_window() {
    let text = r#"
        duration = "60 s"
        links = [{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "1 BDP", loss = 0.3 }]
        flows = [{ algorithm = "s2n-cubic" }]
    "#;
    let scenario = fullpipe_s2n_quic::add_to(Catalogue::builtin()).read_toml(text).expect("a scenario");
    let flow = Simulation::new(scenario).expect("a valid scenario").report().expect("it runs").flows.remove(0);
    assert!((2.0..6.0).contains(&flow.mean_cwnd_packets) && flow.goodput_bps > 0.0, "{}", flow.mean_cwnd_packets);
}

#[test]
fn parameters_count() {
    let queue = |gain| {
        let algorithm = format!("{{ name = \"s2n-bbr\", cwnd_gain = {gain}, up_pacing_gain = 2.0 }}");
        alone(&algorithm, "4 BDP").links[0].forward.max_queue_packets
    };
    assert!(queue(4.0) > queue(1.5), "{} {}", queue(4.0), queue(1.5));
}
