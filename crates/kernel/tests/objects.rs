//! An object file of ours (`tests/objects/aimd.bpf.o`; `make -C crates/kernel` makes it), run as it is and broken in every way.

use fullpipe_cc::{Ack, CongestionControl, Flow, Signal, Start};
use fullpipe_kernel::{Control, MEMBERS, Machine, Objects, Program, begin};
use fullpipe_sim::scenario::Problem;
use fullpipe_sim::{Catalogue, Scenario, run as run_scenario};
use object::{Object, ObjectSection};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const AIMD: &[u8] = include_bytes!("objects/aimd.bpf.o");
const MILLISECOND: u64 = 1_000_000;

fn program(file: &[u8]) -> Arc<Program> {
    Arc::new(Program::load(file, None).unwrap())
}

fn flow(delivered: u64) -> Flow {
    Flow::at(delivered * MILLISECOND).delivered(delivered).flight_size(20).in_flight(20).cwnd_limited(true)
}

/// Several ACKs of a segment each.
fn acknowledge(control: &mut Control, from: u64, count: u64) {
    for delivered in from..from + count {
        control.on_ack(&flow(delivered), &Ack::of(1, 1.0).rtt(Some(100 * MILLISECOND)));
    }
}

/// From 10, slow start adds a segment for each; a loss at 20 leaves 10; after it 10 segments acknowledged add one, and 11 the next.
#[test]
fn the_program_rules_the_window() {
    let mut control = begin(&program(AIMD), Start::from(10.0));
    assert_eq!((control.cwnd(), control.ssthresh()), (10.0, f64::INFINITY));
    acknowledge(&mut control, 1, 10);
    assert_eq!(control.cwnd(), 20.0);
    control.on_congestion(&flow(11), Signal::Loss);
    assert_eq!((control.cwnd(), control.ssthresh()), (10.0, 10.0));
    // In recovery nothing grows.
    control.on_ack(&flow(12).in_recovery(true), &Ack::of(1, 1.0));
    assert_eq!(control.cwnd(), 10.0);
    control.on_recovered(&flow(40));
    acknowledge(&mut control, 41, 9);
    assert_eq!(control.cwnd(), 10.0);
    acknowledge(&mut control, 50, 1);
    assert_eq!(control.cwnd(), 11.0);
    acknowledge(&mut control, 51, 10);
    assert_eq!(control.cwnd(), 11.0);
    acknowledge(&mut control, 61, 1);
    assert_eq!(control.cwnd(), 12.0);
    assert!(control.fault().is_none());
}

/// Not the window is the limit: nothing grows.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut control = begin(&program(AIMD), Start::from(10.0));
    control.on_ack(&flow(1).cwnd_limited(false), &Ack::of(1, 1.0));
    assert_eq!(control.cwnd(), 10.0);
}

/// A timeout at 20 leaves 1 and a threshold of 10; the 20 outstanding segments end the episode; slow start continues throughout.
#[test]
fn a_timeout_and_one_that_was_none() {
    let mut control = begin(&program(AIMD), Start::from(20.0));
    control.on_congestion(&flow(100), Signal::Timeout);
    assert_eq!((control.cwnd(), control.ssthresh()), (1.0, 10.0));
    acknowledge(&mut control, 101, 4);
    assert_eq!(control.cwnd(), 5.0);
    // Again, before the outstanding segments are acknowledged: no second cut (RFC 5681 section 3.1).
    control.on_congestion(&flow(105), Signal::Timeout);
    assert_eq!((control.cwnd(), control.ssthresh()), (1.0, 10.0));
    // The window before the cut, by the kernel's own function; and the threshold.
    control.on_undo(20.0, f64::INFINITY);
    assert_eq!((control.cwnd(), control.ssthresh()), (20.0, f64::INFINITY));
}

/// `alpha = 2`: 5 segments acknowledged add one at 10; `beta = 0.75` leaves 15 of 20.
#[test]
fn parameters_are_set_by_name() {
    let program = program(AIMD);
    let names: Vec<_> = program.parameters().iter().map(|p| (p.name.as_str(), p.default)).collect();
    assert_eq!(names, [("alpha", 1.0), ("beta", 0.5)]);
    let mut machine = Machine::new(Arc::clone(&program), 0);
    for (parameter, value) in program.parameters().iter().zip([2.0, 0.75]) {
        assert!(parameter.holds(value) && !parameter.holds(-1.0) && !parameter.holds(1e9));
        machine.set(parameter, value);
    }
    let mut control = Control::new(machine, Start::from(20.0));
    control.on_congestion(&flow(1), Signal::Loss);
    assert_eq!(control.cwnd(), 15.0);
    control.on_recovered(&flow(30));
    acknowledge(&mut control, 31, 7);
    assert_eq!(control.cwnd(), 15.0);
    acknowledge(&mut control, 38, 1);
    assert_eq!(control.cwnd(), 16.0);
}

