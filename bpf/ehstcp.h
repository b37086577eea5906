/* SPDX-License-Identifier: GPL-2.0 */
/*
 * eHSTCP in integers.
 *
 * Source: Y.-S. Choi, S.-H. Lee, Y.-Z. Cho, Enhanced Congestion Control Algorithm for High-Speed TCP, LNCS (2005); the same
 * readings of it as crates/cc/src/algorithms/ehstcp.rs:
 *   eRTT = RTT - d_bq, d_bq = d_b - min d_b (equations 1, 2); backlog N' = w (eRTT - RTTmin)/eRTT (equation 3), once per
 *   round trip: below N* HighSpeed TCP's increase, otherwise Reno's;
 *   a loss cuts by beta_e = 1 - RTTmin/eRTT, at most 1/2 (equation 4); where that is less than HighSpeed TCP's b(w), the
 *   safety check: no growth for safety_rtts RTTmax, and a fall to w (1 - b(w)) should N' exceed N*.
 * Ours: min d_b forgets what is older than CLOCK_MEMORY_MS to twice that. The clocks of two hosts drift apart, by 50 ppm and
 * more, which d_b shows as a queue that grows without end; the paper's simulated clocks do not. Where the way back is never
 * empty for so long, its queue counts as the path's own, as without timestamps. RTTmax forgets after RTT_MEMORY_MS.
 */
#ifndef FULLPIPE_EHSTCP_H
#define FULLPIPE_EHSTCP_H

#include "hstcp.h"

struct ehstcp_params {
	__u32 n_star;       /* segments */
	__u32 safety_rtts;
	__u32 cap_beta;     /* 1: never cut more than HighSpeed TCP */
};

/* N* = 10, safety check of 5 RTTmax (section 3); equation 4 uncapped. */
#define EHSTCP_DEFAULTS { 10, 5, 0 }

/* 50 ppm of drift in twice this are 1 ms, the tick of Linux's timestamps. */
#define CLOCK_MEMORY_MS (10 * 1000u)

/* The ranges of crates/cc/src/algorithms/ehstcp.rs. */
static __always_inline struct ehstcp_params ehstcp_within(__u32 n_star, __u32 safety_rtts, __u32 cap_beta)
{
	return (struct ehstcp_params){within(n_star, 0, 1000000), within(safety_rtts, 0, 1000), within(cap_beta, 0, 1)};
}

enum ehstcp_phase {
	EH_INCREASE,
	EH_AWAIT_RECOVERY,  /* the safety check begins with the data sent after recovery */
	EH_SAFETY_CHECK,
};

enum ehstcp_region { EH_HIGH_SPEED, EH_RENO, EH_HOLD };

#define EHSTCP_UNKNOWN (~0u)

struct ehstcp {
	window_q32 w, ssthresh;
	window_q32 fallback;       /* of the safety check */
	__u64 safe_until_us;
	__u32 at, a_q20;           /* a(w) at this whole window */
	__u32 min_rtt_us, ertt_us;
	struct recent max_rtt_us;
	struct recent backward_us; /* the delay of the way back, negated */
	__u32 mark;                /* data sent before tells the safety check nothing */
	__u32 loss_w;              /* the whole window that a cut found, until it is known what for; otherwise 0 */
	__u8 phase, region;
};

static __always_inline window_q32 ehstcp_window(const struct ehstcp *s)
{
	return s->w;
}

static __always_inline void ehstcp_init(struct ehstcp *s, __u32 window, __u32 ssthresh)
{
	*s = (struct ehstcp){.w = segments(window), .ssthresh = segments(ssthresh), .a_q20 = ONE_Q20,
			     .phase = EH_INCREASE, .region = EH_HIGH_SPEED};
}

/* Equations 1 and 2. */
static __always_inline void ehstcp_observe(struct ehstcp *s, const struct cc_flow *flow, const struct cc_ack *ack)
{
	__u32 queueing_us = 0;

	if (ack->has_backward) {
		see(&s->backward_us, -(__u32)ack->backward_us, flow->now_us, CLOCK_MEMORY_MS);
		queueing_us = (__u32)ack->backward_us + (__u32)greatest(&s->backward_us);
	}
	if (!ack->rtt_us)
		return;
	s->min_rtt_us = least(s->min_rtt_us, ack->rtt_us);
	see(&s->max_rtt_us, ack->rtt_us, flow->now_us, RTT_MEMORY_MS);
	s->ertt_us = ack->rtt_us > queueing_us ? ack->rtt_us - queueing_us : 1;
}

