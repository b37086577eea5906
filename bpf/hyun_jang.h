/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hyun and Jang in integers: Reno's window, and `extra` on top of it.
 *
 * Source: D. Hyun and J. W. Jang, Enhanced TCP Congestion Control with Higher Utilization in Under-Buffered Links, IEICE
 * Transactions on Communications E95-B(4), 2012; the same readings of it as crates/cc/src/algorithms/hyun_jang.rs:
 *   C = LSRTT/RTTmin > alpha means congestion (equation 1); LSRTT averages each round trip's least RTT, anew after a backoff;
 *   W_full = beta (cwnd + extra) when C first exceeds alpha in a cycle (equation 2);
 *   the window is cwnd + extra (equation 3); extra grows by (a - 1) per ACK up to the W_full of the cycle before, holds the
 *   sum there, and is 0 once C > alpha or cwnd >= W_full (equation 4).
 * Left out: the change-detection LSRTT.
 */
#ifndef FULLPIPE_HYUN_JANG_H
#define FULLPIPE_HYUN_JANG_H

#include "window.h"

struct hyun_jang_params {
	__u32 a_q20, alpha_q20, beta_q20;
};

/* a = 1.1, alpha = 1.02, beta = 0.97 (section 4), rounded to the nearest. */
#define HYUN_JANG_DEFAULTS { 1153434, 1069548, 1017119 }

/* The ranges of crates/cc/src/algorithms/hyun_jang.rs. */
static __always_inline struct hyun_jang_params hyun_jang_within(__u32 a, __u32 alpha, __u32 beta)
{
	return (struct hyun_jang_params){
		within(a, ONE_Q20, 2 * ONE_Q20),
		within(alpha, ONE_Q20, 10 * ONE_Q20),
		within(beta, PERCENT_Q20(1), ONE_Q20),
	};
}

enum hyun_jang_stage {
	HJ_SLOW_START,  /* nothing is measured, ... */
	HJ_RECOVERY,    /* ... nor here, ... */
	HJ_SETTLING,    /* ... nor in ACKs of data sent before `mark` */
	HJ_RAMP,        /* extra grows */
	HJ_HOLD,        /* extra holds the window at W_full */
	HJ_RENO,        /* plain Reno until the next backoff */
};

struct hyun_jang {
	window_q32 reno, extra, ssthresh;
	window_q32 w_full, next_w_full;  /* of the cycle before, of this one; 0 while unknown */
	__u32 min_rtt_us, round_rtt_us, lsrtt_q8;
	__u32 mark;
	__u32 stage;
};

static __always_inline window_q32 hyun_jang_window(const struct hyun_jang *s)
{
	return s->reno + s->extra;
}

static __always_inline void hyun_jang_init(struct hyun_jang *s, __u32 window, __u32 ssthresh)
{
	*s = (struct hyun_jang){.reno = segments(window), .ssthresh = segments(ssthresh), .stage = HJ_SLOW_START};
}

/* Every ACK, in recovery too. */
static __always_inline void hyun_jang_observe(struct hyun_jang *s, const struct cc_ack *ack)
{
	if (ack->rtt_us)
		s->min_rtt_us = least(s->min_rtt_us, ack->rtt_us);
}

/* Reno, whose one segment per round trip is spread over cwnd + extra ACKs. */
static __always_inline void hyun_jang_grow_reno(struct hyun_jang *s, const struct cc_ack *ack)
{
	if (s->reno < s->ssthresh)
		s->reno = slow_started(s->reno, s->ssthresh, ack->credit);
	else
		s->reno += share(ONE_Q20, ack->credit, hyun_jang_window(s));
}

/* Skips what tells nothing of this cycle; whether the ACK may be measured. */
static __always_inline _Bool hyun_jang_settled(struct hyun_jang *s, const struct cc_flow *flow)
{
	if (s->stage == HJ_SLOW_START && s->reno >= s->ssthresh) {
		s->stage = HJ_SETTLING;
		s->mark = flow->nxt;
	} else if (s->stage == HJ_SETTLING && beyond(flow->una, s->mark)) {
		s->stage = s->w_full > s->reno ? HJ_RAMP : HJ_RENO;
	}
	return s->stage >= HJ_RAMP;
}

/* Equation 4. */
static __always_inline void hyun_jang_adjust_extra(struct hyun_jang *s, const struct cc_ack *ack,
						   const struct hyun_jang_params *p)
{
	window_q32 room;

	if (s->stage != HJ_RAMP && s->stage != HJ_HOLD)
		return;
	if (s->w_full <= s->reno) {
		s->extra = 0;
		s->stage = HJ_RENO;
		return;
	}
	room = s->w_full - s->reno;
	if (s->stage == HJ_RAMP)
		s->extra += ((__u64)(p->a_q20 - ONE_Q20) << 12) * ack->credit;
	if (s->stage == HJ_HOLD || s->extra >= room) {
		s->extra = room;
		s->stage = HJ_HOLD;
	}
}

/* Equations 1 and 2, once per round trip. */
static __always_inline void hyun_jang_end_round(struct hyun_jang *s, const struct hyun_jang_params *p)
{
	if (!s->round_rtt_us)
		return;
	s->lsrtt_q8 = averaged(s->lsrtt_q8, s->round_rtt_us);
	s->round_rtt_us = 0;
	if (((__u64)s->lsrtt_q8 << 20) <= ((__u64)s->min_rtt_us << 8) * p->alpha_q20)
		return;
	if (!s->next_w_full)
		s->next_w_full = scaled(hyun_jang_window(s), p->beta_q20);
	s->extra = 0;
	s->stage = HJ_RENO;
}

/* An ACK outside recovery, after its `observe`. */
static __always_inline void hyun_jang_increase(struct hyun_jang *s, const struct cc_flow *flow, const struct cc_ack *ack,
					       const struct hyun_jang_params *p)
{
	if (flow->cwnd_limited)
		hyun_jang_grow_reno(s, ack);
	if (!hyun_jang_settled(s, flow))
		return;
	if (ack->rtt_us)
		s->round_rtt_us = least(s->round_rtt_us, ack->rtt_us);
	if (flow->cwnd_limited)
		hyun_jang_adjust_extra(s, ack, p);
	if (ack->round_start)
		hyun_jang_end_round(s, p);
}

/* A congestion event: the sum is halved; `s->ssthresh` is the new window. */
static __always_inline void hyun_jang_decrease(struct hyun_jang *s, const struct cc_flow *flow)
{
	s->ssthresh = at_least(window_at_loss(hyun_jang_window(s), flow) / 2, MIN_SSTHRESH);
	s->reno = s->ssthresh;
	s->extra = 0;
	if (s->next_w_full)
		s->w_full = s->next_w_full;
	s->next_w_full = 0;
	s->lsrtt_q8 = 0;
	s->round_rtt_us = 0;
	s->stage = HJ_RECOVERY;
}

/* Fast recovery is over. */
static __always_inline void hyun_jang_recovered(struct hyun_jang *s, const struct cc_flow *flow)
{
	if (s->stage != HJ_RECOVERY)
		return;
	s->stage = HJ_SETTLING;
	s->mark = flow->nxt;
}

/* The window was set from outside (a timeout, idleness): slow start runs, and nothing is measured in it. */
static __always_inline void hyun_jang_restart(struct hyun_jang *s, __u32 window)
{
	s->reno = segments(window);
	s->extra = 0;
	s->stage = HJ_SLOW_START;
}

#endif
