use super::super::testing::{Bench, queued, settings};
use super::*;

/// One L4S packet that has waited 2 ms, alone: the step of 1 ms marks it in Linux 6.17, and not in the kernels of 2020. With another
/// one behind it both mark.
#[test]
fn the_step_of_the_kernels_of_2020_needs_a_second_packet() {
    let marked = |variant: &'static str, packets: u32| {
        let mut queue = Bench::new(dualpi2(&[("variant", Value::Name(variant))]));
        fill(&mut queue, packets, Ecn::Ect1, 0);
        sent(&mut queue, packets as usize, 2 * MILLISECOND)[0] == Ecn::Ce
    };
    assert_eq!(["linux", "linux-2020"].map(|variant| marked(variant, 1)), [true, false]);
    assert_eq!(["linux", "linux-2020"].map(|variant| marked(variant, 2)), [true, true]);
}

const LINUX: (&str, Value) = ("variant", Value::Name("linux"));

/// At 8 Mbit/s, 1000 bytes are a millisecond.
fn dualpi2(given: &[(&'static str, Value)]) -> DualPi2 {
    let mut dualpi2 = DualPi2::new(&settings(&INFO, given), 1, 1000);
    dualpi2.set_rate(0, 8_000_000);
    dualpi2
}

/// Adds `packets` packets with an ECN field at one time.
fn fill(dualpi2: &mut Bench<DualPi2>, packets: u32, ecn: Ecn, now: Nanos) {
    for seq in 0..packets {
        dualpi2.come(queued(0, seq, 1000, ecn, now), false);
    }
}

/// ECN fields of the next packets sent at one time, at most `count`.
fn sent(dualpi2: &mut Bench<DualPi2>, count: usize, now: Nanos) -> Vec<Ecn> {
    (0..count).map_while(|_| dualpi2.leave(now)).map(|queued| queued.packet.ecn()).collect()
}

/// Numbers, from 1 on, of the packets that are marked, and of those dropped, of 28 that come at once.
fn fates(dualpi2: &mut Bench<DualPi2>, ecn: Ecn) -> (Vec<u32>, Vec<u32>) {
    fill(dualpi2, 28, ecn, 0);
    let sent: Vec<_> = std::iter::from_fn(|| dualpi2.leave(0)).collect();
    let marked = sent.iter().filter(|queued| queued.packet.ecn() == Ecn::Ce && ecn != Ecn::Ce);
    (marked.map(|queued| queued.packet.seq + 1).collect(), dualpi2.dropped().iter().map(|seq| seq + 1).collect())
}

/// Figure 2, and Linux's values: 41/256 = 0.16015625, 819/256 = 3.19921875.
#[test]
fn constants_follow_from_target_and_longest_round_trip() {
    let rfc = dualpi2(&[]).law;
    assert_eq!(rfc.update, 15 * MILLISECOND);
    assert!((rfc.alpha - 0.15).abs() < 1e-12 && (rfc.beta - 3.0).abs() < 1e-12 && rfc.p_c_max == 0.25);
    let linux = dualpi2(&[LINUX]).law;
    assert_eq!((linux.update, linux.alpha, linux.beta), (16 * MILLISECOND, 0.160_156_25, 3.199_218_75));
    // RTT_max/3 is less than the target: T = 10 ms, alpha = 0.1 * 0.01/0.03^2, beta = 0.3/0.03.
    let near = dualpi2(&[("rtt_max", Value::Time(30 * MILLISECOND))]).law;
    assert_eq!(near.update, 10 * MILLISECOND);
    assert!((near.alpha - 1.111_111).abs() < 1e-6 && (near.beta - 10.0).abs() < 1e-12);
}

/// The delay goes from 0 to 30 ms and stays: alpha * 0.015 + beta * 0.03, then alpha * 0.015 an update.
#[test]
fn p_prime_follows_the_delay() {
    let expected = [(&[][..], [0.092_25, 0.094_5, 0.1125, 0.315]), (&[LINUX][..], [0.098_38, 0.100_78, 0.12, 0.3362])];
    for (given, expected) in expected {
        let law = dualpi2(given).law;
        let (mut base, mut previous_delay_s, mut found) = (0.0, 0.0, Vec::new());
        for update in 1..=100 {
            base = law.updated(base, 0.03, previous_delay_s);
            previous_delay_s = 0.03;
            if [1, 2, 10, 100].contains(&update) {
                found.push(base);
            }
        }
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 2e-5), "{found:?}");
    }
}

