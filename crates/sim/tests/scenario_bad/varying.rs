//! Cases of links that vary: schedules, traces, losses, jitter, reordering, policers.

/// As [`super::cases::CASES`].
pub const VARYING: &[(&str, &str, &[&str])] = &[
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
        &["line 10: links[0].loss.r: must be in [0, 1], got 2"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = { model = \"gilbert-elliott\", p = 0.1, r = 0.5, q = 1 }",
        &["links[0].loss.q: unknown key \"q\" (allowed: model, p, r, h, k)"],
    ),
    ("\"39 ms\"", "\"39 ms\"\ndrop = [3, 0]", &["line 10: links[0].drop: must be in [1, 1000000000000], got 0"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndrop = 3",
        &["links[0].drop: expected a list of whole numbers, e.g. [3, 17]; found the whole number 3"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nreverse = { drop = [2.5] }",
        &["links[0].reverse.drop: must be packet numbers from 1, e.g. [3, 17], got the number 2.5"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nlimit = 0", &["line 10: links[0].limit: must be in [1, 1000000000000], got 0"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\necn_field = \"ect2\"",
        &["line 10: links[0].ecn_field: unknown ECN field \"ect2\"; did you mean \"ect"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nlimit = \"9 kB\"", &["links[0].limit: unknown unit \"kB\""]),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndelay_trace = \"leo.csv\"",
        &["links[0].delay_trace: \"leo.csv\" is the name of a file, which cannot be read here"],
    ),
    ("\"39 ms\"", "\"39 ms\"\ndelay_trace = []", &["links[0].delay_trace: no rows; the first one has the time 0"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndelay_trace = [[1, 0.1]]",
        &["links[0].delay_trace: row 1: time_s must be 0 first, got 1"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndelay_trace = [[0, 0.1], [1]]",
        &["links[0].delay_trace: row 2: expected two numbers, e.g. [0, 0.02]; found a list"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndelay_trace = [[0, 0.1]]\ntrace_repeat = true",
        &["links[0].delay_trace: trace_repeat requires a row after the first one"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\npreset = \"lea\"",
        &["line 10: links[0].preset: unknown preset \"lea\"; did you mean \"leo\"?"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nreverse = { preset = \"leo\" }", &["links[0].reverse.preset: unknown key"]),
    ("\"39 ms\"", "\"39 ms\"\npreset = 5", &["links[0].preset: expected text, one of leo, geo, wifi"]),
    ("\"39 ms\"", "\"39 ms\"\ntrace_repeat = true", &["links[0].trace_repeat: requires delay_trace or loss_trace"]),
    ("\"39 ms\"", "\"39 ms\"\nloss_interpolation = \"linear\"", &["links[0].loss_interpolation: requires loss_trace"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss_trace = [[0, 1.5]]",
        &["links[0].loss_trace: row 1: loss must be in [0, 1], got 1.5"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nloss = 0.1\nloss_trace = [[0, 0.5]]",
        &["links[0].loss_trace: conflicts with loss; write one of the two"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\ndelay_trace = [[0, 0.5]]\nschedule = [{ at = \"1 s\", delay = \"5 ms\" }]",
        &["links[0].schedule[0].delay: conflicts with delay_trace"],
    ),
    ("\"39 ms\"", "\"39 ms\"\ntrace = [1, 2]", &["links[0].trace: conflicts with rate"]),
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
        &["line 10: links[0].reverse.schedule[1].rate: conflicts with trace, which sets the rate"],
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
        &["links[0].schedule[0].at: requires rate, delay, or loss"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", buffer = \"1 packet\" }]",
        &["links[0].schedule[0].buffer: unknown key \"buffer\" (allowed: at, rate, delay, loss)"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 1.5 }]",
        &["links[0].schedule[0].loss: must be in [0, 1], got 1.5"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 0 }, { at = \"5 s\", loss = 1 }]",
        &["links[0].schedule[1].at: must be above the time of the previous change, 5 s, got 5 s"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\nschedule = [{ at = \"5 s\", loss = 0 }]\nrepeat = \"5 s\"",
        &["line 11: links[0].repeat: must be above the time of the last change, 5 s, got 5 s"],
    ),
    ("\"39 ms\"", "\"39 ms\"\nrepeat = \"5 s\"", &["links[0].repeat: requires schedule"]),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = \"7 ms\"",
        &[
            "links[0].jitter: expected a table or \"off\", e.g. { model = \"wifi\", mean = \"7 ms\" }; found text \"7 ms\"",
        ],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { mean = \"7 ms\", correlation = 1 }",
        &["links[0].jitter.correlation: must be in [0, 1), got 1"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\", mean = \"7 ms\", correlation = 0.5 }",
        &["links[0].jitter.correlation: conflicts with model \"wifi\"; leave it out"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"pareto\", mean = \"7 ms\" }",
        &["links[0].jitter.spread: missing; write e.g. spread = \"2 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wlan\", mean = \"7 ms\" }",
        &["links[0].jitter.model: unknown model \"wlan\" (allowed: uniform, normal, pareto, paretonormal, wifi)"],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { reorder = true }",
        &["links[0].jitter.mean: missing; write e.g. mean = \"7 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\", mean = \"0.5 ms\" }",
        &["links[0].jitter.mean: must be in [1 ms, 91 ms], got \"0.5 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"wifi\", mean = \"7 ms\", spread = \"1 ms\" }",
        &["links[0].jitter.spread: conflicts with model \"wifi\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"normal\", mean = \"7 ms\" }",
        &["links[0].jitter.spread: missing; write e.g. spread = \"2 ms\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\njitter = { model = \"uniform\", mean = \"7 ms\", spread = \"8 ms\" }",
        &["links[0].jitter.spread: must be in [0 s, 7 ms], got \"8 ms\""],
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
        &["links[0].reorder.delay: must be in [1 ns, 100 s], got \"0 s\""],
    ),
    (
        "\"39 ms\"",
        "\"39 ms\"\naggregation = \"0 ms\"",
        &["links[0].aggregation: must be in [1 ns, 100 s], got \"0 ms\""],
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
];