/// Connections of a program are independent.
#[test]
fn connections_are_apart() {
    let program = program(AIMD);
    let (mut one, other) = (begin(&program, Start::from(10.0)), begin(&program, Start::from(10.0)));
    acknowledge(&mut one, 1, 3);
    assert_eq!((one.cwnd(), other.cwnd()), (13.0, 10.0));
}

/// The object with the instructions of a section changed from its beginning on, which no relocation changes any more.
fn with_code(section: &str, code: &[[u8; 8]]) -> Vec<u8> {
    let (at, _) = object::File::parse(AIMD).unwrap().section_by_name(section).unwrap().file_range().unwrap();
    let mut file = with_text(".BTF.ext\0", ".BTF.exs\0");
    for (place, instruction) in file[at as usize..].chunks_exact_mut(8).zip(code) {
        place.copy_from_slice(instruction);
    }
    file
}

/// The object with a text replaced by one as long, wherever it is.
fn with_text(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places = (0..AIMD.len()).filter(|&at| AIMD[at..].starts_with(from.as_bytes()));
    let mut file = AIMD.to_vec();
    places.for_each(|at| file[at..at + to.len()].copy_from_slice(to.as_bytes()));
    assert_ne!(file, AIMD, "the text is there");
    file
}

const INIT: &str = "struct_ops/aimd_init";
/// `r1 = *(u64 *)(r1 + 0)`: the socket.
const SOCKET: [u8; 8] = [0x79, 0x11, 0, 0, 0, 0, 0, 0];
const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// What `init` does wrong when it is these instructions.
fn failure(code: &[[u8; 8]]) -> String {
    let control = begin(&program(&with_code(INIT, code)), Start::from(10.0));
    control.fault().expect("a failure").to_string()
}

fn refusal(file: &[u8]) -> String {
    Program::load(file, None).unwrap_err().to_string()
}

#[test]
fn an_endless_loop_ends() {
    let loop_back = [0x05, 0, 0xff, 0xff, 0, 0, 0, 0];
    let expected = "init takes more than 1000000 instructions (instruction 0 of struct_ops/aimd_init)";
    assert_eq!(failure(&[loop_back]), expected);
}

#[test]
fn memory_is_kept_within() {
    // *(u8 *)(r1 + 520), the socket has 520 bytes; *(u64 *)(r1 - 8).
    let beyond = failure(&[SOCKET, [0x71, 0x10, 0x08, 2, 0, 0, 0, 0], EXIT]);
    assert_eq!(beyond, "init reads 1 byte at 520 of the socket, which has 520 (instruction 1 of struct_ops/aimd_init)");
    let before = failure(&[SOCKET, [0x79, 0x10, 0xf8, 0xff, 0, 0, 0, 0], EXIT]);
    assert!(before.starts_with("init reads 8 bytes at -8 of "), "{before}");
    // r1 = 0; *(u32 *)(r1 + 8). Then an address such as a host has.
    let null = failure(&[[0xb7, 1, 0, 0, 0, 0, 0, 0], [0x61, 0x10, 8, 0, 0, 0, 0, 0], EXIT]);
    assert!(null.starts_with("init reads 4 bytes through a null pointer"), "{null}");
    let wild = failure(&[
        [0xb7, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f],
        [0x67, 1, 0, 0, 16, 0, 0, 0],
        [0x61, 0x10, 0, 0, 0, 0, 0, 0],
        EXIT,
    ]);
    assert!(wild.ends_with("outside of all memory regions (instruction 2 of struct_ops/aimd_init)"), "{wild}");
    // The arguments are not the program's to change.
    let constant = failure(&[[0x7b, 0x11, 0, 0, 0, 0, 0, 0], EXIT]);
    assert!(constant.starts_with("init writes 8 bytes to its arguments, which is read-only"), "{constant}");
}

/// snd_una is the kernel's, at 160 in target.h.
#[test]
fn what_is_the_kernels_is_not_written() {
    let wrong = failure(&[SOCKET, [0x62, 1, 160, 0, 7, 0, 0, 0], EXIT]);
    assert!(wrong.starts_with("init writes tcp_sock.snd_una, which is read-only for programs"), "{wrong}");
}