/* (eRTT - RTTmin)/eRTT, at least 0, Q20: the share of the round trip spent in the queue; `EHSTCP_UNKNOWN` before a sample. */
static __always_inline __u32 ehstcp_queueing_share(const struct ehstcp *s)
{
	if (!s->ertt_us || !s->min_rtt_us)
		return EHSTCP_UNKNOWN;
	if (s->ertt_us <= s->min_rtt_us)
		return 0;
	return ((__u64)(s->ertt_us - s->min_rtt_us) << 20) / s->ertt_us;
}

/* N' (equation 3), Q32; 0 before a sample. */
static __always_inline window_q32 ehstcp_backlog(const struct ehstcp *s)
{
	__u32 part = ehstcp_queueing_share(s);

	return part == EHSTCP_UNKNOWN ? 0 : scaled(s->w, part);
}

/* Once per round trip, after `observe` and before `increase`. */
static __always_inline void ehstcp_end_round(struct ehstcp *s, const struct cc_flow *flow, const struct ehstcp_params *p)
{
	_Bool queued = ehstcp_backlog(s) > segments(p->n_star), small = ehstcp_backlog(s) < segments(p->n_star);

	if (s->phase == EH_SAFETY_CHECK && !flow->in_recovery && beyond(flow->una, s->mark)) {
		if (queued) {
			if (s->w > s->fallback)
				s->w = at_least(s->fallback, 1);
			s->ssthresh = at_least(s->w, MIN_SSTHRESH);
			s->phase = EH_INCREASE;
		} else if (flow->now_us >= s->safe_until_us) {
			s->phase = EH_INCREASE;
		}
	}
	s->region = s->phase != EH_INCREASE ? EH_HOLD : small ? EH_HIGH_SPEED : EH_RENO;
}

/* Segments per round trip, Q20. */
static __always_inline __u32 ehstcp_gain(struct ehstcp *s)
{
	if (s->region == EH_HOLD)
		return 0;
	if (s->region == EH_RENO)
		return ONE_Q20;
	if (s->at != whole(s->w)) {
		s->at = whole(s->w);
		s->a_q20 = hstcp_a(s->at);
	}
	return s->a_q20;
}

/* An ACK outside recovery. */
static __always_inline void ehstcp_increase(struct ehstcp *s, const struct cc_flow *flow, const struct cc_ack *ack)
{
	if (!flow->cwnd_limited)
		return;
	if (s->w < s->ssthresh)
		s->w = slow_started(s->w, s->ssthresh, ack->credit);
	else
		s->w += share(ehstcp_gain(s), ack->credit, s->w);
}

/* A congestion event: equation 4; `s->ssthresh` is the new window. */
static __always_inline void ehstcp_decrease(struct ehstcp *s, const struct cc_flow *flow, const struct ehstcp_params *p)
{
	window_q32 w = window_at_loss(s->w, flow);
	__u32 b = hstcp_b(whole(w)), beta = ehstcp_queueing_share(s);
	_Bool safe = beta < b && p->safety_rtts;

	if (beta == EHSTCP_UNKNOWN)
		beta = b;
	if (beta > ONE_Q20 / 2)
		beta = ONE_Q20 / 2;
	if (p->cap_beta && beta > b)
		beta = b;
	s->loss_w = whole(at_least(w, 1));
	s->fallback = scaled(w, ONE_Q20 - b);
	s->safe_until_us = flow->now_us + (__u64)p->safety_rtts * greatest(&s->max_rtt_us);
	s->phase = safe ? EH_AWAIT_RECOVERY : EH_INCREASE;
	s->region = safe ? EH_HOLD : EH_RENO;
	s->ssthresh = at_least(scaled(w, ONE_Q20 - beta), MIN_SSTHRESH);
	s->w = s->ssthresh;
}

/*
 * A timeout: there is no safety check, and where it is what the window was just cut for, ssthresh is HighSpeed TCP's. (In
 * recovery the kernel asks for no second cut.)
 */
static __always_inline void ehstcp_timeout(struct ehstcp *s)
{
	if (s->loss_w)
		s->ssthresh = at_least(scaled(segments(s->loss_w), ONE_Q20 - hstcp_b(s->loss_w)), MIN_SSTHRESH);
	s->phase = EH_INCREASE;
	s->region = EH_RENO;
}

/* Fast recovery is over. */
static __always_inline void ehstcp_recovered(struct ehstcp *s, const struct cc_flow *flow)
{
	if (s->phase != EH_AWAIT_RECOVERY)
		return;
	s->phase = EH_SAFETY_CHECK;
	s->mark = flow->nxt;
}

#endif
