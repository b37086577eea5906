//! Connections: numeric examples of RFC 9002, worked by hand.

use super::*;
use fullpipe_cc::time::MILLISECOND as MS;

/// Connection with datagrams of 1000 bytes that has sent these at time 0, and has an RTT of 100 ms.
fn connection(datagrams: u64) -> Connection {
    let mut connection = Connection { datagram: 1000, ..Connection::idle(model::Quic::default()) };
    connection.open(0, 100 * MS);
    (0..datagrams).for_each(|chunk| {
        connection.send(0, chunk, false);
    });
    connection
}

/// draft-ietf-ccwg-bbr, `P.tx_in_flight`: with the packet itself.
#[test]
fn a_record_has_the_bytes_in_flight_after_it() {
    let mut connection = connection(2);
    assert_eq!(connection.send(0, 2, false).in_flight, 3000);
}

/// A window of three packets has room for a third, and for no fourth.
#[test]
fn the_window_limits_if_one_more_packet_exceeds_it() {
    for (sent, limited) in [(2, false), (3, true)] {
        let mut connection = connection(sent);
        connection.note_limit(3);
        assert_eq!(connection.is_cwnd_limited(), limited, "{sent}");
    }
}

/// RFC 9002 section 7.8: three packets in flight fill a window of three, which may grow to six and not beyond.
#[test]
fn a_full_flight_pays_for_twice_itself() {
    let mut connection = connection(3);
    connection.note_limit(3);
    assert!(connection.may_grow(6), "data waits");
    connection.app_limited = true;
    assert_eq!([3, 5, 6].map(|window| connection.may_grow(window)), [true, true, false]);
}

/// RFC 9002 sections 5.3 and 6.2.1: 100 ms + 4 · 50 ms + 25 ms after the last packet, doubled for each expiry; none with nothing in flight.
#[test]
fn the_probe_timer_runs_while_a_packet_is_in_flight() {
    assert_eq!(connection(0).deadline(), Nanos::MAX);
    let mut connection = connection(1);
    assert_eq!(connection.deadline(), 325 * MS);
    assert!(connection.on_timer(325 * MS).is_none());
    assert_eq!(connection.deadline(), 650 * MS);
}

/// RFC 9002 section 6.1.1: packet 1 is lost when packet 4 is acknowledged. Its data is retransmitted, that of the others is not.
#[test]
fn the_data_of_a_lost_packet_waits() {
    let mut connection = connection(5);
    for number in [0, 2, 3, 4] {
        connection.receiver.take(number, number, 50 * MS, Ecn::NotEct);
    }
    let count = connection.receiver.acknowledge();
    let news = connection.on_ack(100 * MS, count, 50 * MS);
    assert_eq!(news.lost.iter().map(|packet| packet.sent.number).collect::<Vec<_>>(), [1]);
    assert_eq!(connection.acked_chunks(), 4);
    assert_eq!((connection.next_waiting(), connection.next_waiting()), (Some(1), None));
}

/// A window before a cut is remembered with `undo` only.
#[test]
fn a_cut_can_be_undone_unless_the_scenario_says_otherwise() {
    for undoes in [true, false] {
        let mut connection = Connection { undoes, ..connection(1) };
        connection.begin_recovery(0, Some((20.0, 10.0)), 1);
        assert_eq!(connection.before.is_some(), undoes);
    }
}

/// Connection with a steady RTT of 50 ms and the longest ACK delay of 25 ms, whose PTO is 50 + 1 + 25 = 76 ms.
fn steady() -> Connection {
    let mut connection = Connection { datagram: 1200, ..Connection::idle(model::Quic::default()) };
    connection.open(0, 50 * MS);
    connection.rtt.variation = 0;
    connection
}

/// Handles an ACK of packets that arrived 25 ms ago in this order.
fn ack(connection: &mut Connection, now: Nanos, numbers: &[u64]) -> News {
    for &number in numbers {
        connection.receiver.take(number, number, now - 25 * MS, Ecn::NotEct);
    }
    let count = connection.receiver.acknowledge();
    connection.on_ack(now, count, now - 25 * MS)
}

/// Numbers of the packets found lost.
fn lost(news: &News) -> Vec<u64> {
    news.lost.iter().map(|packet| packet.sent.number).collect()
}

/// RFC 9002 section 5.1: no sample when the largest acknowledged packet was acknowledged before.
#[test]
fn an_ack_of_older_packets_gives_no_rtt_sample() {
    let mut connection = connection(3);
    assert_eq!(ack(&mut connection, 100 * MS, &[0, 2]).rtt.map(|rtt| rtt.packet), Some(2));
    assert!(ack(&mut connection, 101 * MS, &[1]).rtt.is_none());
    assert!(ack(&mut connection, 102 * MS, &[2]).rtt.is_none(), "a duplicate");
}

/// RFC 9002 sections 6.2.1 and 6.2.4: expiry at 76, 76 + 152 = 228, and 228 + 304 = 532 ms, where each probe starts the timer again. The
/// longest ACK delay is doubled with the rest: the third period is not 4 · 51 + 25 = 229 ms.
#[test]
fn each_probe_timeout_is_twice_the_last() {
    let mut connection = steady();
    connection.send(0, 0, false);
    for at in [76, 228, 532] {
        assert_eq!(connection.deadline(), at * MS);
        assert!(connection.on_timer(at * MS).is_none());
        connection.send(at * MS, 0, true);
    }
}

/// RFC 9002 section 6.2.1: the newest packet starts the timer, here at 10 ms.
#[test]
fn the_newest_packet_starts_the_probe_timer() {
    let mut connection = steady();
    connection.send(0, 0, false);
    connection.send(10 * MS, 1, false);
    assert_eq!(connection.deadline(), 86 * MS);
}

