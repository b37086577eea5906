/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the kernel's callbacks and the arithmetic: reads the sender's state, keeps the algorithm's state in the
 * connection's private area, and writes the window back.
 *
 *   pkts_acked = observe (every ACK), cong_avoid = increase (outside recovery), ssthresh = decrease, set_state = recovered.
 *
 * The kernel moves the window and the threshold too: proportional rate reduction in recovery, one segment after a timeout, a
 * restart after idleness, an undo. So both are adopted from it before every use, where they are not what was shown last, and
 * an algorithm that takes over a connection begins with them.
 */
#ifndef FULLPIPE_GLUE_H
#define FULLPIPE_GLUE_H

#include "kernel.h"
#include "window.h"

/* What every program keeps beside its algorithm's state. */
struct connection {
	__u32 round_end;     /* a round trip ends when this is acknowledged */
	__u32 rtt_us;        /* sample of the ACK being processed, 0 for none */
	_Bool round_start;   /* the ACK being processed ends a round trip */
};

static __always_inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline void *private_area(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u8 ca_state(struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

/* In slow start the window counts as the limit while it is below twice what was in flight (RFC 7661 section 4.1). */
static __always_inline _Bool cwnd_limited(const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

static __always_inline struct cc_flow flow_of(struct sock *sk)
{
	const struct tcp_sock *tp = tcp(sk);
	__u8 state = ca_state(sk);

	return (struct cc_flow){
		.now_us = bpf_ktime_get_ns() / 1000,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.in_flight = tp->packets_out,
		.in_recovery = state == CA_RECOVERY || state == CA_CWR,
		.cwnd_limited = cwnd_limited(tp),
	};
}

/* The ACK that pkts_acked reports; kept for cong_avoid, which follows it. */
static __always_inline struct cc_ack begin_ack(struct sock *sk, struct connection *c, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp(sk);
	__s32 rtt_us = sample->rtt_us;

	c->rtt_us = rtt_us > 0 ? rtt_us : 0;
	c->round_start = beyond(tp->snd_una, c->round_end);
	if (c->round_start)
		c->round_end = tp->snd_nxt;
	return (struct cc_ack){.rtt_us = c->rtt_us, .round_start = c->round_start};
}

static __always_inline struct cc_ack this_ack(const struct connection *c, __u32 acked)
{
	return (struct cc_ack){.credit = acked, .rtt_us = c->rtt_us, .round_start = c->round_start};
}

static __always_inline void show_window(struct sock *sk, window_q32 w)
{
	struct tcp_sock *tp = tcp(sk);
	__u32 n = whole(w), most = tp->snd_cwnd_clamp;

	if (n < 1)
		n = 1;
	tp->snd_cwnd = n < most ? n : most;
}

static __always_inline _Bool recovery_ends(struct sock *sk, __u8 next)
{
	__u8 state = ca_state(sk);

	return (state == CA_RECOVERY || state == CA_CWR) && next < CA_CWR;
}

/* A loss that turned out to be none: back to the window before it. */
static __always_inline __u32 undone_window(struct sock *sk)
{
	const struct tcp_sock *tp = tcp(sk);

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

#endif
