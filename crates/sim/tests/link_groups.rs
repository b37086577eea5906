//! Groups of links, and flows that spread over them.

use fullpipe_sim::run;
use fullpipe_sim::scenario::{Arrivals, Scenario};

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(&format!("duration = \"3 s\"\n{text}")).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn problem(text: &str) -> String {
    Scenario::from_toml(&format!("duration = \"3 s\"\n{text}")).expect_err(text).to_string()
}

const HOME: &str = "links = [{ name = \"home\", count = 3, rate = \"5 Mbit/s\", delay = \"5 ms\", buffer = \"1 BDP\", \
     reverse = { rate = \"1 Mbit/s\" } }, { name = \"uplink\", rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = \"30 packets\" }]\n";

/// Five flows over three links: members 1 and 4 take the first, 2 and 5 the second, 3 the third.
#[test]
fn members_take_one_link_after_another() {
    let scenario =
        scenario(&format!("{HOME}flows = [{{ algorithm = \"reno\", count = 5, path = [\"home/*\", \"uplink\"] }}]"));
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["home/1", "home/2", "home/3", "uplink"]);
    let groups: Vec<_> = scenario.flows.iter().map(|group| (group.tcp.path.clone(), group.count)).collect();
    assert_eq!(groups, [(vec![0, 3], 2), (vec![1, 3], 2), (vec![2, 3], 1)]);
    assert_eq!(
        scenario.links[1].reverse.as_ref().map(|back| (back.name.as_str(), back.rate_bps)),
        Some(("home/2", 1_000_000))
    );
    assert_eq!(Scenario::from_toml(&scenario.to_toml()).as_ref(), Ok(&scenario));
}

/// Groups of two and three links have six pairs: the seventh member takes the first pair again.
#[test]
fn two_groups_of_links_go_in_step() {
    let link = |name: &str, count: u32| {
        format!(
            "{{ name = \"{name}\", count = {count}, rate = \"5 Mbit/s\", delay = \"5 ms\", buffer = \"9 packets\" }}"
        )
    };
    let text = format!(
        "links = [{}, {}]\nflows = [{{ algorithm = \"reno\", count = 7, path = [\"b/*\", \"a/*\"] }}]",
        link("a", 2),
        link("b", 3)
    );
    let groups: Vec<_> = scenario(&text).flows.iter().map(|group| (group.tcp.path.clone(), group.count)).collect();
    let expected = [(2, 0, 2), (3, 1, 1), (4, 0, 1), (2, 1, 1), (3, 0, 1), (4, 1, 1)];
    assert_eq!(groups, expected.map(|(b, a, count)| (vec![b, a], count)));
    let loop_of = text.replace("\"b/*\"", "\"a/2\"");
    assert!(
        problem(&loop_of).contains("flows[0].path: must cross each link once, got \"a/2\" twice for member 2"),
        "{}",
        problem(&loop_of)
    );
}

/// A group of links has the results of as many links written one by one, also with requests, datagrams, and web users.
#[test]
fn a_count_is_as_many_links() {
    let tables = |path: &str, count: &dyn Fn(u32) -> u32, name: &str| {
        format!(
            "[[flows]]\nalgorithm = \"cubic\"\ncount = {}\npath = [\"{path}\", \"uplink\"]\n[[flows]]\nalgorithm = \"reno\"\n\
             source = {{ requests = \"exponential 100 ms\", size = \"9 kB\" }}\npath = [\"{path}\", \"uplink\"]\ncount = {}\n\
             [[udp]]\nname = \"{name}\"\nrate = \"100 kbit/s\"\npath = [\"{path}\"]\ncount = {}\n\
             [[web]]\nalgorithm = \"reno\"\nsessions = {}\nmean_gap = \"100 ms\"\nmean_size = \"9 kB\"\npath = [\"{path}\"]\n",
            count(6),
            count(3),
            count(3),
            count(9)
        )
    };
    let group = scenario(&format!("{HOME}{}", tables("home/*", &|n| n, "call")));
    let (home, uplink) = HOME.split_once("count = 3, ").expect("a group");
    let (one, uplink) = uplink.split_once(", { name = \"uplink\"").expect("two links");
    let home = home.trim_start_matches("links = [");
    let links: String = (1..=3).map(|k| format!("{}{one}, ", home.replace("home", &format!("home/{k}")))).collect();
    let each: Vec<String> = (1..=3).map(|k| tables(&format!("home/{k}"), &|n| n / 3, &format!("call/{k}"))).collect();
    let written = scenario(&format!("links = [{links}{{ name = \"uplink\"{uplink}{}", each.concat()));
    let sorted = |scenario: &Scenario| {
        let report = run(scenario, &mut |_| true).expect("to its end");
        let mut flows: Vec<String> =
            report.flows.iter().map(|flow| format!("{:?} {}", flow.goodput_bps, flow.retransmits)).collect();
        let mut traffic: Vec<String> = report.traffic.iter().map(|traffic| format!("{traffic:?}")).collect();
        flows.sort();
        traffic.sort();
        (flows, traffic, format!("{:?} {:?} {:?}", report.links, report.packets, report.rtt))
    };
    assert_eq!(sorted(&group), sorted(&written));
    assert!(matches!(group.web[2].arrivals, Arrivals::Sessions { sessions: 3, .. }));
}

#[test]
fn faults_of_groups_are_one_line_each() {
    let flow = |path: &str| format!("flows = [{{ algorithm = \"reno\", path = [\"{path}\"] }}]");
    let cases = [
        (format!("{HOME}{}", flow("uplink/*")), "flows[0].path: \"uplink/*\" requires count in a link \"uplink\""),
        (format!("{HOME}{}", flow("home")), "flows[0].path: unknown link \"home\""),
        (
            format!("{}{}", HOME.replace("count = 3", "count = 10001"), flow("uplink")),
            "links[0].count: must be in [1, 10000], got 10001",
        ),
        (
            format!("{}{}", HOME.replace("count = 3", "count = 10000"), flow("uplink")),
            "links: must be at most 10000, got 10001",
        ),
        (
            format!("{}{}", HOME.replace("\"uplink\"", "\"home/2\""), flow("home/1")),
            "links[1].name: \"home/2\" is already the name of links[0]",
        ),
        (
            format!(
                "{HOME}web = [{{ algorithm = \"reno\", transfers_per_second = 1, mean_size = \"9 kB\", path = [\"home/*\"] }}]"
            ),
            "web[0].path: several links, as in \"home/*\", require sessions",
        ),
    ];
    for (text, expected) in cases {
        assert!(problem(&text).contains(expected), "{}, not {expected}", problem(&text));
    }
}

/// One warning for each table, with its number in the file.
#[test]
fn warnings_name_tables_of_the_file() {
    let flows = "[[flows]]\nalgorithm = \"reno\"\nmin_rto = \"1 ms\"\ncount = 3\npath = [\"home/*\"]\n[[flows]]\nalgorithm = \"cubic\"\nmin_rto = \"1 ms\"\npath = [\"uplink\"]";
    let warned = scenario(&format!("{HOME}{flows}")).warnings();
    let keys: Vec<&str> = warned.iter().filter_map(|text| text.split(" = ").next()).collect();
    assert_eq!(keys, ["flows[0].min_rto", "flows[1].min_rto"], "{warned:?}");
}
