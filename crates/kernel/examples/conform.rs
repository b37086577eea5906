//! Program of an object file inside a model of the kernel, driven by events. `bpf/conform.c` does this with the source compiled
//! for the host, and gives identical answers.
//!
//! `conform OBJECT` takes the simulator's records (`--example record`) from standard input and prints the distance of its windows from the
//! recorded ones; `conform OBJECT script` takes lines, and gives window and threshold after each.

use fullpipe_kernel::target::Field;
use fullpipe_kernel::{MEMBERS, Machine, Program};
use std::io::{BufRead, Read, stdin};
use std::sync::Arc;

const OPEN: u64 = 0;
const RECOVERY: u64 = 3;
const LOSS: u64 = 4;

struct Kernel {
    machine: Machine,
    prior_ssthresh: u64,
    una: u64,
}

impl Kernel {
    fn set(&mut self, path: &str, value: u64) {
        Field::of("tcp_sock", path).set(self.machine.socket_mut(), value);
    }

    fn read(&self, path: &str) -> u64 {
        Field::of("tcp_sock", path).read(self.machine.socket())
    }

    fn call(&mut self, member: &str, arguments: &[u64]) -> u64 {
        let index = MEMBERS.iter().position(|name| *name == member).expect("a member");
        let mut all = vec![Machine::address_of_socket()];
        all.extend(arguments);
        self.machine.call(index, &all).unwrap_or_else(|fault| panic!("{fault}"))
    }

    fn state(&self) -> u64 {
        self.read("inet_conn.icsk_ca_state")
    }

    fn set_state(&mut self, next: u64) {
        self.call("set_state", &[next]);
        self.set("inet_conn.icsk_ca_state", next);
    }

    fn connect(&mut self, cwnd: u64, ssthresh: u64) {
        self.set("snd_cwnd", cwnd);
        self.set("snd_ssthresh", ssthresh);
        self.set("snd_cwnd_clamp", u64::from(u32::MAX));
        let area = Field::of("tcp_sock", "inet_conn.icsk_ca_priv");
        self.machine.socket_mut()[area.at..area.at + area.size].fill(0);
        self.call("init", &[]);
    }

    fn limit(&mut self, by_window: bool) {
        self.set("is_cwnd_limited", u64::from(by_window));
        self.set("max_packets_out", if by_window { self.read("snd_cwnd") } else { 0 });
    }

    fn acknowledge(&mut self, credit: u64, rtt_us: u64, backward_us: Option<i64>) {
        let stamp = (self.machine.now / 1_000_000) as i64 - backward_us.unwrap_or(0) / 1000;
        self.set("rx_opt.saw_tstamp", u64::from(backward_us.is_some()));
        self.set("rx_opt.rcv_tsval", stamp as u64);
        let sample = self.machine.sample_mut();
        Field::of("ack_sample", "pkts_acked").set(sample, credit);
        Field::of("ack_sample", "rtt_us").set(sample, rtt_us);
        self.call("pkts_acked", &[Machine::address_of_sample()]);
        if matches!(self.state(), OPEN | LOSS) {
            let una = self.read("snd_una");
            self.call("cong_avoid", &[una, credit]);
        }
    }

    fn cut(&mut self) {
        self.prior_ssthresh = self.read("snd_ssthresh");
        let cwnd = self.read("snd_cwnd");
        self.set("prior_cwnd", cwnd);
        let ssthresh = self.call("ssthresh", &[]);
        self.set("snd_ssthresh", ssthresh);
    }

    fn lose(&mut self) {
        self.cut();
        self.set_state(RECOVERY);
    }

    fn recover(&mut self) {
        if self.state() == RECOVERY {
            let ssthresh = self.read("snd_ssthresh");
            self.set("snd_cwnd", ssthresh);
        }
        self.set_state(OPEN);
    }

    fn time_out(&mut self) {
        if self.state() != RECOVERY {
            self.cut();
        }
        self.set("snd_cwnd", 1);
        self.set_state(LOSS);
    }

    fn undo(&mut self) {
        let cwnd = self.call("undo_cwnd", &[]);
        self.set("snd_cwnd", cwnd);
        let ssthresh = self.read("snd_ssthresh").max(self.prior_ssthresh);
        self.set("snd_ssthresh", ssthresh);
        self.set_state(OPEN);
    }