#[test]
fn unknown_functions_are_refused_by_name() {
    let file = with_text("\0tcp_slow_start\0", "\0tcp_slow_stars\0");
    assert!(refusal(&file).contains("calls the kernel's function tcp_slow_stars, which the simulator does not have"));
    let helper = |number: u8| refusal(&with_code(INIT, &[[0x85, 0, 0, 0, number, 0, 0, 0], EXIT]));
    assert!(helper(12).contains("calls the helper bpf_tail_call, which the simulator does not have"));
    assert!(helper(250).contains("calls the unknown helper 250"));
    assert_eq!(
        refusal(&with_code(INIT, &[[0xe5, 0, 0, 0, 0, 0, 0, 0]])),
        "instruction 0 of struct_ops/aimd_init has the unknown opcode 0xe5"
    );
    assert!(refusal(&with_code(INIT, &[[0x05, 0, 0x70, 0, 0, 0, 0, 0]])).contains("jumps out of its section"));
    assert!(refusal(&with_code(INIT, &[[0xb7, 0x0a, 0, 0, 0, 0, 0, 0]])).contains("writes to r10"));
}

/// `enum bpf_func_id`: 49 is setsockopt, 57 getsockopt, 116 tcp_send_ack. Programs may have them where they are not called.
#[test]
fn what_ends_the_run_where_it_is_called_is_named() {
    for (number, said) in [(49, "(bpf_setsockopt)"), (57, "(bpf_getsockopt)"), (116, "(bpf_tcp_send_ack)")] {
        let failed = failure(&[[0x85, 0, 0, 0, number, 0, 0, 0], EXIT]);
        assert!(failed.contains(said) && failed.ends_with("(instruction 0 of struct_ops/aimd_init)"), "{failed}");
    }
}

/// Features that the target lacks are refused by name where they can be reached.
#[test]
fn unknown_members_are_refused_by_name() {
    let expected = "requires tcp_sock.snd_cwne, which the simulator does not have";
    let refused = refusal(&with_text("\0snd_cwnd\0", "\0snd_cwne\0"));
    assert!(refused.contains(expected), "{refused}");
    assert_eq!(
        refusal(&with_text("\0undo_cwnd\0", "\0undo_cwne\0")),
        "aimd sets undo_cwne, which the simulator does not call"
    );
}

#[test]
fn other_files_are_refused() {
    for file in [&b""[..], b"\x7fELF", b"hello, world", &AIMD[..100]] {
        let refused = refusal(file);
        assert!(refused.starts_with("not a readable object file: ") && !refused.contains('\n'), "{refused}");
    }
    let mut other = AIMD.to_vec();
    // e_machine: 62 is x86-64.
    other[18] = 62;
    assert_eq!(refusal(&other), "must be a little-endian BPF object file (clang -target bpf)");
    assert_eq!(Program::names(AIMD).unwrap(), ["aimd"]);
    assert_eq!(
        Program::load(AIMD, Some("reno")).unwrap_err().to_string(),
        "unknown struct_ops \"reno\" (allowed: aimd)"
    );
}

/// The type `__u32` made an alias of itself.
#[test]
fn types_that_go_round_in_circles_are_refused() {
    let (at, size) = object::File::parse(AIMD).unwrap().section_by_name(".BTF").unwrap().file_range().unwrap();
    let (at, end) = (at as usize, (at + size) as usize);
    let refused = (at..end - 12).step_by(4).filter_map(|place| {
        // A typedef: kind 8, without members.
        let info = u32::from_le_bytes(AIMD[place + 4..place + 8].try_into().unwrap());
        (info == 8 << 24).then(|| {
            let mut file = AIMD.to_vec();
            // Type numbers are below 60 here: one of them is its own.
            (1..60u32)
                .map(|own| {
                    file[place + 8..place + 12].copy_from_slice(&own.to_le_bytes());
                    Program::load(&file, None).err().map(|error| error.to_string()).unwrap_or_default()
                })
                .collect::<Vec<_>>()
        })
    });
    assert!(refused.flatten().any(|said| said == "a BTF type must not contain itself"));
}

/// However many bytes are missing.
#[test]
fn a_truncated_file_is_refused() {
    for length in 0..AIMD.len() - 1 {
        let _ = Program::load(&AIMD[..length], None).map(|program| run(&Arc::new(program)));
    }
}

