// SPDX-License-Identifier: MIT OR Apache-2.0
/* Additive increase of `alpha` segments per round trip, multiplicative decrease to `beta` times the window. */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* Parameters, in fixed point with 10 fractional bits. */
const volatile __u32 alpha_q10 = 1 << 10;
const volatile __u32 beta_q10 = 1 << 9;

/* Fields of the kernel that the program uses. The loader finds their offsets (CO-RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	unsigned long sk_pacing_rate;
};

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
	__u32 is_cwnd_limited : 1;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop

/* Functions of the kernel: slow start, which returns the remaining acknowledged segments, and the window of an undo. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* State in the private area of the connection. */
struct aimd {
	__u64 credit_q10;  /* growth not yet applied, in 2^-10 segments times the window */
};

static struct aimd *aimd_of(struct sock *sk)
{
	return (struct aimd *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops/aimd_init")
void BPF_PROG(aimd_init, struct sock *sk)
{
	aimd_of(sk)->credit_q10 = 0;
}

SEC("struct_ops/aimd_cong_avoid")
void BPF_PROG(aimd_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct aimd *a = aimd_of(sk);
	__u64 segment_q10, grown;

	if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	a->credit_q10 += (__u64)acked * alpha_q10;
	segment_q10 = (__u64)tp->snd_cwnd << 10;
	if (a->credit_q10 < segment_q10 || !segment_q10)
		return;
	grown = tp->snd_cwnd + a->credit_q10 / segment_q10;
	a->credit_q10 %= segment_q10;
	tp->snd_cwnd = grown < tp->snd_cwnd_clamp ? grown : tp->snd_cwnd_clamp;
}

SEC("struct_ops/aimd_ssthresh")
__u32 BPF_PROG(aimd_ssthresh, struct sock *sk)
{
	__u64 left = (__u64)((struct tcp_sock *)sk)->snd_cwnd * beta_q10 >> 10;

	return left > 2 ? left : 2;
}

SEC("struct_ops/aimd_undo_cwnd")
__u32 BPF_PROG(aimd_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops aimd = {
	.init = (void *)aimd_init,
	.ssthresh = (void *)aimd_ssthresh,
	.cong_avoid = (void *)aimd_cong_avoid,
	.undo_cwnd = (void *)aimd_undo_cwnd,
	.name = "aimd",
};