    fn replay(&mut self, words: &[u64; 8]) {
        let [kind_and_flags, now, delivered, in_flight, rtt_ns, backward_ns, credit, _] = *words;
        let flags = kind_and_flags >> 8;
        self.machine.now = now;
        self.set("snd_una", delivered);
        self.set("snd_nxt", delivered + in_flight);
        self.set("packets_out", in_flight);
        self.limit(flags >> 1 & 1 == 1);
        match kind_and_flags & 255 {
            0 => {
                let backward_us = (flags >> 3 & 1 == 1).then_some(backward_ns as i64 / 1000);
                self.acknowledge(f64::from_bits(credit) as u64, (rtt_ns + 500) / 1000, backward_us);
            }
            1 => self.lose(),
            2 => {
                self.recover();
                self.time_out();
            }
            _ => self.recover(),
        }
    }

    fn obey(&mut self, line: &str) -> Option<()> {
        let cwnd = self.read("snd_cwnd");
        let (una, nxt) = (self.una, self.una + cwnd);
        self.set("snd_una", una);
        self.set("snd_nxt", nxt);
        self.set("packets_out", cwnd);
        self.limit(true);
        let (event, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers: Vec<i64> = rest.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let number = |i: usize| numbers[i] as u64;
        match (event, numbers.len()) {
            ("connect", 2) => self.connect(number(0), number(1)),
            ("ack", 2 | 3) => {
                self.una += number(0);
                self.set("snd_una", self.una);
                self.acknowledge(number(0), number(1), numbers.get(2).copied());
            }
            ("wait", 1) => self.machine.now += number(0) * 1_000_000,
            ("kernel", 2) => {
                self.set("snd_cwnd", number(0));
                self.set("snd_ssthresh", number(1));
            }
            ("params", _) => {
                let program = Arc::clone(self.machine.program());
                for (parameter, value) in program.parameters().iter().zip(&numbers) {
                    self.machine.set_raw(parameter, *value as u64);
                }
            }
            ("loss", 0) => self.lose(),
            ("recovered", 0) => self.recover(),
            ("timeout", 0) => self.time_out(),
            ("undo", 0) => self.undo(),
            _ => return None,
        }
        Some(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = std::fs::read(&arguments[0]).expect("an object file");
    let program = Program::load(&file, None).unwrap_or_else(|error| panic!("{}: {error}", arguments[0]));
    let mut kernel = Kernel { machine: Machine::new(Arc::new(program), 0), prior_ssthresh: 0, una: 0 };
    if arguments.get(1).is_some_and(|word| word == "script") {
        for line in stdin().lock().lines() {
            let line = line.expect("text");
            kernel.obey(&line).unwrap_or_else(|| panic!("not an event: {line}"));
            println!("{} {}", kernel.read("snd_cwnd"), kernel.read("snd_ssthresh"));
        }
        return;
    }
    kernel.connect(2, 0x7fff_ffff);
    let (mut events, mut losses, mut timeouts, mut apart, mut worst) = (0, 0, 0, 0, 0f64);
    let mut record = [0; 64];
    let mut input = stdin().lock();
    while input.read_exact(&mut record).is_ok() {
        let words = std::array::from_fn(|i| u64::from_le_bytes(record[8 * i..8 * i + 8].try_into().expect("8 bytes")));
        kernel.replay(&words);
        events += 1;
        losses += u32::from(words[0] & 255 == 1);
        timeouts += u32::from(words[0] & 255 == 2);
        if kernel.state() == RECOVERY || words[0] & 255 == 2 {
            continue;
        }
        // The kernel sees the whole part of the program's window.
        let expected = f64::from_bits(words[7]);
        let difference = (kernel.read("snd_cwnd") as f64 + 0.5 - expected).abs();
        worst = worst.max(difference);
        apart += u32::from(difference > 1.5f64.max(0.02 * expected + 0.5));
    }
    println!(
        r#"{{"events": {events}, "losses": {losses}, "timeouts": {timeouts}, "worst_segments": {worst:.4}, "apart": {apart}}}"#
    );
}
