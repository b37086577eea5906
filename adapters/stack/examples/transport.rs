//! Table of quinn's whole stack beside the QUIC transport of the simulator: `cargo run --example transport`.

use fullpipe_stack::comparison::{CASES, of_stack, of_transport};

fn main() {
    println!("{:<8} {:>26} {:>24}", "", "goodput, Mbit/s", "loss, %");
    println!(
        "{:<8} {:>8} {:>9} {:>7} {:>8} {:>9} {:>5}  link",
        "", "stack", "transport", "ratio", "stack", "transport", "ratio"
    );
    for (name, link) in CASES {
        let (stack, ours) = (of_stack(name, link), of_transport(name, link));
        let goodput = ours.goodput_bps / stack.goodput_bps;
        let loss = if stack.loss > 0.0 { format!("{:.3}", ours.loss / stack.loss) } else { "-".to_owned() };
        let (stack_mbps, our_mbps) = (stack.goodput_bps / 1e6, ours.goodput_bps / 1e6);
        let (stack_loss, our_loss) = (100.0 * stack.loss, 100.0 * ours.loss);
        println!(
            "{name:<8} {stack_mbps:>8.3} {our_mbps:>9.3} {goodput:>7.3} {stack_loss:>8.4} {our_loss:>9.4} {loss:>5}  {link}"
        );
    }
}
