// SPDX-License-Identifier: GPL-2.0
/*
 * eHSTCP for Linux; the algorithm is ehstcp.h, this file only connects it.
 *
 * The delay of the reverse path comes from the receiver's timestamps, whose tick is 1 ms in Linux: d_bq has that resolution.
 *
 * The kernel learns the threshold from ssthresh(), which it asks before it says, by set_state(), whether a fast retransmit or a
 * timeout is the reason; HighSpeed TCP's threshold for a timeout is written there. The safety check writes both when it trips.
 */
#include "ehstcp.h"
#include "glue.h"

char _license[] SEC("license") = "GPL";

SET_AT_LOAD struct ehstcp_params params = EHSTCP_DEFAULTS;

struct private {
	struct ehstcp algorithm;
	struct connection connection;
};

_Static_assert(sizeof(struct private) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "fits icsk_ca_priv");

static __always_inline struct ehstcp_params chosen(void)
{
	return ehstcp_within(params.n_star, params.safety_rtts, params.cap_beta);
}

/* The state, with the window and the threshold that the kernel has. */
static __always_inline struct private *caught_up(struct sock *sk)
{
	struct private *s = private_area(sk);

	s->algorithm.w = adopted(s->algorithm.w, tcp(sk)->snd_cwnd);
	s->algorithm.ssthresh = adopted(s->algorithm.ssthresh, tcp(sk)->snd_ssthresh);
	return s;
}

SEC("struct_ops/ehstcp_init")
void BPF_PROG(ehstcp_start, struct sock *sk)
{
	struct private *s = private_area(sk);

	ehstcp_init(&s->algorithm, tcp(sk)->snd_cwnd, tcp(sk)->snd_ssthresh);
	s->connection = (struct connection){.round_end = tcp(sk)->snd_nxt};
}

SEC("struct_ops/ehstcp_pkts_acked")
void BPF_PROG(ehstcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct private *s = private_area(sk);
	struct cc_flow flow = flow_of(sk);
	struct cc_ack ack = begin_ack(sk, &s->connection, sample);
	struct ehstcp_params p = chosen();

	ack.has_backward = BPF_CORE_READ_BITFIELD(tcp(sk), rx_opt.saw_tstamp);
	ack.backward_us = ((__u32)(flow.now_us / 1000) - tcp(sk)->rx_opt.rcv_tsval) * 1000;
	ehstcp_observe(&s->algorithm, &flow, &ack);
	if (!ack.round_start)
		return;
	if (!flow.in_recovery)
		caught_up(sk);
	ehstcp_end_round(&s->algorithm, &flow, &p);
	if (flow.in_recovery)
		return;
	show_window(sk, ehstcp_window(&s->algorithm));
	tcp(sk)->snd_ssthresh = whole(s->algorithm.ssthresh);
}

SEC("struct_ops/ehstcp_cong_avoid")
void BPF_PROG(ehstcp_cong_avoid, struct sock *sk, __u32 ack_sequence, __u32 acked)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);
	struct cc_ack ack = this_ack(&s->connection, acked);

	ehstcp_increase(&s->algorithm, &flow, &ack);
	show_window(sk, ehstcp_window(&s->algorithm));
}

SEC("struct_ops/ehstcp_ssthresh")
__u32 BPF_PROG(ehstcp_ssthresh, struct sock *sk)
{
	struct private *s = caught_up(sk);
	struct cc_flow flow = flow_of(sk);
	struct ehstcp_params p = chosen();

	ehstcp_decrease(&s->algorithm, &flow, &p);
	return whole(s->algorithm.ssthresh);
}

SEC("struct_ops/ehstcp_set_state")
void BPF_PROG(ehstcp_set_state, struct sock *sk, __u8 next)
{
	struct private *s = private_area(sk);
	struct cc_flow flow = flow_of(sk);

	if (next == CA_LOSS) {
		caught_up(sk);
		ehstcp_timeout(&s->algorithm);
		tcp(sk)->snd_ssthresh = whole(s->algorithm.ssthresh);
	} else if (recovery_ends(sk, next)) {
		ehstcp_recovered(&s->algorithm, &flow);
	}
	s->algorithm.loss_w = 0;
}

SEC("struct_ops/ehstcp_undo_cwnd")
__u32 BPF_PROG(ehstcp_undo_cwnd, struct sock *sk)
{
	return undone_window(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ehstcp = {
	.init = (void *)ehstcp_start,
	.ssthresh = (void *)ehstcp_ssthresh,
	.cong_avoid = (void *)ehstcp_cong_avoid,
	.set_state = (void *)ehstcp_set_state,
	.undo_cwnd = (void *)ehstcp_undo_cwnd,
	.pkts_acked = (void *)ehstcp_pkts_acked,
	.name = "ehstcp",
};