/// The head has waited 15 ms at the first update and 30 ms at the second: 3 * 0.015 = 0.045, then 0.15 * 0.015 +
/// 3 * 0.015 more.
#[test]
fn the_head_that_has_waited_longest_drives_p_prime() {
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut dualpi2 = Bench::new(dualpi2(&[]));
        fill(&mut dualpi2, 1, ecn, 0);
        fill(&mut dualpi2, 1, if ecn == Ecn::Ect1 { Ecn::Ect0 } else { Ecn::Ce }, 10 * MILLISECOND);
        dualpi2.catch_up(29 * MILLISECOND);
        assert!((dualpi2.base - 0.045).abs() < 1e-12, "{}", dualpi2.base);
        dualpi2.catch_up(30 * MILLISECOND);
        assert!((dualpi2.base - 0.092_25).abs() < 1e-12, "{}", dualpi2.base);
    }
}

/// Equations (2) and (3) with k = 2.
#[test]
fn p_prime_is_squared_for_classic_and_doubled_for_l4s() {
    for (base, p_c, p_cl) in
        [(0.05, 0.0025, 0.1), (0.1, 0.01, 0.2), (0.25, 0.0625, 0.5), (0.5, 0.25, 1.0), (0.7, 0.49, 1.0)]
    {
        let queue = DualPi2 { base, ..dualpi2(&[]) };
        assert!((queue.p_c() - p_c).abs() < 1e-12 && (queue.p_cl() - p_cl).abs() < 1e-12, "{base}");
    }
}

#[test]
fn three_tenths_mark_every_third_or_fourth() {
    let mut queue = Queue::default();
    let struck: Vec<_> = (1..=25).filter(|_| queue.recur(0.3)).collect();
    assert_eq!(struck, [4, 7, 11, 14, 17, 21, 24]);
    // So does p_CL = 2 * 0.15 in the L queue.
    let mut dualpi2 = Bench::new(DualPi2 { base: 0.15, ..dualpi2(&[]) });
    assert_eq!(fates(&mut dualpi2, Ecn::Ect1), (vec![4, 7, 11, 14, 17, 21, 24, 27], vec![]));
}

