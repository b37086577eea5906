// SPDX-License-Identifier: GPL-2.0
/* Adaptive AIMD for Linux; the algorithm is adaptive_aimd.h, this file only connects it. */
#include "adaptive_aimd.h"
#include "glue.h"

char _license[] SEC("license") = "GPL";

SET_AT_LOAD struct adaptive_aimd_params params = ADAPTIVE_AIMD_DEFAULTS;

struct private {
	struct adaptive_aimd algorithm;
	struct connection connection;
};

_Static_assert(sizeof(struct private) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "fits icsk_ca_priv");

static __always_inline struct adaptive_aimd_params chosen(void)
{
	return adaptive_aimd_within(params.beta_min_q20, params.beta_max_q20, params.fading_q20);
}

/* The state, with the window and the threshold that the kernel has. */
static __always_inline struct private *caught_up(struct sock *sk)
{
	struct private *s = private_area(sk);

	s->algorithm.w = adopted(s->algorithm.w, tcp(sk)->snd_cwnd);
	s->algorithm.ssthresh = adopted(s->algorithm.ssthresh, tcp(sk)->snd_ssthresh);
	return s;
}

SEC("struct_ops/adaptive_aimd_init")
void BPF_PROG(adaptive_aimd_start, struct sock *sk)
{
	struct private *s = private_area(sk);

	adaptive_aimd_init(&s->algorithm, tcp(sk)->snd_cwnd, tcp(sk)->snd_ssthresh);
	s->connection = (struct connection){.round_end = tcp(sk)->snd_nxt};
}

SEC("struct_ops/adaptive_aimd_pkts_acked")
void BPF_PROG(adaptive_aimd_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct private *s = private_area(sk);
	struct cc_flow flow = flow_of(sk);
	struct cc_ack ack = begin_ack(sk, &s->connection, sample);

	adaptive_aimd_observe(&s->algorithm, &flow, &ack);
}

SEC("struct_ops/adaptive_aimd_cong_avoid")
void BPF_PROG(adaptive_aimd_cong_avoid, struct sock *sk, __u32 ack_sequence, __u32 acked)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);
	struct cc_ack ack = this_ack(&s->connection, acked);

	adaptive_aimd_increase(&s->algorithm, &flow, &ack);
	show_window(sk, adaptive_aimd_window(&s->algorithm));
}

SEC("struct_ops/adaptive_aimd_ssthresh")
__u32 BPF_PROG(adaptive_aimd_ssthresh, struct sock *sk)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);
	struct adaptive_aimd_params p = chosen();

	adaptive_aimd_decrease(&s->algorithm, &flow, &p);
	return whole(s->algorithm.ssthresh);
}

SEC("struct_ops/adaptive_aimd_undo_cwnd")
__u32 BPF_PROG(adaptive_aimd_undo_cwnd, struct sock *sk)
{
	return undone_window(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops adaptive_aimd = {
	.init = (void *)adaptive_aimd_start,
	.ssthresh = (void *)adaptive_aimd_ssthresh,
	.cong_avoid = (void *)adaptive_aimd_cong_avoid,
	.undo_cwnd = (void *)adaptive_aimd_undo_cwnd,
	.pkts_acked = (void *)adaptive_aimd_pkts_acked,
	.name = "adaptive_aimd",
};
