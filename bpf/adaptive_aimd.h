/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adaptive AIMD in integers.
 *
 * Source: R. Shorten and D. Leith, On Queue Provisioning, Network Efficiency and the Transmission Control Protocol, IEEE/ACM
 * Transactions on Networking 15(4), 2007; the same readings of it as crates/cc/src/algorithms/adaptive_aimd.rs:
 *   beta = RTTmin/RTTmax in [beta_min, beta_max] at a congestion event (equations 4, 7), 0.5 at the first (figure 5);
 *   alpha = 2(1 - beta) segments per round trip until the next (equation 5);
 *   RTTmax, the greatest smoothed RTT, then fades to RTTmin + fading (RTTmax - RTTmin) (equation 9).
 * Left out: the throughput estimator of equation 10. Ours: RTTmax forgets what is older than RTT_MEMORY_MS to twice that; the
 * paper's forgets at congestion events only, of which its experiments have hundreds in that time.
 */
#ifndef FULLPIPE_ADAPTIVE_AIMD_H
#define FULLPIPE_ADAPTIVE_AIMD_H

#include "window.h"

struct adaptive_aimd_params {
	__u32 beta_min_q20, beta_max_q20, fading_q20;
};

/* beta in [0.5, 0.8] (section III); fading 7/8, the memory of the smoothed RTT. */
#define ADAPTIVE_AIMD_DEFAULTS { ONE_Q20 / 2, ONE_Q20 / 5 * 4, ONE_Q20 / 8 * 7 }

/* The ranges of crates/cc/src/algorithms/adaptive_aimd.rs. */
static __always_inline struct adaptive_aimd_params adaptive_aimd_within(__u32 beta_min, __u32 beta_max, __u32 fading)
{
	return (struct adaptive_aimd_params){
		within(beta_min, PERCENT_Q20(5), PERCENT_Q20(99)),
		within(beta_max, PERCENT_Q20(5), PERCENT_Q20(99)),
		within(fading, 0, ONE_Q20),
	};
}

struct adaptive_aimd {
	window_q32 w, ssthresh;
	__u32 alpha_q20, beta_q20;
	__u32 min_rtt_us, srtt_q8;
	struct recent max_rtt_q8;
	_Bool seen_loss;
};

static __always_inline window_q32 adaptive_aimd_window(const struct adaptive_aimd *s)
{
	return s->w;
}

static __always_inline void adaptive_aimd_init(struct adaptive_aimd *s, __u32 window, __u32 ssthresh)
{
	*s = (struct adaptive_aimd){.w = segments(window), .ssthresh = segments(ssthresh), .alpha_q20 = ONE_Q20,
				    .beta_q20 = ONE_Q20 / 2};
}

/* Every ACK: RTTmin always, the smoothed RTT and its maximum outside recovery. */
static __always_inline void adaptive_aimd_observe(struct adaptive_aimd *s, const struct cc_flow *flow,
						  const struct cc_ack *ack)
{
	if (!ack->rtt_us)
		return;
	s->min_rtt_us = least(s->min_rtt_us, ack->rtt_us);
	if (flow->in_recovery)
		return;
	s->srtt_q8 = averaged(s->srtt_q8, ack->rtt_us);
	see(&s->max_rtt_q8, s->srtt_q8, flow->now_us, RTT_MEMORY_MS);
}

static __always_inline void adaptive_aimd_increase(struct adaptive_aimd *s, const struct cc_flow *flow,
						   const struct cc_ack *ack)
{
	if (!flow->cwnd_limited)
		return;
	if (s->w < s->ssthresh)
		s->w = slow_started(s->w, s->ssthresh, ack->credit);
	else
		s->w += share(s->alpha_q20, ack->credit, s->w);
}

/* RTTmin/RTTmax (equation 7), whose memory then fades (equation 9); `beta_q20` as it is without samples. */
static __always_inline __u32 adaptive_aimd_ratio(struct adaptive_aimd *s, const struct adaptive_aimd_params *p)
{
	__u32 min_q8 = (s->min_rtt_us < MAX_SAMPLE_US ? s->min_rtt_us : MAX_SAMPLE_US - 1) << 8;
	__u32 max_q8 = greatest(&s->max_rtt_q8), faded_q8;

	if (!min_q8 || !max_q8)
		return s->beta_q20;
	if (max_q8 < min_q8)  /* RTTmin was seen in recovery only */
		return ONE_Q20;
	faded_q8 = min_q8 + (((__u64)(max_q8 - min_q8) * p->fading_q20) >> 20);
	s->max_rtt_q8.greatest = s->max_rtt_q8.before = faded_q8;
	return ((__u64)min_q8 << 20) / max_q8;
}

/* A congestion event: the window is cut and the increase set; `s->ssthresh` is the new window. */
static __always_inline void adaptive_aimd_decrease(struct adaptive_aimd *s, const struct cc_flow *flow,
						   const struct adaptive_aimd_params *p)
{
	__u32 beta = adaptive_aimd_ratio(s, p);

	if (!s->seen_loss)
		beta = ONE_Q20 / 2;
	s->seen_loss = 1;
	if (beta < p->beta_min_q20)
		beta = p->beta_min_q20;
	if (beta > p->beta_max_q20)
		beta = p->beta_max_q20;
	s->beta_q20 = beta;
	s->alpha_q20 = 2 * (ONE_Q20 - beta);
	s->ssthresh = at_least(scaled(window_at_loss(s->w, flow), beta), MIN_SSTHRESH);
	s->w = s->ssthresh;
}

#endif
