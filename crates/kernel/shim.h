/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a congestion control of Linux's own (net/ipv4/tcp_*.c) takes from the kernel's headers, for the records of target.h: written
 * from the kernel's interfaces. What is not here does not compile, and is so refused by name.
 */
#ifndef FULLPIPE_SHIM_H
#define FULLPIPE_SHIM_H

#include "target.h"

/* What it was made for, and of which kernel's source. */
const char made_for[] __attribute__((used, section("fullpipe"))) = MADE_FOR "\0" MADE_OF;

#define NULL ((void *)0)
#define true 1
#define false 0
#define offsetof(record, member) __builtin_offsetof(record, member)
#define __pure
#define ERANGE 34
#define INT_MAX 0x7fffffff
#define U8_MAX 0xff
#define U16_MAX 0xffff
#define U32_MAX 0xffffffffu
#define S32_MAX INT_MAX
#define UINT_MAX U32_MAX
#define U64_MAX (~0ull)
#define EINVAL 22
#define ENOMEM 12

typedef unsigned long size_t;
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef signed char s8;
typedef short s16;
typedef s64 ktime_t;

/* What the compiler is told. */
#define __init __attribute__((unused))
#define __exit __attribute__((unused))
/* Where a module has its operations, among other variables: they are looked for there. */
#define __read_mostly __attribute__((section(".struct_ops")))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define __bpf_kfunc
#define __aligned(n) __attribute__((aligned(n)))
#define ____cacheline_aligned
#define fallthrough __attribute__((fallthrough))
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define ACCESS_PRIVATE(p, member) ((p)->member)
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define WARN_ON(condition) (!!(condition))
#define WARN_ON_ONCE(condition) (!!(condition))
#define WARN_ONCE(condition, ...) (!!(condition))
#define pr_info(...) ((void)0)
#define pr_debug(...) ((void)0)
#define pr_warn(...) ((void)0)
#define IS_ENABLED(option) 0
#define IS_BUILTIN(option) 0
#define THIS_MODULE NULL
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_VERSION(text)
#define MODULE_PARM_DESC(name, text)
/* A module's parameters stay variables, which a scenario sets: the other name tells of them, and keeps them from being folded away. */
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_named(name, variable, type, mode) \
	extern __typeof__(variable) module_param_##name __attribute__((alias(#variable)));
#define module_init(function) __attribute__((used)) int module_begins(void) { return (function)(); }
#define module_exit(function)
#define EXPORT_SYMBOL_GPL(name)
#define EXPORT_SYMBOL(name)
#define BTF_SET8_START(name) static __attribute__((unused)) int name;
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) static __attribute__((unused)) int name;
#define BTF_KFUNCS_END(name)
#define BTF_ID_FLAGS(...)
#define register_btf_kfunc_id_set(...) 0
struct btf_kfunc_id_set {
	void *owner, *set;
};

/* Arithmetic. */
#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp(value, least, most) min(max(value, least), most)
#define clamp_t(type, value, least, most) min_t(type, max_t(type, value, least), most)
#define min_not_zero(a, b) ({ __typeof__(a) x_ = (a); __typeof__(b) y_ = (b); !x_ ? y_ : !y_ ? x_ : min(x_, y_); })
#define abs(x) ({ __typeof__(x) x__ = (x); x__ < 0 ? -x__ : x__; })
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define DIV_ROUND_UP_ULL(a, b) DIV_ROUND_UP((u64)(a), (u64)(b))
#define BIT(n) (1ul << (n))
#define BITS_PER_TYPE(type) (8 * sizeof(type))
#define do_div(n, by) ({ __u32 by_ = (by); __u32 rest_ = (n) % by_; (n) = (n) / by_; rest_; })
#define memset __builtin_memset
#define memcpy __builtin_memcpy

static inline __maybe_unused u64 div_u64(u64 a, u32 b) { return a / b; }
static inline __maybe_unused u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline __maybe_unused u64 div64_ul(u64 a, unsigned long b) { return a / b; }
/* Signed divisions, by their types in LLVM: they take the place of the instruction that not every BPF has. */
#define SIGNED_DIVISION(type, plain, name) \
	static __attribute__((used)) type name(type a, type b) \
	{ \
		plain whole = (plain)(a < 0 ? -(plain)a : (plain)a) / (b < 0 ? -(plain)b : (plain)b); \
\
		return (a < 0) != (b < 0) ? -whole : whole; \
	}
SIGNED_DIVISION(s32, u32, signed_i32)
SIGNED_DIVISION(s64, u64, signed_i64)
#define div64_s64(a, b) signed_i64(a, b)
#define div64_long(a, b) signed_i64(a, b)
#define div_s64(a, b) signed_i64(a, b)

static inline __maybe_unused int fls64(u64 x)
{
	int n = 0;

	for (int shift = 32; shift; shift /= 2u)
		if (x >> shift)
			x >>= shift, n += shift;
	return x ? n + 1 : 0;
}
static inline __maybe_unused int fls(u32 x) { return fls64(x); }
#define __fls(x) (fls64(x) - 1)
#define ilog2(x) (fls64(x) - 1)

