/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows in integers: the types and the arithmetic that the algorithms share. Compiles for BPF and for the host alike.
 *
 * Units: a window is segments times 2^32 (Q32) in 64 bits, so that a gain of 1/w keeps nine digits at w = 10^4; factors and
 * gains per round trip are Q20; times are microseconds; what is unknown is 0.
 */
#ifndef FULLPIPE_WINDOW_H
#define FULLPIPE_WINDOW_H

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define ONE_Q20 (1u << 20)
#define SEGMENT (1ull << 32)  /* one segment, Q32 */
#define MIN_SSTHRESH 2u       /* segments (RFC 5681 equation 4) */
#define MAX_SAMPLE_US (1u << 24)  /* RTTs above this (16.8 s) count as this, so that 8 fractional bits fit beside them */

typedef __u64 window_q32;

/* The sender's state as it is after the event reported. */
struct cc_flow {
	__u64 now_us;
	__u32 una, nxt;      /* first position not acknowledged, next to be sent; any unit, modulo 2^32 */
	__u32 in_flight;     /* segments sent and not cumulatively acknowledged */
	_Bool in_recovery;   /* fast recovery; never after a timeout */
	_Bool cwnd_limited;  /* the window limits the sender */
};

/* What one ACK adds. */
struct cc_ack {
	__u32 credit;        /* window increases it is worth, segments */
	_Bool round_start;   /* it ends a round trip */
	__u32 rtt_us;        /* its RTT sample; 0 for none */
	_Bool has_backward;
	__s32 backward_us;   /* one-way delay of the ACK plus an unknown offset */
};

static __always_inline __u32 whole(window_q32 w)
{
	return w >> 32;
}

static __always_inline window_q32 segments(__u32 n)
{
	return (window_q32)n << 32;
}

/* factor * w. */
static __always_inline window_q32 scaled(window_q32 w, __u32 factor_q20)
{
	return (w >> 20) * factor_q20;
}

/* per_round / w for each of `credit` segments: `per_round` segments per round trip. */
static __always_inline window_q32 share(__u32 per_round_q20, __u32 credit, window_q32 w)
{
	return credit * (((__u64)per_round_q20 << 36) / (w >> 8));
}

/* The window a loss finds: what is in flight where the window is not the limit. */
static __always_inline window_q32 window_at_loss(window_q32 w, const struct cc_flow *flow)
{
	window_q32 flight = segments(flow->in_flight);

	return flow->cwnd_limited || flight > w ? w : flight;
}

static __always_inline window_q32 at_least(window_q32 w, __u32 n)
{
	return w < segments(n) ? segments(n) : w;
}

/* Whether a position lies beyond another, modulo 2^32. */
static __always_inline _Bool beyond(__u32 position, __u32 mark)
{
	return (__s32)(position - mark) > 0;
}

/* An average that moves an eighth of the way to each sample and starts at the first; microseconds, Q8; 0 for none. */
static __always_inline __u32 averaged(__u32 average_q8, __u32 sample_us)
{
	__u32 sample_q8 = (sample_us < MAX_SAMPLE_US ? sample_us : MAX_SAMPLE_US - 1) << 8;

	if (!average_q8)
		return sample_q8;
	return sample_q8 > average_q8 ? average_q8 + (sample_q8 - average_q8) / 8 : average_q8 - (average_q8 - sample_q8) / 8;
}

static __always_inline __u32 least(__u32 known_us, __u32 sample_us)
{
	return !known_us || sample_us < known_us ? sample_us : known_us;
}

#endif
