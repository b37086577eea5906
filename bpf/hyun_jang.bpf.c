// SPDX-License-Identifier: GPL-2.0
/* Hyun and Jang's scheme for Linux; the algorithm is hyun_jang.h, this file only connects it. */
#include "hyun_jang.h"
#include "glue.h"

char _license[] SEC("license") = "GPL";

SET_AT_LOAD struct hyun_jang_params params = HYUN_JANG_DEFAULTS;

struct private {
	struct hyun_jang algorithm;
	struct connection connection;
};

_Static_assert(sizeof(struct private) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "fits icsk_ca_priv");

static __always_inline struct hyun_jang_params chosen(void)
{
	return hyun_jang_within(params.a_q20, params.alpha_q20, params.beta_q20);
}

/* The state, with the window and the threshold that the kernel has; where it moved the window, the cycle begins again. */
static __always_inline struct private *caught_up(struct sock *sk)
{
	struct private *s = private_area(sk);

	if (tcp(sk)->snd_cwnd != whole(hyun_jang_window(&s->algorithm)))
		hyun_jang_restart(&s->algorithm, tcp(sk)->snd_cwnd);
	s->algorithm.ssthresh = adopted(s->algorithm.ssthresh, tcp(sk)->snd_ssthresh);
	return s;
}

SEC("struct_ops/hyun_jang_init")
void BPF_PROG(hyun_jang_start, struct sock *sk)
{
	struct private *s = private_area(sk);

	hyun_jang_init(&s->algorithm, tcp(sk)->snd_cwnd, tcp(sk)->snd_ssthresh);
	s->connection = (struct connection){.round_end = tcp(sk)->snd_nxt};
}

SEC("struct_ops/hyun_jang_pkts_acked")
void BPF_PROG(hyun_jang_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct private *s = private_area(sk);
	struct cc_ack ack = begin_ack(sk, &s->connection, sample);

	hyun_jang_observe(&s->algorithm, &ack);
}

SEC("struct_ops/hyun_jang_cong_avoid")
void BPF_PROG(hyun_jang_cong_avoid, struct sock *sk, __u32 ack_sequence, __u32 acked)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);
	struct cc_ack ack = this_ack(&s->connection, acked);
	struct hyun_jang_params p = chosen();

	hyun_jang_increase(&s->algorithm, &flow, &ack, &p);
	show_window(sk, hyun_jang_window(&s->algorithm));
}

SEC("struct_ops/hyun_jang_ssthresh")
__u32 BPF_PROG(hyun_jang_ssthresh, struct sock *sk)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);

	hyun_jang_decrease(&s->algorithm, &flow);
	return whole(s->algorithm.ssthresh);
}

SEC("struct_ops/hyun_jang_set_state")
void BPF_PROG(hyun_jang_set_state, struct sock *sk, __u8 next)
{
	struct private *s = private_area(sk);
	struct cc_flow flow = flow_of(sk);

	if (next == CA_LOSS)
		hyun_jang_restart(&s->algorithm, tcp(sk)->snd_cwnd);
	else if (recovery_ends(sk, next))
		hyun_jang_recovered(&s->algorithm, &flow);
}

SEC("struct_ops/hyun_jang_undo_cwnd")
__u32 BPF_PROG(hyun_jang_undo_cwnd, struct sock *sk)
{
	return undone_window(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops hyun_jang = {
	.init = (void *)hyun_jang_start,
	.ssthresh = (void *)hyun_jang_ssthresh,
	.cong_avoid = (void *)hyun_jang_cong_avoid,
	.set_state = (void *)hyun_jang_set_state,
	.undo_cwnd = (void *)hyun_jang_undo_cwnd,
	.pkts_acked = (void *)hyun_jang_pkts_acked,
	.name = "hyun_jang",
};