static inline __maybe_unused unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0;

	for (unsigned long bit = 1ul << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= x)
			root += bit;
	return root;
}

/* Clocks. */
#define HZ 250
#define NSEC_PER_USEC 1000l
#define NSEC_PER_MSEC 1000000l
#define NSEC_PER_SEC 1000000000l
#define USEC_PER_MSEC 1000l
#define USEC_PER_SEC 1000000l
#define MSEC_PER_SEC 1000l
#define USEC_PER_JIFFY (1000000u / HZ)
#define TCP_TS_HZ 1000
static __u64 (*const now_ns)(void) = (void *)5;     /* bpf_ktime_get_ns */
static __u64 (*const now_jiffies)(void) = (void *)118; /* bpf_jiffies64 */
static __u32 (*const drawn)(void) = (void *)7;      /* bpf_get_prandom_u32 */
#define jiffies ((unsigned long)now_jiffies())
#define tcp_jiffies32 ((u32)now_jiffies())
#define jiffies_to_usecs(n) ((unsigned int)(n) * USEC_PER_JIFFY)
#define jiffies_to_msecs(n) ((unsigned int)(n) * (1000u / HZ))
#define usecs_to_jiffies(us) (((unsigned long)(us) + USEC_PER_JIFFY - 1) / USEC_PER_JIFFY)
#define msecs_to_jiffies(ms) usecs_to_jiffies((ms) * 1000ul)
#define tcp_clock_us() (now_ns() / 1000)
#define tcp_clock_ns() now_ns()
#define local_clock() now_ns()
#define sched_clock() now_ns()
#define ktime_get_real() ((ktime_t)now_ns())
#define ktime_get_ns() now_ns()
#define ktime_to_us(t) ((s64)((u64)(t) / 1000))
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define after(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define before(a, b) after(b, a)
#define between(x, low, high) ((u32)((high) - (low)) >= (u32)((x) - (low)))
#define get_random_u32() drawn()
#define prandom_u32() drawn()
static inline __maybe_unused u32 get_random_u32_below(u32 most) { return (u64)drawn() * most >> 32; }
static inline __maybe_unused void get_random_bytes(void *to, int count)
{
	for (int i = 0; i < count; i++)
		((u8 *)to)[i] = drawn();
}
#define prandom_u32_max(most) get_random_u32_below(most)
#define get_random_u16() ((u16)drawn())

/* The socket. */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_CONG_WANTS_CE_EVENTS 4
#define TCP_CA_NAME_MAX 16
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
/* Whoever has agreed upon ECN has marks that come early. */
#define TCP_ECN_LOW TCP_ECN_OK
#define TCP_ECN_ECT_PERMANENT 0
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE GSO_LEGACY_MAX_SIZE
#define MAX_TCP_HEADER 320
#define tcp_sk(sk) ((struct tcp_sock *)(sk))
#define inet_csk(sk) ((struct inet_connection_sock *)(sk))
#ifdef LARGE_CA_PRIV /* a module with skb_marked_lost */
#define ICSK_CA_PRIV_SIZE sizeof(((struct tcp_sock *)0)->large_ca_priv)
static inline __maybe_unused void *inet_csk_ca(const struct sock *sk) { return (void *)tcp_sk(sk)->large_ca_priv; }
#else
#define ICSK_CA_PRIV_SIZE sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv)
static inline __maybe_unused void *inet_csk_ca(const struct sock *sk) { return (void *)inet_csk(sk)->icsk_ca_priv; }
#endif
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, value) ((void)((tp)->snd_cwnd = (value)))
#define tcp_in_slow_start(tp) ((tp)->snd_cwnd < (tp)->snd_ssthresh)
#define tcp_in_initial_slowstart(tp) ((tp)->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
#define tcp_min_rtt(tp) ((tp)->rtt_min.s[0].v)
#define tcp_packets_in_flight(tp) ((tp)->packets_out - ((tp)->sacked_out + (tp)->lost_out) + (tp)->retrans_out)
#define tcp_time_stamp(tp) ((u32)((tp)->tcp_mstamp / 1000))
#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)
#define tcp_left_out(tp) ((tp)->sacked_out + (tp)->lost_out)
#define tcp_stamp_us_delta(late, early) max_t(s64, (s64)((late) - (early)), 0)
#define tcp_mss_to_mtu(sk, mss) ((int)(mss) + 52)
/* The compiler is to keep the operations. */
#define tcp_register_congestion_control(operations) ({ __asm__ volatile("" : : "r"(operations)); 0; })
#define tcp_unregister_congestion_control(operations) ((void)0)
#define cmpxchg(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define dst_feature(...) 0

