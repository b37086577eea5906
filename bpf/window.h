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
#define PERCENT_Q20(percent) ((__u32)((percent) * (1ull << 20) / 100))
#define SEGMENT (1ull << 32)  /* one segment, Q32 */
#define MIN_SSTHRESH 2u       /* segments (RFC 5681 equation 4) */
#define MAX_SAMPLE_US (1u << 23)  /* RTTs above this (8.4 s) count as this, so that 8 fractional bits and a sign fit in */

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

/* A parameter, drawn into its range: whoever loads the object without fullpipe may have written anything into it. */
static __always_inline __u32 within(__u32 value, __u32 least, __u32 most)
{
	return value < least ? least : value > most ? most : value;
}

/* What the kernel shows, unless it is the whole part of ours: the kernel moved it, and the fraction means nothing. */
static __always_inline window_q32 adopted(window_q32 ours, __u32 shown)
{
	return whole(ours) == shown ? ours : segments(shown);
}

/*
 * Slow start: a segment for each one acknowledged, until the threshold is reached or passed by less than one. What an ACK of
 * many segments acknowledges beyond that adds nothing.
 */
static __always_inline window_q32 slow_started(window_q32 w, window_q32 ssthresh, __u32 credit)
{
	__u32 missing = whole(ssthresh - w + SEGMENT - 1);

	return w + segments(credit < missing ? credit : missing);
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

/*
 * The greatest of the values seen lately: in the last one to two spans of time. Values compare modulo 2^32; the least of some
 * is the greatest of their negatives, negated.
 */
struct recent {
	__s32 greatest, before;  /* in the span that runs, in the one before it */
	__u32 since_ms;          /* when the span that runs began; 0 before the first value */
};

static __always_inline void see(struct recent *r, __s32 value, __u64 now_us, __u32 span_ms)
{
	__u32 now_ms = (__u32)(now_us / 1000) | 1, elapsed_ms = now_ms - r->since_ms;

	if (!r->since_ms || elapsed_ms >= 2 * span_ms)
		*r = (struct recent){value, value, now_ms};
	else if (elapsed_ms >= span_ms)
		*r = (struct recent){value, r->greatest, now_ms};
	else if (beyond(value, r->greatest))
		r->greatest = value;
}

static __always_inline __s32 greatest(const struct recent *r)
{
	return beyond(r->before, r->greatest) ? r->before : r->greatest;
}

/* How long the greatest RTT is remembered: in the papers, for the whole connection. */
#define RTT_MEMORY_MS (10 * 60 * 1000u)

static __always_inline __u32 least(__u32 known_us, __u32 sample_us)
{
	return !known_us || sample_us < known_us ? sample_us : known_us;
}

#endif
