//! Cases: a replacement in a good scenario, and parts of the message.

pub const GOOD: &str = r#"
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

/// Text of the good scenario, its replacement, and parts of the message.
pub const CASES: &[(&str, &str, &[&str])] = &[
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
        &["udp[0].frames.per_second: must be in [0.000001, 1000000], got 0"],
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
        &["udp[0].frames.key_every: must be in [1, 1000000], got 0"],
    ),
    (
        "rate = \"1 Mbit/s\"",
        "rate = \"1 Mbit/s\"\nframes = { per_second = 125.1, size = \"1 kB\" }",
        &["udp[0].frames: must take at most rate, 1 Mbit/s, got 1.0008 Mbit/s in whole packets of 1000 bytes"],
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
        &["flows[0].algorithm.gain: unknown key \"gain\" (allowed: name, whole_segments, abe)"],
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
        &["flows[0].prr: requires recovery = \"sack\" or \"rack\", got \"newreno\""],
    ),
    (
        "\"reno\"",
        "\"reno\"\nname = \"\"",
        &["flows[0].name: must have printable characters only, at least one, got \"\""],
    ),
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
            "flows[0].slow_start: unknown slow start \"histart\"; did you mean \"hystart\"? (allowed: standard, hystart++, hystart, search, rapid)",
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
        &["flows[0].host: unknown host \"linus\"; did you mean \"linux\"? (allowed: classic, linux, quic)"],
    ),
    (
        "\"reno\"",
        "\"reno\"\nslow_start = \"rapid\"\npacing = \"off\"",
        &["flows[0].slow_start: requires pacing = \"on\""],
    ),
    (
        "\"reno\"",
        "\"reno\"\nslow_start = \"rapid\"\nrecovery = \"newreno\"",
        &["flows[0].slow_start: requires recovery = \"sack\" or \"rack\""],
    ),
    (
        "\"reno\"",
        "\"reno\"\nresume = { cwnd = 400, rtt = \"50 ms\" }\npacing = \"algorithm\"",
        &["flows[0].resume: requires pacing = \"on\""],
    ),
    (
        "\"reno\"",
        "\"reno\"\nslow_start = \"search\"\nresume = { cwnd = 400, rtt = \"50 ms\" }",
        &["flows[0].resume: requires slow_start = \"standard\""],
    ),
    ("\"reno\"", "\"reno\"\nresume = { cwnd = 400 }", &["flows[0].resume.rtt: missing"]),
    ("\"reno\"", "\"reno\"\nresume = { cwnd = 0, rtt = \"1 s\" }", &["flows[0].resume.cwnd", "0"]),
    ("\"reno\"", "\"reno\"\nresume = 400", &["flows[0].resume: expected a table", "found the whole number 400"]),
    ("\"reno\"", "\"reno\"\nslow_start = true", &["flows[0].slow_start: expected", "found true"]),
    (
        "delay = \"39 ms\"",
        "delay = \"39 ms\"\nqueue = \"droptail\"",
        &[
            "line 10: links[0].queue: unknown queue \"droptail\"; did you mean \"drop-tail\"? (allowed: drop-tail, red, ared, codel, fq-codel, pie, fq-pie, cake, dualpi2, step)",
        ],
    ),
    ("\"second\"\nrate", "\"first\"\nrate", &["links[1].name: \"first\" is already the name of links[0]"]),
    (
        "name = \"first\"",
        "name = \"\"",
        &["links[0].name: must have printable characters only, at least one, got \"\""],
    ),
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
        &["line 19: flows[0].algorithm.alpha: must be in [0, 1000000] (segments), got -1"],
    ),
    (
        "\"reno\"",
        "{ name = \"vegas\", alpha = nan }",
        &["line 19: flows[0].algorithm.alpha: must be in [0, 1000000] (segments), got NaN"],
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
    ("\"reno\"", "\"reno\"\nect = 2", &["flows[0].ect: must be in [0, 1], got 2"]),
    ("\"reno\"", "\"reno\"\nect = -1", &["flows[0].ect: must be in [", "got -1"]),
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
        &["flows[0].path: must cross each link once, got \"first\" twice"],
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
        &["links[0].rate: must be in [1 bit/s, 10000 Gbit/s], got \"0 bit/s\""],
    ),
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"-5 Mbit/s\"\ndelay = \"39",
        &["links[0].rate: must be in [", "got \"-5 Mbit/s\""],
    ),
    (
        "\"100 Mbit/s\"\ndelay = \"39",
        "\"11000 Gbit/s\"\ndelay = \"39",
        &["links[0].rate: must be in [", "got \"11000 Gbit/s\""],
    ),
    ("\"39 ms\"", "\"NaN ms\"", &["links[0].delay: \"NaN ms\" is not a finite number"]),
    ("\"39 ms\"", "\"-1 ms\"", &["links[0].delay: must be in [0 s, 100 s], got \"-1 ms\""]),
    ("\"39 ms\"", "\"1e300 s\"", &["links[0].delay: must be in [", "got \"1e300 s\""]),
    ("\"39 ms\"", "\"39 ms\"\nloss = 1.5", &["links[0].loss: must be in [0, 1), got 1.5"]),
    ("\"39 ms\"", "\"39 ms\"\nloss = nan", &["links[0].loss: must be in [", "got NaN"]),
    ("\"400 s\"", "\"2e6 s\"", &["duration: must be in [1 us, 1000000 s], got \"2e6 s\""]),
    ("\"400 s\"", "\"0 s\"", &["duration: must be in [1 us", "got \"0 s\""]),
    ("warmup = \"100 s\"", "warmup = \"400 s\"", &["warmup: must be less than duration, 400 s, got 400 s"]),
    ("packet_size = 1000", "packet_size = 40", &["packet_size: must be in [41, 65535], got 40"]),
    ("packet_size = 1000", "packet_size = \"70 kB\"", &["packet_size: must be in [41 B, 65.535 kB], got \"70 kB\""]),
    ("packet_size = 1000", "seed = -1", &["seed: must be in [", "got -1"]),
    (
        "packet_size = 1000",
        "series_interval = \"1 ns\"",
        &["series_interval: must give at most 100000000 rows or be \"off\", got 1200000000000 rows by \"1 ns\""],
    ),
    ("\"250 packets\"", "\"0 packets\"", &["links[0].buffer: must be in [1 packets", "got \"0 packets\""]),
    ("\"250 packets\"", "\"0 ms\"", &["links[0].buffer: must be in [1 ns, 1000000 s], got \"0 ms\""]),
    ("\"250 packets\"", "\"2e6 s\"", &["links[0].buffer: must be in [1 ns, 1000000 s], got \"2e6 s\""]),
    ("\"250 packets\"", "\"-5 ms\"", &["links[0].buffer: must be in [", "got \"-5 ms\""]),
    ("\"250 packets\"", "\"999 B\"", &["links[0].buffer: \"999 B\" is less than one packet of 1000 bytes"]),
    ("\"250 packets\"", "\"-1 BDP\"", &["links[0].buffer: \"-1 BDP\" must be more than 0 BDP"]),
    ("\"250 packets\"", "\"1e30 BDP\"", &["links[0].buffer: \"1e30 BDP\" must be at most 1000000000000 packets"]),
    ("\"reno\"", "\"reno\"\ncount = 0", &["flows[0].count: must be in [1, 1000000], got 0"]),
    (
        "\"reno\"",
        "\"reno\"\ncount = 1000000",
        &["flows: must be at most 1000000 with sources and sessions, got 1000021"],
    ),
    ("\"reno\"", "\"reno\"\nstart = \"5 s\"\nstop = \"5 s\"", &["flows[0].stop: 5 s is not after start, 5 s"]),
    ("\"reno\"", "\"reno\"\nstart = \"400 s\"", &["flows[0].start: 400 s is not before the end of the run, 400 s"]),
    ("\"1 ms\"", "\"250 ms..80 ms\"", &["flows[0].access_delay: \"250 ms..80 ms\" runs backwards"]),
    ("\"1 ms\"", "\"80..250 ms\"", &["flows[0].access_delay: \"80\" has no unit"]),
    (
        "\"reno\"",
        "\"reno\"\nack_every = 4\ndelayed_ack = true",
        &["flows[0].ack_every: conflicts with delayed_ack, which is 2; write one of the two"],
    ),
    ("\"reno\"", "\"reno\"\nack_every = 1001", &["flows[0].ack_every: must be in [1, 1000], got 1001"]),
    (
        "rate = \"1 Mbit/s\"\npath = [\"first\"]",
        "rate = \"1 Mbit/s\"\npath = [\"home/*\"]",
        &["udp[0].path: \"home/*\" requires count in a link \"home\""],
    ),
    ("\"reno\"", "\"reno\"\nack_delay = \"40 ms\"", &["flows[0].ack_delay: requires ack_every"]),
    (
        "\"reno\"",
        "\"reno\"\nack_every = 4\nack_delay = \"3 s\"",
        &["flows[0].ack_delay: must be in [0 s, 2 s], got \"3 s\""],
    ),
    (
        "\"reno\"",
        "\"reno\"\ndelayed_ack_timeout = \"600 ms\"",
        &["flows[0].delayed_ack_timeout: must be in [1 us, 500 ms], got \"600 ms\""],
    ),
    ("\"reno\"", "\"reno\"\ninitial_window = 0", &["flows[0].initial_window: must be in [", "got 0"]),
    ("\"reno\"", "\"reno\"\nprocessing_time = \"2 s\"", &["flows[0].processing_time: must be in [", "got \"2 s\""]),
    ("\"reno\"", "\"reno\"\nmin_rto = \"0 ms\"", &["flows[0].min_rto: must be in [", "got \"0 ms\""]),
    (
        "rate = \"1 Mbit/s\"\npath = [\"first\"]",
        "rate = \"1 Mbit/s\"\npath = [\"second\"]\npacket_size = 65536",
        &["udp[0].packet_size: must be in [", "got 65536"],
    ),
    ("\"12 kB\"", "\"12 kB\"\nshape = 1", &["web[0].shape: must be in (1, 100], got 1"]),
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
        &["line 10: links[0].reverse.rate: must be in [", "got \"0 bit/s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { buffer = \"999 B\" }",
        &["links[0].reverse.buffer: \"999 B\" is less than one packet of 1000 bytes"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nreverse = { loss = 1 }", &["links[0].reverse.loss: must be in [", "got 1"]),
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
        &["web[0].transfers_per_second: ", "conflicts with sessions and mean_gap"],
    ),
    (
        "sessions = 20\nmean_gap = \"1 s\"",
        "transfers_per_second = 0",
        &["web[0].transfers_per_second: must be in [0.000001, 1000000], got 0"],
    ),
    (
        "sessions = 20\nmean_gap = \"1 s\"",
        "transfers_per_second = 1e-300",
        &["web[0].transfers_per_second: must be in [0.000001, 1000000], got "],
    ),
    // TOML itself.
    ("\"400 s\"", "\"400 s", &["line 2: not TOML: "]),
    ("\"400 s\"", "400 s", &["line 2: not TOML: "]),
    ("warmup = \"100 s\"", "duration = \"1 s\"", &["line 3: not TOML: duplicate key"]),
    ("warmup = \"100 s\"", "warmup =", &["line 3: not TOML: "]),
    ("[[flows]]", "[[flows]", &["line 18: not TOML: "]),
];

/// Queue of the first link, and parts of the message.
pub const QUEUES: &[(&str, &[&str])] = &[
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
    ("{ name = \"codel\", target = \"0 s\" }", &[".target: must be in [1 us, 10 s], got \"0 s\""]),
    ("{ name = \"pie\", update = \"1 h\" }", &[".update: unknown unit \"h\""]),
    ("{ name = \"dualpi2\", target = \"-1 ms\" }", &[".target: must be in [", "got \"-1 ms\""]),
    // Amounts of data and packets.
    ("{ name = \"codel\", mtu = \"0 B\" }", &[".mtu: must be in [1 B, 1.048576 MB], got \"0 B\""]),
    ("{ name = \"codel\", mtu = 1500 }", &[".mtu: 1500 has no unit; write e.g. \"250 kB\""]),
    ("{ name = \"fq-codel\", quantum = \"255 B\" }", &[".quantum: must be in [256 B, ", "got \"255 B\""]),
    (
        "{ name = \"red\", min_th = \"5 ms\" }",
        &[".min_th: unknown unit \"ms\" (allowed: segment, segments, packet, packets)"],
    ),
    ("{ name = \"ared\", max_th = \"0 packets\" }", &[".max_th: must be in [1 packets, ", "got \"0 packets\""]),
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
    ("{ name = \"step\", threshold = \"0 packets\" }", &[".threshold: must be in [1 packets, ", "got \"0 packets\""]),
    ("{ name = \"step\", threshold = \"101 s\" }", &[".threshold: must be in [0 s, 100 s], got \"101 s\""]),
    ("{ name = \"step\", threshold = \"many\" }", &[".threshold: \"many\" is not a number and a unit"]),
    ("{ name = \"step\", threshold = true }", &[".threshold: expected text with a unit", "found true"]),
    // Numbers, flags, names.
    ("{ name = \"fq-codel\", flows = 0 }", &[".flows: must be in [1, 65535], got 0"]),
    ("{ name = \"fq-codel\", flows = 2.5 }", &[".flows: expected a whole number", "found the number 2.5"]),
    ("{ name = \"red\", w_q = 0 }", &[".w_q: must be in [0.000001, 1], got 0"]),
    ("{ name = \"pie\", ecn_threshold = nan }", &[".ecn_threshold: must be in [0, 1], got NaN"]),
    ("{ name = \"dualpi2\", k = \"2\" }", &[".k: expected a number", "found text \"2\""]),
    ("{ name = \"codel\", ecn = 1 }", &[".ecn: expected true or false", "found the whole number 1"]),
    ("{ name = \"codel\", ecn = \"classic\" }", &[".ecn: expected true or false", "found text \"classic\""]),
    (
        "{ name = \"codel\", sqrt = \"newtn\" }",
        &[".sqrt: unknown choice \"newtn\"; did you mean \"newton\"? (allowed: exact, newton)"],
    ),
    ("{ name = \"pie\", variant = true }", &[".variant: expected text, one of rfc, linux; found true"]),
];