/// RFC 9002 section 6.2.1: no probe timeout while the timer of a time threshold runs, here until 50 + 50 / 8 ms after packet 0.
#[test]
fn the_loss_timer_comes_before_the_probe_timer() {
    let mut connection = steady();
    connection.send(0, 0, false);
    connection.send(0, 1, false);
    connection.send(49 * MS, 2, false);
    ack(&mut connection, 50 * MS, &[1]);
    assert_eq!(connection.deadline(), 56 * MS + MS / 4);
    let news = connection.on_timer(56 * MS + MS / 4);
    assert_eq!(news.map(|news| lost(&news)), Some(vec![0]));
    assert_eq!((connection.probes, connection.pto_count), (0, 0));
    assert_eq!(connection.deadline(), (49 + 76) * MS);
}

/// RFC 9002 sections 6.2 and 7.5: a probe timeout finds no loss, and probes count as in flight.
#[test]
fn a_probe_timeout_finds_no_loss() {
    let mut connection = steady();
    (0..4).for_each(|chunk| {
        connection.send(0, chunk, false);
    });
    assert!(connection.on_timer(76 * MS).is_none());
    assert_eq!((connection.probes, connection.lost, connection.flight.in_flight), (2, 0, 4));
    assert_eq!(connection.send(76 * MS, 0, true).in_flight, 5 * 1200);
    let news = ack(&mut connection, 120 * MS, &[0, 1, 2, 3, 4]);
    assert_eq!((news.acked.len(), news.lost.len()), (5, 0));
}

/// RFC 9002 section 6.2.1: an ACK of a new packet resets the backoff. One that repeats the last does not.
#[test]
fn an_ack_of_a_new_packet_resets_the_backoff() {
    let mut connection = steady();
    connection.send(0, 0, false);
    connection.send(0, 1, false);
    assert!(connection.on_timer(76 * MS).is_none());
    ack(&mut connection, 100 * MS, &[0]);
    assert_eq!(connection.pto_count, 0);
    assert!(connection.on_timer(200 * MS).is_none());
    ack(&mut connection, 210 * MS, &[0]);
    assert_eq!(connection.pto_count, 1);
}

/// RFC 9002 sections 5.2 and 7.6: losses over more than 3 · 76 = 228 ms are persistent congestion, after which the newest sample is the
/// minimum.
#[test]
fn persistent_congestion_restarts_the_minimum_rtt() {
    for (last, persistent, min) in [(230, false, 40), (231, true, 50)] {
        let mut connection = steady();
        connection.rtt.min = Some(40 * MS);
        for (chunk, at) in (0..).zip([1, 2, last, last + 100, last + 100, last + 100]) {
            connection.send(at * MS, chunk, false);
        }
        let news = ack(&mut connection, (last + 150) * MS, &[0, 3, 4, 5]);
        assert_eq!((lost(&news), news.persistent), (vec![1, 2], persistent), "sent at 2 and {last} ms");
        assert_eq!(connection.rtt.min, Some(min * MS));
    }
}

/// Handles an ACK of packets that arrive with these ECN fields. Returns how many marks it reports, and the state of the path.
fn ack_fields(connection: &mut Connection, packets: &[(u64, Ecn)]) -> (u64, Option<EcnState>) {
    for &(number, ecn) in packets {
        connection.receiver.take(number, number, 50 * MS, ecn);
    }
    let count = connection.receiver.acknowledge();
    let news = connection.on_ack(100 * MS, count, 50 * MS);
    (news.marked, connection.ecn_state())
}

/// Connection that has sent five packets with ECT(0).
fn capable() -> Connection {
    let mut connection =
        Connection { ecn: ecn::Validation::new(Ecn::Ect0), ..Connection::idle(model::Quic::default()) };
    connection.open(0, 100 * MS);
    let sent = (0..5).map(|chunk| connection.send(0, chunk, false).ecn);
    assert_eq!(sent.collect::<Vec<_>>(), [2; 5], "ECT(0)");
    connection
}

/// RFC 9000 section 13.4.2.1: the ACK of 0, 1, and 3 counts 2 + 1 packets. Packet 2 arrives cleared, but its ACK does not raise the largest
/// number. Packet 4 is counted.
#[test]
fn an_ack_that_does_not_raise_the_largest_number_is_not_validated() {
    let mut connection = capable();
    let state = Some(EcnState::Capable);
    assert_eq!(ack_fields(&mut connection, &[(0, Ecn::Ect0), (1, Ecn::Ect0), (3, Ecn::Ce)]), (1, state));
    assert_eq!(ack_fields(&mut connection, &[(2, Ecn::NotEct)]), (0, state));
    assert_eq!(ack_fields(&mut connection, &[(4, Ecn::Ect0)]), (0, state));
    assert_eq!(connection.marked(), 1);
}

/// RFC 9000 section 13.4.2.2: after a failure packets are not ECN-capable, and their ACKs need no counts. A new connection begins again.
#[test]
fn a_cleared_packet_ends_ecn() {
    let mut connection = capable();
    let state = Some(EcnState::Failed);
    assert_eq!(ack_fields(&mut connection, &[(0, Ecn::Ect0), (1, Ecn::NotEct)]), (0, state));
    assert_eq!((connection.send(100 * MS, 5, false).ecn, connection.marks().ecn()), (0, Ecn::NotEct));
    assert_eq!(ack_fields(&mut connection, &[(2, Ecn::Ce), (5, Ecn::NotEct)]), (0, state));
    connection.reset();
    assert_eq!((connection.ecn_state(), connection.marks().ecn()), (Some(EcnState::Testing), Ecn::Ect0));
}
