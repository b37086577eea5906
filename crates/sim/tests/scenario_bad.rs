//! Bad input: each case changes one thing in a good scenario; the message names the key, what is wrong, and what is
//! allowed.

use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{Table, Value};

const GOOD: &str = r#"
duration = "400 s"
warmup = "100 s"
packet_size = 1000

[[links]]
name = "first"
rate = "100 Mbit/s"
delay = "39 ms"
buffer = "250 packets"

[[links]]
name = "second"
rate = "100 Mbit/s"
delay = "10 ms"
buffer = "250 kB"

[[flows]]
algorithm = "reno"
path = ["first", "second"]
access_delay = "1 ms"

[[udp]]
rate = "1 Mbit/s"
path = ["first"]

[[web]]
algorithm = "newreno"
sessions = 20
mean_gap = "1 s"
mean_size = "12 kB"
path = ["second"]
"#;

/// What is replaced in the good scenario, by what, and what the message has to contain.
const CASES: &[(&str, &str, &[&str])] = &[
    // Keys.
    (
        "warmup =",
        "warm_up =",
        &["line 3: warm_up: unknown key \"warm_up\"; did you mean \"warmup\"?", "duration, warmup"],
    ),
    (
        "delay = \"39 ms\"",
        "dealy = \"39 ms\"",
        &["line 9: links[0].dealy: ", "did you mean \"delay\"?", "buffer, queue, loss"],
    ),
    ("access_delay =", "acess_delay =", &["flows[0].acess_delay: ", "did you mean \"access_delay\"?"]),
    ("sessions = 20", "\"x.y\\nz\" = 20", &["web[0].\"x.y\\nz\": unknown key \"x.y\\nz\" (allowed: "]),
    ("rate = \"1 Mbit/s\"", "rate = \"1 Mbit/s\"\nalgorithm = \"reno\"", &["udp[0].algorithm: unknown key"]),
    ("rate = \"1 Mbit/s\"", "", &["udp[0].rate: missing; write e.g. rate = \"1 Mbit/s\""]),
    // Frames.
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = \"30/s\"",
        &["line 25: udp[0].frames: expected a table, e.g. { per_second = 30, size = \"4 kB\" }; found text \"30/s\""],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { rate = 30 }",
        &["udp[0].frames.rate: unknown key \"rate\"", "(allowed: per_second, size, key_size, key_every)"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { size = \"1 kB\" }",
        &["udp[0].frames.per_second: missing; write e.g. per_second = 30"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 30 }",
        &["udp[0].frames.size: missing; write e.g. size = \"4 kB\""],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 0, size = \"1 kB\" }",
        &["udp[0].frames.per_second: 0 is out of range; allowed: numbers from 0.000001 to 1000000"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 30, size = 1000 }",
        &["udp[0].frames.size: 1000 has no unit"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 30, size = \"1 kB\", key_size = \"9 kB\" }",
        &["udp[0].frames.key_every: missing; write e.g. key_every = 150"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 30, size = \"1 kB\", key_every = 9 }",
        &["udp[0].frames.key_size: missing; write e.g. key_size = \"40 kB\""],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 30, size = \"1 kB\", key_size = \"9 kB\", key_every = 0 }",
        &["udp[0].frames.key_every: 0 is out of range; allowed: whole numbers from 1 to 1000000"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 125.1, size = \"1 kB\" }",
        &["udp[0].frames: they take 1.0008 Mbit/s in whole packets of 1000 bytes; allowed: at most rate, 1 Mbit/s"],
    ),
    ("duration = \"400 s\"", "", &["duration: missing; write e.g. duration = \"400 s\""]),
    ("name = \"first\"", "", &["line 6: links[0].name: missing"]),
    ("delay = \"39 ms\"", "", &["links[0].delay: missing"]),
    ("buffer = \"250 packets\"", "", &["links[0].buffer: missing; write e.g. buffer = \"250 packets\""]),
    ("algorithm = \"reno\"", "", &["line 18: flows[0].algorithm: missing"]),
    (
        "path = [\"first\"]",
        "",
        &["udp[0].path: missing; with more than one link a path is needed (links: first, second)"],
    ),
    // Names.
    (
        "\"reno\"",
        "\"reon\"",
        &["line 19: flows[0].algorithm: unknown algorithm \"reon\"; did you mean \"reno\"? (allowed: tahoe, reno"],
    ),
    (
        "\"reno\"",
        "{ name = \"reon\" }",
        &["flows[0].algorithm.name: unknown algorithm \"reon\"; did you mean \"reno\"?"],
    ),
    ("\"reno\"", "{ alpha = 2 }", &["flows[0].algorithm.name: missing"]),
    ("\"reno\"", "{ name = 3 }", &["flows[0].algorithm.name: expected an algorithm's name, found the whole number 3"]),
    (
        "\"reno\"",
        "{ name = \"reno\", gain = 2 }",
        &["flows[0].algorithm.gain: unknown key \"gain\" (allowed: name, abe)"],
    ),
    ("\"newreno\"", "7", &["web[0].algorithm: expected an algorithm", "found the whole number 7"]),
    (
        "\"reno\"",
        "\"reno\"\nrecovery = \"sacks\"",
        &[
            "flows[0].recovery: unknown recovery \"sacks\"; did you mean \"sack\"? (allowed: tahoe, reno, newreno, sack, rack, vegas)",
        ],
    ),
    (
        "\"reno\"",
        "\"reno\"\nrecovery = \"newreno\"\nprr = true",
        &["flows[0].prr: recovery \"newreno\" does without; allowed: with recovery \"sack\" or \"rack\""],
    ),
    ("\"reno\"", "\"reno\"\nname = \"\"", &["flows[0].name: \"\" is not a name; write at least one printable"]),
    ("\"reno\"", "\"reno\"\nname = 3", &["flows[0].name: expected text, e.g. \"ours\"; found the whole number 3"]),
    ("\"newreno\"", "\"newreno\"\nname = \"web\"", &["web[0].name: unknown key \"name\""]),
    ("\"reno\"", "\"reno\"\nprr = \"on\"", &["flows[0].prr: expected", "found text \"on\""]),
    (
        "\"reno\"",
        "\"reno\"\nhandshake = 1",
        &["flows[0].handshake: expected true or false, e.g. true; found the whole number 1"],
    ),
    (
        "\"reno\"",
        "\"reno\"\nslow_start = \"histart\"",
        &[
            "flows[0].slow_start: unknown slow start \"histart\"; did you mean \"hystart\"? (allowed: standard, hystart++, hystart)",
        ],
    ),
    (
        "\"reno\"",
        "\"reno\"\npacing = \"onn\"",
        &["flows[0].pacing: unknown pacing \"onn\"; did you mean \"on\"? (allowed: algorithm, on, off)"],
    ),
    (
        "\"reno\"",
        "\"reno\"\nhost = \"linus\"",
        &["flows[0].host: unknown host \"linus\"; did you mean \"linux\"? (allowed: classic, linux)"],
    ),
    ("\"reno\"", "\"reno\"\nslow_start = true", &["flows[0].slow_start: expected", "found true"]),
    (
        "delay = \"39 ms\"",
        "delay = \"39 ms\"\nqueue = \"droptail\"",
        &[
            "line 10: links[0].queue: unknown queue \"droptail\"; did you mean \"drop-tail\"? (allowed: drop-tail, red, ared, codel, fq-codel, pie, dualpi2, step)",
        ],
    ),
    ("\"second\"\nrate", "\"first\"\nrate", &["links[1].name: \"first\" is already the name of links[0]"]),
    ("name = \"first\"", "name = \"\"", &["links[0].name: \"\" is not a name"]),
    // Parameters of algorithms.
    (
        "\"reno\"",
        "{ name = \"vegas\", alhpa = 2 }",
        &[
            "flows[0].algorithm.alhpa: unknown key \"alhpa\"; did you mean \"alpha\"? (allowed: name, alpha, beta, gamma",
        ],
    ),
    (
        "\"reno\"",
        "{ name = \"vegas\", alpha = -1 }",
        &["line 19: flows[0].algorithm.alpha: -1 is out of range; allowed: numbers from 0 to 1000000 (segments)"],
    ),
    (
        "\"reno\"",
        "{ name = \"vegas\", alpha = nan }",
        &["line 19: flows[0].algorithm.alpha: NaN is out of range; allowed: numbers from 0 to 1000000 (segments)"],
    ),
    (
        "\"reno\"",
        "{ name = \"vegas\", alpha = \"2\" }",
        &["flows[0].algorithm.alpha: expected a number, e.g. 0.5; found text \"2\""],
    ),
    (
        "\"reno\"",
        "{ name = \"vegas\", alpha = [2] }",
        &["flows[0].algorithm.alpha: expected a number, e.g. 0.5", "found a list"],
    ),
    (
        "\"reno\"",
        "{ name = \"bic\", search = \"linear\\nsearch\" }",
        &["flows[0].algorithm.search: unknown choice \"linear\\nsearch\" (allowed: binary, smooth)"],
    ),
    (
        "\"reno\"",
        "{ name = \"bic\", fast_convergence = 1 }",
        &["flows[0].algorithm.fast_convergence: expected true or false, e.g. true; found the whole number 1"],
    ),
    // ECN.
    (
        "\"reno\"",
        "\"reno\"\necn = \"clasic\"",
        &[
            "line 20: flows[0].ecn: unknown kind of ECN \"clasic\"; did you mean \"classic\"? (allowed: off, classic, accurate, ace)",
        ],
    ),
    ("\"newreno\"", "\"newreno\"\necn = \"on\"", &["web[0].ecn: unknown kind of ECN \"on\"", "(allowed: off, classic"]),
    (
        "\"reno\"",
        "\"reno\"\necn = true",
        &["flows[0].ecn: expected text, one of off, classic, accurate, ace; found true"],
    ),
    ("\"reno\"", "\"reno\"\nect = 2", &["flows[0].ect: 2 is out of range; allowed: whole numbers from 0 to 1"]),
    ("\"reno\"", "\"reno\"\nect = -1", &["flows[0].ect: -1 is out of range"]),
    ("\"reno\"", "\"reno\"\nect = \"1\"", &["flows[0].ect: expected a whole number", "found text \"1\""]),
    ("rate = \"1 Mbit/s\"", "rate = \"1 Mbit/s\"\necn = \"classic\"", &["udp[0].ecn: unknown key"]),
    // Paths.
    (
        "[\"first\", \"second\"]",
        "[\"fist\"]",
        &["flows[0].path: unknown link \"fist\"; did you mean \"first\"? (allowed: first, second)"],
    ),
    ("[\"first\", \"second\"]", "[]", &["flows[0].path: empty; name at least one link (links: first, second)"]),
    (
        "[\"first\", \"second\"]",
        "[\"first\", \"second\", \"first\"]",
        &["flows[0].path: a loop: \"first\" is crossed twice"],
    ),
    ("[\"first\", \"second\"]", "\"first\"", &["flows[0].path: expected a list of links", "found text \"first\""]),
    ("[\"first\", \"second\"]", "[1]", &["flows[0].path: the whole number 1 is not a link's name"]),
    // Units and types.
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"100\"\ndelay = \"39",
        &["line 8: links[0].rate: \"100\" has no unit; write e.g. \"100 Mbit/s\""],
    ),
    ("\"39 ms\"", "39", &["links[0].delay: 39 has no unit; write e.g. \"80 ms\""]),
    (
        "\"39 ms\"",
        "\"39 msec\"",
        &["links[0].delay: unknown unit \"msec\"; did you mean \"ms\"? (allowed: ns, us, ms, s, min)"],
    ),
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"100 Mbps\"\ndelay = \"39",
        &["links[0].rate: unknown unit \"Mbps\"", "(allowed: bit/s, kbit/s, Mbit/s, Gbit/s)"],
    ),
    ("\"100 Mbit/s\"\ndelay = \"39", "\"fast\"\ndelay = \"39", &["links[0].rate: \"fast\" is not a number and a unit"]),
    ("\"39 ms\"", "true", &["links[0].delay: expected text with a unit", "found true"]),
    ("\"39 ms\"", "2026-11-21", &["links[0].delay: expected text with a unit", "found a date"]),
    ("\"250 packets\"", "250", &["links[0].buffer: 250 has no unit; write e.g. \"250 packets\""]),
    (
        "\"250 packets\"",
        "\"250 bananas\"",
        &["links[0].buffer: unknown unit \"bananas\"", "packets, BDP, B, kB, MB, GB, ns, us, ms, s, min", "\"50 ms\""],
    ),
    ("\"250 packets\"", "\"50 msec\"", &["links[0].buffer: unknown unit \"msec\"; did you mean \"ms\"?"]),
    ("sessions = 20", "sessions = 2.5", &["web[0].sessions: expected a whole number", "found the number 2.5"]),
    ("packet_size = 1000", "packet_size = \"big\"", &["packet_size: \"big\" is not a number and a unit"]),
    (
        "path = [\"first\"]",
        "path = [\"first\"]\nreverse = 1",
        &["udp[0].reverse: expected true or false", "found the whole number 1"],
    ),
    ("[[udp]]", "[udp]", &["udp: expected a list of tables, written [[udp]], found a table"]),
    (
        "\"reno\"",
        "\"reno\"\nsize = \"1 mile\"",
        &["flows[0].size: unknown unit \"mile\"", "segments, packets, B, kB, MB, GB"],
    ),
    // Values out of range.
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"0 bit/s\"\ndelay = \"39",
        &["links[0].rate: \"0 bit/s\" is out of range; allowed: 1 bit/s to 10000 Gbit/s"],
    ),
    ("\"100 Mbit/s\"\ndelay = \"39", "\"-5 Mbit/s\"\ndelay = \"39", &["links[0].rate: \"-5 Mbit/s\" is out of range"]),
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"11000 Gbit/s\"\ndelay = \"39",
        &["links[0].rate: \"11000 Gbit/s\" is out of range"],
    ),
    ("\"39 ms\"", "\"NaN ms\"", &["links[0].delay: \"NaN ms\" is not a finite number"]),
    ("\"39 ms\"", "\"-1 ms\"", &["links[0].delay: \"-1 ms\" is out of range; allowed: 0 s to 100 s"]),
    ("\"39 ms\"", "\"1e300 s\"", &["links[0].delay: \"1e300 s\" is out of range"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = 1.5",
        &["links[0].loss: 1.5 is out of range; allowed: probabilities from 0 to less than 1"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nloss = nan", &["links[0].loss: NaN is out of range"]),
    ("\"400 s\"", "\"2e6 s\"", &["duration: \"2e6 s\" is out of range", "to 1000000 s"]),
    ("\"400 s\"", "\"0 s\"", &["duration: \"0 s\" is out of range; allowed: 1 us"]),
    (
        "warmup = \"100 s\"",
        "warmup = \"400 s\"",
        &["warmup: 400 s leaves nothing to measure; allowed: less than duration, 400 s"],
    ),
    (
        "packet_size = 1000",
        "packet_size = 40",
        &["packet_size: 40 is out of range; allowed: whole numbers from 41 to 65535"],
    ),
    (
        "packet_size = 1000",
        "packet_size = \"70 kB\"",
        &["packet_size: \"70 kB\" is out of range; allowed: 41 B to 65.535 kB"],
    ),
    ("packet_size = 1000", "seed = -1", &["seed: -1 is out of range"]),
    (
        "packet_size = 1000",
        "series_interval = \"1 ns\"",
        &["series_interval: \"1 ns\" gives 1200000000000 rows; allowed: at most 100000000"],
    ),
    ("\"250 packets\"", "\"0 packets\"", &["links[0].buffer: \"0 packets\" is out of range; allowed: 1 packets"]),
    ("\"250 packets\"", "\"0 ms\"", &["links[0].buffer: \"0 ms\" is out of range; allowed: 1 ns to 1000000 s"]),
    ("\"250 packets\"", "\"2e6 s\"", &["links[0].buffer: \"2e6 s\" is out of range; allowed: 1 ns to 1000000 s"]),
    ("\"250 packets\"", "\"-5 ms\"", &["links[0].buffer: \"-5 ms\" is out of range"]),
    ("\"250 packets\"", "\"999 B\"", &["links[0].buffer: \"999 B\" is less than one packet of 1000 bytes"]),
    ("\"250 packets\"", "\"-1 BDP\"", &["links[0].buffer: \"-1 BDP\" is out of range; allowed: more than 0 BDP"]),
    ("\"250 packets\"", "\"1e30 BDP\"", &["links[0].buffer: \"1e30 BDP\" is ", "allowed: at most 1000000000000"]),
    (
        "\"reno\"",
        "\"reno\"\ncount = 0",
        &["flows[0].count: 0 is out of range; allowed: whole numbers from 1 to 1000000"],
    ),
    (
        "\"reno\"",
        "\"reno\"\ncount = 1000000",
        &["flows: 1000021 flows, sources and sessions in all; allowed: at most 1000000"],
    ),
    ("\"reno\"", "\"reno\"\nstart = \"5 s\"\nstop = \"5 s\"", &["flows[0].stop: 5 s is not after start, 5 s"]),
    ("\"reno\"", "\"reno\"\nstart = \"400 s\"", &["flows[0].start: 400 s is not before the end of the run, 400 s"]),
    ("\"1 ms\"", "\"250 ms..80 ms\"", &["flows[0].access_delay: \"250 ms..80 ms\" runs backwards"]),
    ("\"1 ms\"", "\"80..250 ms\"", &["flows[0].access_delay: \"80\" has no unit"]),
    (
        "\"reno\"",
        "\"reno\"\ndelayed_ack_timeout = \"600 ms\"",
        &["flows[0].delayed_ack_timeout: \"600 ms\" is out of range; allowed: 1 us to 500 ms"],
    ),
    ("\"reno\"", "\"reno\"\ninitial_window = 0", &["flows[0].initial_window: 0 is out of range"]),
    ("\"reno\"", "\"reno\"\nprocessing_time = \"2 s\"", &["flows[0].processing_time: \"2 s\" is out of range"]),
    ("\"reno\"", "\"reno\"\nmin_rto = \"0 ms\"", &["flows[0].min_rto: \"0 ms\" is out of range"]),
    (
        "rate = \"1 Mbit/s\"\npath = [\"first\"]",
        "rate = \"1 Mbit/s\"\npath = [\"second\"]\npacket_size = 65536",
        &["udp[0].packet_size: 65536 is out of range"],
    ),
    ("\"12 kB\"", "\"12 kB\"\nshape = 1", &["web[0].shape: 1 is out of range; allowed: numbers above 1, to 100"]),
    // What varies.
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { p = 0.1, r = 0.5 }",
        &["links[0].loss.model: missing; write e.g. model = \"gilbert-elliott\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { model = \"gilbert\" }",
        &["links[0].loss.model: unknown model \"gilbert\"; did you mean \"gilbert-elliott\"?"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { model = \"gilbert-elliott\", r = 0.5 }",
        &["links[0].loss.p: missing; write e.g. p = 0.01"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { model = \"gilbert-elliott\", p = 0.1, r = 2 }",
        &["line 10: links[0].loss.r: 2 is out of range; allowed: probabilities from 0 to 1"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { model = \"gilbert-elliott\", p = 0.1, r = 0.5, q = 1 }",
        &["links[0].loss.q: unknown key \"q\" (allowed: model, p, r, h, k)"],
    ),
    ("\"39 ms\"", "\"39 ms\"\ntrace = [1, 2]", &["links[0].trace: cannot stand beside rate; write one or the other"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = \"lte.down\" }",
        &["links[0].reverse.trace: \"lte.down\" is the name of a file, which cannot be read here"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = [] }",
        &["links[0].reverse.trace: no opportunities; write a millisecond for each"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = [0] }",
        &["links[0].reverse.trace: it ends at 0; the last time is how long it is"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = [3, 2] }",
        &["links[0].reverse.trace: entry 2: 2 comes after 3; times never decrease"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = [3, 4.5] }",
        &["links[0].reverse.trace: entry 2: the number 4.5 is no whole number of milliseconds from 0 to 1000000000"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = 3 }",
        &["links[0].reverse.trace: expected a file or a list, e.g. \"lte.down\"; found the whole number 3"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { trace = [1], schedule = [{ at = \"1 s\", delay = \"1 ms\" }, { at = \"2 s\", rate = \"1 Mbit/s\" }] }",
        &["line 10: links[0].reverse.schedule[1].rate: cannot stand beside a trace, which is the rate"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", rate = \"10 Mbit\" }]",
        &["line 10: links[0].schedule[0].rate: unknown unit \"Mbit\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = { at = \"5 s\" }",
        &["links[0].schedule: expected a list of tables, e.g. [{ at = \"5 s\", rate = \"10 Mbit/s\" }]; found a table"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [\"5 s\"]",
        &["links[0].schedule: expected a list of tables", "found text \"5 s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ rate = \"10 Mbit/s\" }]",
        &["links[0].schedule[0].at: missing; write e.g. at = \"5 s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\" }]",
        &["links[0].schedule[0].at: nothing changes then; write rate, delay or loss beside it"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", buffer = \"1 packet\" }]",
        &["links[0].schedule[0].buffer: unknown key \"buffer\" (allowed: at, rate, delay, loss)"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 1.5 }]",
        &["links[0].schedule[0].loss: 1.5 is out of range; allowed: probabilities from 0 to 1"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 0 }, { at = \"5 s\", loss = 1 }]",
        &["links[0].schedule[1].at: 5 s is not after the change before, 5 s"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 0 }]\nrepeat = \"5 s\"",
        &["line 11: links[0].repeat: 5 s is not after the last change, 5 s"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nrepeat = \"5 s\"", &["links[0].repeat: of what? write a schedule beside it"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = \"7 ms\"",
        &[
            "links[0].jitter: expected a table or \"off\", e.g. { model = \"wifi\", mean = \"7 ms\" }; found text \"7 ms\"",
        ],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { mean = \"7 ms\" }",
        &["links[0].jitter.model: missing; write e.g. model = \"wifi\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wlan\", mean = \"7 ms\" }",
        &["links[0].jitter.model: unknown model \"wlan\" (allowed: uniform, normal, wifi)"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\" }",
        &["links[0].jitter.mean: missing; write e.g. mean = \"7 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\", mean = \"0.5 ms\" }",
        &["links[0].jitter.mean: \"0.5 ms\" is out of range; allowed: 1 ms to 91 ms"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\", mean = \"7 ms\", spread = \"1 ms\" }",
        &["links[0].jitter.spread: the wifi model has none of its own"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"normal\", mean = \"7 ms\" }",
        &["links[0].jitter.spread: missing; write e.g. spread = \"2 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"uniform\", mean = \"7 ms\", spread = \"8 ms\" }",
        &["links[0].jitter.spread: \"8 ms\" is out of range; allowed: 0 s to 7 ms"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreorder = 0.01",
        &[
            "links[0].reorder: expected a table or \"off\", e.g. { probability = 0.01, delay = \"20 ms\" }; found the number 0.01",
        ],
    ),
    ("\"39 ms\"", "\"39 ms\"\nreorder = { delay = \"20 ms\" }", &["links[0].reorder.probability: missing"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreorder = { probability = 0.01 }",
        &["links[0].reorder.delay: missing; write e.g. delay = \"20 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreorder = { probability = 0.01, delay = \"0 s\" }",
        &["links[0].reorder.delay: \"0 s\" is out of range; allowed: 1 ns to 100 s"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\naggregation = \"0 ms\"",
        &["links[0].aggregation: \"0 ms\" is out of range; allowed: 1 ns to 100 s"],
    ),
    ("\"39 ms\"", "\"39 ms\"\naggregation = 4", &["links[0].aggregation: 4 has no unit"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\npolicer = { burst = \"250 kB\" }",
        &["links[0].policer.rate: missing; write e.g. rate = \"10 Mbit/s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\npolicer = { rate = \"1 Mbit/s\" }",
        &["links[0].policer.burst: missing; write e.g. burst = \"250 kB\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\npolicer = { rate = \"1 Mbit/s\", burst = \"999 B\" }",
        &["links[0].policer.burst: 999 bytes is less than one packet of 1000 bytes"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { policer = { rate = \"1 Mbit/s\", burst = \"999 B\" } }",
        &["line 10: links[0].reverse.policer.burst: 999 bytes is less than one packet of 1000 bytes"],
    ),
    // The other direction.
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = \"1 Mbit/s\"",
        &["line 10: links[0].reverse: expected a table, e.g. { rate = \"1 Mbit/s\" }; found text \"1 Mbit/s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { rat = \"1 Mbit/s\" }",
        &[
            "links[0].reverse.rat: unknown key \"rat\"; did you mean \"rate\"? (allowed: rate, delay, buffer, queue, loss",
        ],
    ),
    ("\"39 ms\"", "\"39 ms\"\nreverse = { name = \"x\" }", &["links[0].reverse.name: unknown key \"name\""]),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { rate = \"0 bit/s\" }",
        &["line 10: links[0].reverse.rate: \"0 bit/s\" is out of range"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { buffer = \"999 B\" }",
        &["links[0].reverse.buffer: \"999 B\" is less than one packet of 1000 bytes"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nreverse = { loss = 1 }", &["links[0].reverse.loss: 1 is out of range"]),
    ("\"39 ms\"", "\"39 ms\"\nreverse = { queue = \"fifo\" }", &["links[0].reverse.queue: unknown queue \"fifo\""]),
    // Web traffic's two forms.
    ("mean_gap = \"1 s\"", "", &["web[0].mean_gap: missing"]),
    ("sessions = 20", "", &["web[0].sessions: missing"]),
    (
        "sessions = 20\nmean_gap = \"1 s\"",
        "",
        &["web[0].sessions: missing; write sessions and mean_gap, or transfers_per_second"],
    ),
    (
        "sessions = 20",
        "sessions = 20\ntransfers_per_second = 2",
        &["web[0].transfers_per_second: ", "write one or the other"],
    ),
    (
        "sessions = 20\nmean_gap = \"1 s\"",
        "transfers_per_second = 0",
        &["web[0].transfers_per_second: 0 is out of range; allowed: numbers from 0.000001 to 1000000"],
    ),
    (
        "sessions = 20\nmean_gap = \"1 s\"",
        "transfers_per_second = 1e-300",
        &["web[0].transfers_per_second: ", " is out of range; allowed: numbers from 0.000001 to 1000000"],
    ),
    // TOML itself.
    ("\"400 s\"", "\"400 s", &["line 2: not TOML: "]),
    ("\"400 s\"", "400 s", &["line 2: not TOML: "]),
    ("warmup = \"100 s\"", "duration = \"1 s\"", &["line 3: not TOML: duplicate key"]),
    ("warmup = \"100 s\"", "warmup =", &["line 3: not TOML: "]),
    ("[[flows]]", "[[flows]", &["line 18: not TOML: "]),
];

/// The queue of the first link, and what the message has to say of it.
const QUEUES: &[(&str, &[&str])] = &[
    ("7", &[": expected a queue, e.g. \"drop-tail\" or { name = \"codel\"", "found the whole number 7"]),
    ("[\"codel\"]", &[": expected a queue", "found a list"]),
    ("\"coddle\"", &[": unknown queue \"coddle\"; did you mean \"codel\"?"]),
    ("{ target = \"5 ms\" }", &[".name: missing; write e.g. \"drop-tail\" or { name = \"codel\", target = \"5 ms\" }"]),
    ("{ name = 3 }", &[".name: expected a queue's name, found the whole number 3"]),
    ("{ name = \"fqcodel\" }", &[".name: unknown queue \"fqcodel\"; did you mean \"fq-codel\"? (allowed: drop-tail, "]),
    (
        "{ name = \"codel\", tarte = \"5 ms\" }",
        &[
            ".tarte: unknown key \"tarte\"; did you mean \"target\"? (allowed: name, variant, target, interval, ecn, sqrt, mtu, ce_threshold)",
        ],
    ),
    ("{ name = \"drop-tail\", target = \"5 ms\" }", &[".target: unknown key \"target\" (allowed: name)"]),
    // Times.
    ("{ name = \"codel\", target = 5 }", &[".target: 5 has no unit; write e.g. \"80 ms\""]),
    ("{ name = \"codel\", target = \"5\" }", &[".target: \"5\" has no unit"]),
    (
        "{ name = \"codel\", target = \"5 packets\" }",
        &[".target: unknown unit \"packets\" (allowed: ns, us, ms, s, min)"],
    ),
    ("{ name = \"codel\", target = \"0 s\" }", &[".target: \"0 s\" is out of range; allowed: 1 us to 10 s"]),
    ("{ name = \"pie\", update = \"1 h\" }", &[".update: unknown unit \"h\""]),
    ("{ name = \"dualpi2\", target = \"-1 ms\" }", &[".target: \"-1 ms\" is out of range"]),
    // Amounts of data and packets.
    ("{ name = \"codel\", mtu = \"0 B\" }", &[".mtu: \"0 B\" is out of range; allowed: 1 B to 1.048576 MB"]),
    ("{ name = \"codel\", mtu = 1500 }", &[".mtu: 1500 has no unit; write e.g. \"250 kB\""]),
    ("{ name = \"fq-codel\", quantum = \"255 B\" }", &[".quantum: \"255 B\" is out of range; allowed: 256 B to "]),
    (
        "{ name = \"red\", min_th = \"5 ms\" }",
        &[".min_th: unknown unit \"ms\" (allowed: segment, segments, packet, packets)"],
    ),
    (
        "{ name = \"ared\", max_th = \"0 packets\" }",
        &[".max_th: \"0 packets\" is out of range; allowed: 1 packets to "],
    ),
    // Of two that need an order, given or by default.
    (
        "{ name = \"red\", min_th = \"20 packets\", max_th = \"20 packets\" }",
        &[".min_th: \"20 packets\" is not below max_th, \"20 packets\""],
    ),
    ("{ name = \"red\", min_th = \"15 packets\" }", &[".min_th: \"15 packets\" is not below max_th, \"15 packets\""]),
    ("{ name = \"red\", max_th = \"4 packets\" }", &[".min_th: \"5 packets\" is not below max_th, \"4 packets\""]),
    (
        "{ name = \"ared\", min_th = \"9 packets\", max_th = \"8 packets\" }",
        &[".min_th: \"9 packets\" is not below max_th, \"8 packets\""],
    ),
    ("{ name = \"ared\", bottom = 0.6 }", &[".bottom: 0.6 is not at most top, 0.5"]),
    // Packets or a time.
    ("{ name = \"step\", threshold = 65 }", &[".threshold: 65 has no unit; write e.g. \"65 packets\""]),
    (
        "{ name = \"step\", threshold = \"65 kB\" }",
        &[
            ".threshold: unknown unit \"kB\"",
            "(allowed: segment, segments, packet, packets, ns, us, ms, s, min); write e.g. \"65 packets\" or \"1 ms\"",
        ],
    ),
    (
        "{ name = \"step\", threshold = \"0 packets\" }",
        &[".threshold: \"0 packets\" is out of range; allowed: 1 packets to "],
    ),
    ("{ name = \"step\", threshold = \"101 s\" }", &[".threshold: \"101 s\" is out of range; allowed: 0 s to 100 s"]),
    ("{ name = \"step\", threshold = \"many\" }", &[".threshold: \"many\" is not a number and a unit"]),
    ("{ name = \"step\", threshold = true }", &[".threshold: expected text with a unit", "found true"]),
    // Numbers, flags, names.
    ("{ name = \"fq-codel\", flows = 0 }", &[".flows: 0 is out of range; allowed: whole numbers from 1 to 65535"]),
    ("{ name = \"fq-codel\", flows = 2.5 }", &[".flows: expected a whole number", "found the number 2.5"]),
    ("{ name = \"red\", w_q = 0 }", &[".w_q: 0 is out of range; allowed: numbers from 0.000001 to 1"]),
    ("{ name = \"pie\", ecn_threshold = nan }", &[".ecn_threshold: NaN is out of range; allowed: numbers from 0 to 1"]),
    ("{ name = \"dualpi2\", k = \"2\" }", &[".k: expected a number", "found text \"2\""]),
    ("{ name = \"codel\", ecn = 1 }", &[".ecn: expected true or false", "found the whole number 1"]),
    ("{ name = \"codel\", ecn = \"classic\" }", &[".ecn: expected true or false", "found text \"classic\""]),
    (
        "{ name = \"codel\", sqrt = \"newtn\" }",
        &[".sqrt: unknown choice \"newtn\"; did you mean \"newton\"? (allowed: exact, newton)"],
    ),
    ("{ name = \"pie\", variant = true }", &[".variant: expected text, one of rfc, linux; found true"]),
];

/// As the command line shows it.
fn shown(text: &str) -> String {
    let problem = Scenario::from_toml(text).expect_err(text);
    let line = problem.line.map_or(String::new(), |line| format!("line {line}: "));
    format!("{line}{problem}")
}

#[test]
fn the_scenario_the_cases_start_from_is_good() {
    Scenario::from_toml(GOOD).expect("good");
}

#[test]
fn each_fault_is_named_in_one_line() {
    for (from, to, expected) in CASES {
        assert!(GOOD.contains(from), "{from} is not in the good scenario");
        let text = GOOD.replacen(from, to, 1);
        let message = shown(&text);
        assert!(!message.contains('\n') && message.len() < 450, "{message}");
        for part in *expected {
            assert!(message.contains(part), "{from} -> {to}\n  expected: {part}\n  found:    {message}");
        }
    }
}

#[test]
fn each_fault_of_a_queue_is_named_in_one_line() {
    for (queue, expected) in QUEUES {
        let message = shown(&GOOD.replacen("\"39 ms\"", &format!("\"39 ms\"\nqueue = {queue}"), 1));
        assert!(message.starts_with("line 10: links[0].queue"), "{message}");
        assert!(!message.contains('\n') && message.len() < 450, "{message}");
        for part in *expected {
            assert!(message.contains(part), "{queue}\n  expected: {part}\n  found:    {message}");
        }
    }
}

/// Every parameter of every queue refuses what lies beyond its bounds and what is of another kind, and names itself.
#[test]
fn every_parameter_of_a_queue_has_bounds() {
    use fullpipe_sim::queues::{self, Kind, Value as Given, written};
    for info in queues::ALL {
        for param in info.params {
            let beyond = match param.kind {
                Kind::Time { max, .. } => written(Given::Time(2 * max)),
                Kind::Packets { max, .. } => written(Given::Packets(2 * max)),
                Kind::Bytes { max, .. } => written(Given::Bytes(2 * max)),
                Kind::PacketsOrTime => "1000 s".into(),
                Kind::Number { max, .. } => written(Given::Number(2.0 * max)),
                Kind::Whole { max, .. } => written(Given::Whole(2 * max)),
                Kind::Flag => 1_i64.into(),
                Kind::Choice(_) => "none of these".into(),
            };
            for value in [beyond, Value::Array(vec![])] {
                let mut scenario: Table = GOOD.parse().expect("TOML");
                let mut queue = Table::new();
                queue.insert("name".to_owned(), info.name.into());
                queue.insert(param.name.to_owned(), value);
                scenario["links"][0].as_table_mut().expect("a link").insert("queue".to_owned(), Value::Table(queue));
                let problem = Scenario::from_value(&scenario).expect_err(param.name);
                assert_eq!(problem.key, format!("links[0].queue.{}", param.name), "{}: {problem}", info.name);
            }
        }
    }
}

#[test]
fn more_links_than_packets_count() {
    let with = |links: usize, path: usize, traffic: &str| {
        let link =
            |index| format!("[[links]]\nname = \"{index}\"\nrate = \"1 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"1 MB\"\n");
        let path: Vec<_> = (0..path).map(|index| format!("\"{index}\"")).collect();
        let links: String = (0..links).map(link).collect();
        format!("duration = \"1 s\"\n{links}{traffic}\npath = [{}]", path.join(", "))
    };
    let udp = "[[udp]]\nrate = \"1 kbit/s\"";
    assert!(Scenario::from_toml(&with(128, 127, udp)).is_ok());
    assert_eq!(shown(&with(128, 128, udp)), "line 644: udp[0].path: 128 links; allowed: at most 127");
    assert_eq!(shown(&with(10_001, 1, udp)), "line 2: links: 10001 links; allowed: at most 10000");
    let linux = "[[flows]]\nalgorithm = \"reno\"\nhost = \"linux\"";
    assert!(Scenario::from_toml(&with(64, 63, linux)).is_ok());
    let what = "line 322: flows[0].handshake: the path crosses 64 links; allowed: false, or true with at most 63";
    assert_eq!(shown(&with(64, 64, linux)), what);
}

#[test]
fn parts_that_are_missing_as_a_whole() {
    let link = "[[links]]\nname = \"l\"\nrate = \"1 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"1 BDP\"\n";
    let cases = [
        (String::new(), "duration: missing"),
        ("duration = \"1 s\"".to_owned(), "links: missing; add at least one [[links]] table"),
        ("duration = \"1 s\"\nlinks = []".to_owned(), "links: missing"),
        (
            "duration = \"1 s\"\nlinks = 3".to_owned(),
            "links: expected a list of tables, written [[links]], found the whole number 3",
        ),
        (
            format!("duration = \"1 s\"\n{}", link.replace("BDP", "packets")),
            "flows: missing; add at least one [[flows]], [[udp]] or [[web]] table",
        ),
        (
            format!("duration = \"1 s\"\n{link}[[flows]]\nalgorithm = \"reno\""),
            "links[0].buffer: \"1 BDP\" of a path without delay is nothing",
        ),
        (
            format!(
                "duration = \"1 s\"\n{}[[udp]]\nrate = \"1 kbit/s\"\npacket_size = 3000",
                link.replace("1 BDP", "2 kB")
            ),
            "links[0].buffer: 2000 bytes is less than one UDP packet of 3000 bytes",
        ),
        (
            format!("duration = \"1 s\"\n{link}[[udp]]\nrate = \"1 kbit/s\""),
            "links[0].buffer: \"1 BDP\" needs a TCP flow that crosses the link",
        ),
    ];
    for (text, expected) in cases {
        let message = shown(&text);
        assert!(message.contains(expected), "expected: {expected}\nfound:    {message}");
    }
}

/// Copies of `value`, each with `nasty` in the place of one value or key inside it, or of the whole.
fn spoiled(value: &Value, nasty: &Value) -> Vec<Value> {
    let mut copies = vec![nasty.clone()];
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                copies.extend(spoiled(value, nasty).into_iter().map(|value| {
                    let mut copy = table.clone();
                    copy.insert(key.clone(), value);
                    Value::Table(copy)
                }));
                let mut renamed = table.clone();
                renamed.remove(key);
                renamed.insert(nasty.as_str().unwrap_or(key).to_owned(), value.clone());
                copies.push(Value::Table(renamed));
            }
        }
        Value::Array(list) => {
            for i in 0..list.len() {
                copies.extend(spoiled(&list[i], nasty).into_iter().map(|entry| {
                    let mut copy = list.clone();
                    copy[i] = entry;
                    Value::Array(copy)
                }));
            }
        }
        _ => {}
    }
    copies
}

#[test]
fn messages_stay_short_and_printable_whatever_stands_in_the_scenario() {
    let good = GOOD.replace("\"reno\"", "{ name = \"vegas\", alpha = 2 }\necn = \"classic\"\nect = 1");
    let queue = "\"39 ms\"\nqueue = { name = \"codel\", target = \"5 ms\", sqrt = \"newton\", ecn = true }";
    let good: Table = good.replace("\"39 ms\"", queue).parse().expect("TOML");
    let long = "x".repeat(100_000);
    let nasty = [
        Value::from("\u{1b}[2J\u{202e}\u{7}\n[red]$x$".repeat(1000)),
        Value::from(format!("{long}\u{2066}")),
        Value::from(format!("1 {long}")),
        Value::from(long),
        Value::from(f64::MAX),
        Value::from(-f64::MIN_POSITIVE),
        Value::from(i64::MIN),
        Value::Array(vec![Value::Integer(1); 100_000]),
    ];
    let mut refused = 0;
    for nasty in &nasty {
        for copy in spoiled(&Value::Table(good.clone()), nasty) {
            let Value::Table(table) = copy else { continue };
            let Err(problem) = Scenario::from_value(&table) else { continue };
            let message = problem.to_string();
            assert!(message.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{message:?}");
            assert!(message.len() < 1500, "{} bytes: {}", message.len(), &message[..200]);
            refused += 1;
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn a_fault_in_a_long_key_has_its_line() {
    let text = GOOD.replacen("warmup", &"w".repeat(100), 1);
    assert!(shown(&text).starts_with("line 3: \"www"), "{}", shown(&text));
}