#[test]
fn the_ramp_rises_from_800_to_1200_us() {
    let rfc = dualpi2(&[]).law;
    let ramp = [(799, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (5000, 1.0)];
    for (us, expected) in ramp {
        assert!((rfc.ramp(us * MICROSECOND) - expected).abs() < 1e-12, "{us} us");
    }
    let linux = dualpi2(&[LINUX]).law;
    assert_eq!([999, 1000, 1001].map(|us| linux.ramp(us * MICROSECOND)), [0.0, 1.0, 1.0]);
}

/// Figure 3.
#[test]
fn the_ecn_field_chooses_the_queue() {
    for (ecn, l4s) in [(Ecn::NotEct, 0), (Ecn::Ect0, 0), (Ecn::Ect1, 1), (Ecn::Ce, 1)] {
        let mut dualpi2 = Bench::new(dualpi2(&[]));
        fill(&mut dualpi2, 1, ecn, 0);
        assert_eq!((dualpi2.l4s.packets.len(), dualpi2.classic.packets.len()), (l4s, 1 - l4s), "{ecn:?}");
    }
}

/// p_C = 0.49^2 = 0.2401 and p_CL = 0.98: no overload. The sum of 0.2401 is above 1 with the 5th, 9th, 13th, 17th,
/// 21st and 25th.
#[test]
fn below_saturation_marks_replace_drops() {
    let struck = vec![5, 9, 13, 17, 21, 25];
    let dualpi2 = || Bench::new(DualPi2 { base: 0.49, ..dualpi2(&[]) });
    assert_eq!(fates(&mut dualpi2(), Ecn::NotEct), (vec![], struck.clone()));
    assert_eq!(fates(&mut dualpi2(), Ecn::Ect0), (struck, vec![]));
    assert_eq!(fates(&mut dualpi2(), Ecn::Ect1).1, Vec::<u32>::new());
}

/// p' = 0.5: p_C = 0.25 reaches 1/k^2 and p_CL = 1. The sum of 0.25 is above 1 with the 5th, 9th, ... arrival; in
/// the L queue those not dropped add 1 and are marked.
#[test]
fn in_overload_ecn_is_off_for_classic_and_l4s_packets_are_dropped() {
    let struck = vec![5, 9, 13, 17, 21, 25];
    let dualpi2 = || Bench::new(DualPi2 { base: 0.5, ..dualpi2(&[]) });
    assert_eq!(fates(&mut dualpi2(), Ecn::NotEct), (vec![], struck.clone()));
    assert_eq!(fates(&mut dualpi2(), Ecn::Ect0), (vec![], struck.clone()));
    let others: Vec<_> = (1..=28).filter(|number| !struck.contains(number)).collect();
    assert_eq!(fates(&mut dualpi2(), Ecn::Ect1), (others, struck.clone()));
    assert_eq!(fates(&mut dualpi2(), Ecn::Ce), (vec![], struck));
}

/// However far beyond saturation p' was, marking ends with it.
#[test]
fn overload_leaves_no_marks_behind() {
    let mut dualpi2 = Bench::new(DualPi2 { base: 1.0, ..dualpi2(&[]) });
    fates(&mut dualpi2, Ecn::Ect1);
    dualpi2.base = 0.0;
    assert_eq!(fates(&mut dualpi2, Ecn::Ect1), (vec![], vec![]));
}

/// Th_len: the ramp leaves alone a packet alone in the queue, which in Linux it does not.
#[test]
fn a_lone_packet_is_not_marked_by_the_ramp() {
    let waited = 5 * MILLISECOND;
    let mut rfc = Bench::new(dualpi2(&[]));
    rfc.l4s.sum = 0.5;
    fill(&mut rfc, 3, Ecn::Ect1, 0);
    assert_eq!(sent(&mut rfc, 3, waited), [Ecn::Ce, Ecn::Ce, Ecn::Ect1]);
    let mut linux = Bench::new(dualpi2(&[LINUX]));
    fill(&mut linux, 3, Ecn::Ect1, 0);
    assert_eq!(sent(&mut linux, 3, waited), [Ecn::Ce; 3]);
    // Both queues count for the 2 MTU of Linux, the L queue alone for Th_len.
    let mut coupled = Bench::new(DualPi2 { base: 0.4, ..dualpi2(&[]) });
    coupled.l4s.sum = 0.3;
    fill(&mut coupled, 1, Ecn::Ect1, 0);
    assert_eq!(sent(&mut coupled, 1, 0), [Ecn::Ce], "p_CL = 0.8 knows no Th_len");
}

/// p' = 1 drops and marks all that it may.
#[test]
fn linux_spares_what_comes_while_less_than_two_packets_wait() {
    for (given, lost) in [(&[LINUX][..], 0), (&[][..], 1)] {
        let mut dualpi2 = Bench::new(DualPi2 { base: 1.0, ..dualpi2(given) });
        dualpi2.classic.sum = 1.0;
        fill(&mut dualpi2, 1, Ecn::NotEct, 0);
        assert_eq!(1 - sent(&mut dualpi2, 1, 0).len(), lost);
    }
    // Of three, the first two find two or more.
    let mut dualpi2 = Bench::new(DualPi2 { base: 1.0, ..dualpi2(&[LINUX]) });
    fill(&mut dualpi2, 3, Ecn::NotEct, 0);
    assert_eq!(sent(&mut dualpi2, 3, 0).len(), 1);
}

/// 3000 packets at p_CL = 0.3: 900, standard deviation 25; marks in a row occur, which sums never give.
#[test]
fn linux_tosses_coins() {
    let mut dualpi2 = Bench::new(DualPi2 { base: 0.15, ..dualpi2(&[LINUX]) });
    fill(&mut dualpi2, 3000, Ecn::Ect1, 0);
    let sent = sent(&mut dualpi2, 3000, 0);
    let marked = sent.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    assert!((800..1000).contains(&marked), "{marked}");
    assert!(sent.windows(2).any(|pair| pair == [Ecn::Ce; 2]));
}

/// Which of 40 packets are Classic, as numbers from 1 on, while both queues are busy.
fn classic_turns(dualpi2: &mut Bench<DualPi2>, now: Nanos) -> Vec<usize> {
    let sent = sent(dualpi2, 40, now);
    (1..=sent.len()).filter(|number| sent[number - 1] == Ecn::NotEct).collect()
}

/// Section 4.2.2: a sixteenth of the bytes, so that a Classic packet waits for 15 others at most.
#[test]
fn classic_gets_its_share_while_both_queues_are_busy() {
    for (given, turns) in [(&[][..], vec![16, 32]), (&[LINUX][..], vec![10, 20, 30, 40])] {
        let mut dualpi2 = Bench::new(dualpi2(given));
        // Packets that the L queue sends while the C queue is empty do not count.
        fill(&mut dualpi2, 100, Ecn::Ect1, 0);
        sent(&mut dualpi2, 50, 0);
        fill(&mut dualpi2, 50, Ecn::NotEct, 0);
        assert_eq!(classic_turns(&mut dualpi2, 0), turns);
    }
}

/// Ten L packets have used up two thirds of their share; the last packet is being sent until 1 ms.
#[test]
fn an_idle_link_gives_the_l4s_queue_its_turn_back() {
    for (at, turns) in [(MILLISECOND - 1, vec![6, 22, 38]), (MILLISECOND, vec![16, 32])] {
        let mut dualpi2 = Bench::new(dualpi2(&[]));
        fill(&mut dualpi2, 10, Ecn::Ect1, 0);
        fill(&mut dualpi2, 10, Ecn::NotEct, 0);
        assert_eq!(sent(&mut dualpi2, 100, 0).len(), 20);
        fill(&mut dualpi2, 50, Ecn::Ect1, at);
        fill(&mut dualpi2, 50, Ecn::NotEct, at);
        assert_eq!(classic_turns(&mut dualpi2, at), turns);
    }
}

/// Packets of other sizes: 500 bytes of Classic for 7500 of L4S.
#[test]
fn shares_are_of_bytes() {
    let mut dualpi2 = Bench::new(dualpi2(&[]));
    fill(&mut dualpi2, 3000, Ecn::Ect1, 0);
    for seq in 0..1000 {
        dualpi2.come(queued(0, seq, 500, Ecn::NotEct, 0), false);
    }
    let sent = sent(&mut dualpi2, 1700, 0);
    let classic = sent.iter().filter(|ecn| **ecn == Ecn::NotEct).count();
    // 200 packets of 500 bytes, and 1500 of 1000.
    assert!((198..=202).contains(&classic), "{classic}");
}

/// Appendix B, figure 10: the Classic head goes first once it has waited 50 ms longer.
#[test]
fn a_time_shifted_queue_compares_the_heads() {
    for (classic_ms, first) in [(51, Ecn::NotEct), (50, Ecn::Ect1), (49, Ecn::Ect1)] {
        let mut dualpi2 = Bench::new(dualpi2(&[("scheduler", Value::Name("time-shifted"))]));
        fill(&mut dualpi2, 1, Ecn::NotEct, (100 - classic_ms) * MILLISECOND);
        fill(&mut dualpi2, 1, Ecn::Ect1, 100 * MILLISECOND);
        let not_ect = sent(&mut dualpi2, 1, 100 * MILLISECOND)[0] == Ecn::NotEct;
        assert_eq!(not_ect, first == Ecn::NotEct, "{classic_ms} ms");
    }
}

#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut dualpi2 = Bench::new(dualpi2(&[]));
    dualpi2.come(queued(0, 7, 1000, Ecn::Ect1, 0), true);
    assert_eq!((dualpi2.dropped(), dualpi2.l4s.packets.len(), dualpi2.stock.marked), (vec![7], 0, 0));
}

/// A year has two thousand million updates: p' stays at 0, or at 1 while a head waits.
#[test]
fn years_without_packets_take_no_time() {
    let mut idle = Bench::new(DualPi2 { base: 1.0, ..dualpi2(&[]) });
    idle.catch_up(Nanos::MAX / 2);
    assert_eq!((idle.base, idle.previous_delay_s), (0.0, 0.0));
    let mut out = Bench::new(dualpi2(&[]));
    fill(&mut out, 1, Ecn::NotEct, 0);
    out.catch_up(15 * MILLISECOND * 1_000_000_000_000);
    assert_eq!((out.base, out.previous_delay_s), (1.0, 1.5e10));
}