/// Everything that a program may be asked, and whatever it answers.
fn run(program: &Arc<Program>) {
    let mut control = begin(program, Start::from(10.0));
    let mut delivered = 0;
    for signal in [Signal::Loss, Signal::Timeout, Signal::Ecn] {
        acknowledge(&mut control, delivered, 3);
        control.on_congestion(&flow(delivered + 3), signal);
        control.on_recovered(&flow(delivered + 40));
        delivered += 50;
    }
    control.on_undo(20.0, 20.0);
    let mut machine = Machine::new(Arc::clone(program), 1);
    for member in 0..MEMBERS.len() {
        let _ = machine.call(member, &[Machine::address_of_socket(), 1, 2, 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// An object with some of its bytes changed is refused in one line, or runs, or fails in one line; it never panics.
    #[test]
    fn a_changed_object_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut file = AIMD.to_vec();
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        match Program::load(&file, None) {
            Ok(program) => run(&Arc::new(program)),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }

    /// Any instructions at all.
    #[test]
    fn any_code_never_panics(code in prop::collection::vec(any::<[u8; 8]>(), 1..12), known in any::<bool>()) {
        const OPCODES: &[u8] = &[0x79, 0x7b, 0x61, 0x63, 0xbf, 0xb7, 0x0f, 0x3f, 0x97, 0xdb, 0xc3, 0x85, 0x55, 0x1d, 0x95, 0x18, 0xdc, 0xd4, 0xcf];
        let code: Vec<[u8; 8]> = code.into_iter().map(|mut i| {
            if known {
                i[0] = OPCODES[usize::from(i[0]) % OPCODES.len()];
                i[1] = (i[1] % 10) + 16 * ((i[1] >> 4) % 11);
                i[3] = 0;
                i[2] %= 40;
            }
            i
        }).collect();
        if let Ok(program) = Program::load(&with_code("struct_ops/aimd_cong_avoid", &code), None) {
            run(&Arc::new(program));
        }
    }
}

/// Scenario of one flow by the object, with further keys of its table.
fn scenario(rest: &str) -> String {
    format!(
        "duration = \"60 s\"\nwarmup = \"20 s\"\nlinks = [{{ name = \"l\", rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = \"50 packets\" }}]\n\
         flows = [{{ algorithm = {{ object = \"aimd.bpf.o\"{rest} }} }}]\n"
    )
}

fn read(rest: &str) -> Result<Scenario, Problem> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects"));
    let catalogue = Catalogue::builtin().with_source(Objects);
    let (read, tree) = catalogue.read_toml_in(&scenario(rest), folder)?;
    // In memory it is whole: it needs the file no more.
    assert_eq!(catalogue.read_value(&tree)?, read);
    assert_eq!(catalogue.read_toml(&read.to_toml())?, read);
    Ok(read)
}

/// Additive increase by 1 and half for a loss is Reno, but for whole segments: beyond slow start, windows and losses are its.
#[test]
fn a_scenario_names_the_file() {
    let run = |scenario: &Scenario| run_scenario(scenario, &mut |_| true).unwrap().flows.remove(0);
    let ours = run(&read("").unwrap());
    assert_eq!(ours.algorithm, "aimd.bpf");
    let text = scenario("").replace("{ object = \"aimd.bpf.o\" }", "\"reno\"");
    let reno = run(&Catalogue::builtin().read_toml(&text).unwrap());
    assert!((ours.goodput_bps / reno.goodput_bps - 1.0).abs() < 0.01, "{ours:?} {reno:?}");
    assert!((ours.mean_cwnd_packets / reno.mean_cwnd_packets - 1.0).abs() < 0.02, "{ours:?} {reno:?}");
    assert!(ours.fast_recoveries.abs_diff(reno.fast_recoveries) <= 1, "{ours:?} {reno:?}");
    // A smaller cut leaves more in the queue.
    let gentle = run(&read(", struct_ops = \"aimd\", params = { beta = 0.875 }").unwrap());
    assert!(gentle.mean_cwnd_packets > 1.1 * ours.mean_cwnd_packets, "{gentle:?} {ours:?}");
}

#[test]
fn what_is_wrong_with_it_names_the_key() {
    let said = |rest: &str| read(rest).unwrap_err().to_string();
    assert!(
        said(", struct_ops = \"reno\"")
            .starts_with("flows[0].algorithm.struct_ops: unknown struct_ops \"reno\" of aimd.bpf.o (allowed: aimd)")
    );
    assert!(said(", params = { beta = -1 }").starts_with("flows[0].algorithm.params.beta: "));
    assert!(said(", params = { betta = 1 }").contains("did you mean \"beta\"?"));
    let missing = Catalogue::builtin().with_source(Objects).read_toml(&scenario("")).unwrap_err().to_string();
    assert!(missing.starts_with("flows[0].algorithm.object: "), "{missing}");
}