#define TCP_SKB_CB(skb) ((struct tcp_skb_cb *)&(skb)->cb)
/* A segment is one packet. */
#define tcp_skb_pcount(skb) 1
#define tcp_skb_tx_in_flight_is_suspicious(...) 0
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)
#define NET_INC_STATS(...) ((void)0)
#define NET_ADD_STATS(...) ((void)0)
struct net {
	struct {
		u32 sysctl_tcp_min_tso_segs, sysctl_tcp_plb_enabled;
	} ipv4;
};
static const struct net simulated_net = {.ipv4 = {.sysctl_tcp_min_tso_segs = 2}};
#define sock_net(sk) ((struct net *)&simulated_net)
/* Protective load balancing is off: there are no other paths. */
#define TCP_PLB_SCALE 8
struct tcp_plb_state {
	u8 consec_cong_rounds : 5, unused : 3;
	u32 pause_until;
};
#define tcp_plb_update_state(...) ((void)0)
#define tcp_plb_check_rehash(...) ((void)0)
#define tcp_plb_update_state_upon_rto(...) ((void)0)
#define is_power_of_2(n) ((n) && !((n) & ((n) - 1)))
/* No program of the user's is asked for the least RTT. */
#define tcp_call_bpf(...) (-1)
/* Nothing is received, so that no ACK is ever sent or held back. */
#define ICSK_ACK_SCHED 1
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 8
#define sk_state __sk_common.skc_state
#define TCP_LISTEN 10
#define TCP_CLOSE 7
#define __tcp_send_ack(sk, position) (*(void (*)(void *, u32))116)(tcp_sk(sk), position) /* bpf_tcp_send_ack */
#define tcp_send_ack(sk) __tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt)
/* What get_info says; nobody asks. */
#define INET_DIAG_VEGASINFO 3
#define INET_DIAG_DCTCPINFO 9
#define INET_DIAG_BBRINFO 16
struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};
union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct {
		u16 dctcp_enabled, dctcp_ce_state;
		u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
	} dctcp;
	struct tcp_bbr_info {
		u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
		u32 bbr_bw_hi_lsb, bbr_bw_hi_msb, bbr_bw_lo_lsb, bbr_bw_lo_msb;
		u8 bbr_mode, bbr_phase, unused, bbr_version;
		u32 bbr_inflight_lo, bbr_inflight_hi, bbr_extra_acked;
	} bbr;
};
enum tcp_bbr_phase {
	BBR_PHASE_INVALID,
	BBR_PHASE_STARTUP,
	BBR_PHASE_DRAIN,
	BBR_PHASE_PROBE_RTT,
	BBR_PHASE_PROBE_BW_UP,
	BBR_PHASE_PROBE_BW_DOWN,
	BBR_PHASE_PROBE_BW_CRUISE,
	BBR_PHASE_PROBE_BW_REFILL,
};
#ifdef LACKS_tcp_dctcp_h
/* No data is received, so that no ACK has a mark to echo. */
#define dctcp_ece_ack_update(...) ((void)0)
#endif

static inline __maybe_unused bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited || (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/* The threshold in force: outside recovery a window that was not lost counts for three quarters. */
static __maybe_unused u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

/*
 * The greatest value of a span of time, from three samples (Kathleen Nichols's windowed filter): the best, and those that follow it
 * in turn once it is too old; a quarter and a half of the span without a better one makes the second and the third anew.
 */
static __maybe_unused u32 minmax_get(const struct minmax *m) { return m->s[0].v; }

static __maybe_unused u32 minmax_reset(struct minmax *m, u32 t, u32 value)
{
	struct minmax_sample sample = {.t = t, .v = value};

	m->s[0] = m->s[1] = m->s[2] = sample;
	return value;
}

static __maybe_unused noinline u32 minmax_running_max(struct minmax *m, u32 span, u32 t, u32 value)
{
	struct minmax_sample sample = {.t = t, .v = value};

	if (value >= m->s[0].v || t - m->s[2].t > span)
		return minmax_reset(m, t, value);
	if (value >= m->s[1].v)
		m->s[1] = m->s[2] = sample;
	else if (value >= m->s[2].v)
		m->s[2] = sample;
	for (int i = 0; i < 2 && t - m->s[0].t > span; i++) {
		m->s[0] = m->s[1];
		m->s[1] = m->s[2];
		m->s[2] = sample;
	}
	if (m->s[1].t == m->s[0].t && t - m->s[1].t > span / 4)
		m->s[1] = m->s[2] = sample;
	else if (m->s[2].t == m->s[1].t && t - m->s[2].t > span / 2)
		m->s[2] = sample;
	return m->s[0].v;
}

/* Reno (RFC 5681, RFC 3465). */
static __maybe_unused noinline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

static __maybe_unused noinline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked)
{
	if (!per)
		per = 1;
	if (tp->snd_cwnd_cnt >= per)
		tp->snd_cwnd_cnt = 0, tp->snd_cwnd++;
	tp->snd_cwnd_cnt += acked;
	tp->snd_cwnd += tp->snd_cwnd_cnt / per;
	tp->snd_cwnd_cnt %= per;
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

static __maybe_unused void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

static __maybe_unused u32 tcp_reno_ssthresh(struct sock *sk) { return max_t(u32, tcp_sk(sk)->snd_cwnd / 2, 2); }
static __maybe_unused u32 tcp_reno_undo_cwnd(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd); }

#endif
