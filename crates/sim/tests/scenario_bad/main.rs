//! Bad input: each case changes one thing in a good scenario; the message names the key, the fault, and the allowed
//! values.

mod cases;
mod varying;

use cases::{CASES, GOOD, QUEUES};
use fullpipe_sim::Scenario;
use fullpipe_sim::scenario::{Table, Value};
use varying::VARYING;

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
    for (from, to, expected) in CASES.iter().chain(VARYING) {
        assert!(GOOD.contains(from), "{from} is not in the good scenario");
        let text = GOOD.replacen(from, to, 1);
        let message = shown(&text);
        assert!(!message.contains('\n') && message.len() < 550, "{message}");
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
        assert!(!message.contains('\n') && message.len() < 550, "{message}");
        for part in *expected {
            assert!(message.contains(part), "{queue}\n  expected: {part}\n  found:    {message}");
        }
    }
}

/// Every parameter of every queue refuses values beyond its bounds and of another kind. The message names the parameter.
#[test]
fn every_parameter_of_a_queue_has_bounds() {
    use fullpipe_sim::queues::{self, Kind, Value as Given, written};
    for info in queues::ALL {
        for param in info.params {
            let beyond = match param.kind {
                Kind::Time { max, .. } => written(Given::Time(2 * max)),
                Kind::Packets { max, .. } => written(Given::Packets(2 * max)),
                Kind::Bytes { max, .. } => written(Given::Bytes(2 * max)),
                Kind::Rate { max, .. } => written(Given::Rate(2 * max)),
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
    assert_eq!(shown(&with(128, 128, udp)), "line 644: udp[0].path: must have at most 127 links, got 128");
    assert_eq!(shown(&with(10_001, 1, udp)), "line 2: links: must be at most 10000, got 10001");
    let linux = "[[flows]]\nalgorithm = \"reno\"\nhost = \"linux\"";
    assert!(Scenario::from_toml(&with(64, 63, linux)).is_ok());
    let what = "line 322: flows[0].handshake: requires a path of at most 63 links, got 64";
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
