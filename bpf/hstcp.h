/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HighSpeed TCP's response function in integers (RFC 3649 section 5, Low_Window 38, High_Window 83000, High_P 1e-7,
 * High_Decrease 0.1; Low_P = 1.5/38^2). With x = (log w - log 38)/(log 83000 - log 38):
 *   b(w) = 0.5 - 0.4 x;  log p = log Low_P + x (log High_P - log Low_P);  a(w) = w^2 p 2b/(2 - b).
 * Logarithms are to base 2, Q16.
 */
#ifndef FULLPIPE_HSTCP_H
#define FULLPIPE_HSTCP_H

#include "window.h"

#define HSTCP_LOW_WINDOW 38u
#define HSTCP_LOG_LOW_WINDOW 343928     /* log2 38 */
#define HSTCP_LOG_SPAN 726984           /* log2 83000 - log2 38 */
#define HSTCP_LOG_LOW_P_NEGATED 649520  /* -log2(1.5/38^2) */
#define HSTCP_LOG_P_SPAN 874421         /* log2(1.5/38^2) - log2 1e-7 */
#define HSTCP_MIN_B (ONE_Q20 / 100)     /* far above High_Window */
#define HSTCP_MAX_A 255u                /* the most `share` takes; beyond a million segments */

/*
 * Both loops are free of branches: a verifier that follows every path through 16 branches gives up. `opaque` keeps the
 * compiler from putting them back.
 */
#define opaque(x) __asm__ volatile("" : "+r"(x))

/* log2 of a whole number above 0, Q16: the mantissa is shifted up to Q31, and its bits come one by one from squaring it. */
static __always_inline __u32 log2_q16(__u32 n)
{
	__u64 mantissa = n, log = 31 << 16;

	for (__u32 step = 16; step; step >>= 1) {
		__u64 below = (mantissa - (1ull << (32 - step))) >> 63;

		opaque(below);
		mantissa <<= below * step;
		log -= (below * step) << 16;
	}
	for (__u32 i = 1; i <= 16; i++) {
		__u64 carry;

		mantissa = mantissa * mantissa >> 31;
		carry = mantissa >> 32;
		opaque(carry);
		mantissa >>= carry;
		log += carry << (16 - i);
	}
	return log;
}

/* 2^x of x in Q16, at most 2^32, Q20: the integer part shifts, each bit of the rest multiplies by 2^(2^-i) (here Q31). */
static __always_inline __u64 exp2_q20(__u32 x_q16)
{
	const __u32 roots[16] = {3037000500u, 2553802834u, 2341847524u, 2242560872u, 2194507417u, 2170868212u,
				 2159144272u, 2153306067u, 2150392887u, 2148937775u, 2148210589u, 2147847087u,
				 2147665360u, 2147574502u, 2147529075u, 2147506361u};
	const __u64 one = 1ull << 31;
	__u64 power = one;
	__u32 shift = x_q16 >> 16;

	for (__u32 i = 0; i < 16; i++) {
		__u64 bit = x_q16 >> (15 - i) & 1;

		opaque(bit);
		power = power * (one + bit * (roots[i] - one)) >> 31;
	}
	return (power << (shift < 32 ? shift : 32)) >> 11;
}

/* b(w), the fraction cut, Q20. */
static __always_inline __u32 hstcp_b(__u32 w)
{
	__u64 cut;

	if (w <= HSTCP_LOW_WINDOW)
		return ONE_Q20 / 2;
	cut = (__u64)(log2_q16(w) - HSTCP_LOG_LOW_WINDOW) * (ONE_Q20 / 5 * 2) / HSTCP_LOG_SPAN;
	return cut + HSTCP_MIN_B < ONE_Q20 / 2 ? ONE_Q20 / 2 - cut : HSTCP_MIN_B;
}

/* a(w), segments per round trip, Q20. */
static __always_inline __u32 hstcp_a(__u32 w)
{
	__u32 log_w, log_p_negated, b;
	__u64 a;

	if (w <= HSTCP_LOW_WINDOW)
		return ONE_Q20;
	log_w = log2_q16(w);
	log_p_negated = HSTCP_LOG_LOW_P_NEGATED + (__u64)(log_w - HSTCP_LOG_LOW_WINDOW) * HSTCP_LOG_P_SPAN / HSTCP_LOG_SPAN;
	b = hstcp_b(w);
	a = exp2_q20(2 * log_w - log_p_negated) * (2 * b) / (2 * ONE_Q20 - b);
	return a < (__u64)HSTCP_MAX_A * ONE_Q20 ? a : HSTCP_MAX_A * ONE_Q20;
}

#endif
