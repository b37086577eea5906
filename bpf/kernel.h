/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs know of the kernel: the members they touch and no more. Offsets are filled in at load time from the
 * kernel's own BTF (CO-RE), so that the order and the gaps here mean nothing. Where the compiler is not one for BPF, the
 * programs become plain functions: conform.c drives them on the host.
 */
#ifndef FULLPIPE_KERNEL_H
#define FULLPIPE_KERNEL_H

#include <linux/types.h>

#ifdef __bpf__
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#define SET_AT_LOAD const volatile
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#else
#define SEC(name)
#define BPF_PROG(name, arguments...) name(arguments)
#define BPF_CORE_READ_BITFIELD(record, member) ((record)->member)
#define SET_AT_LOAD
__u64 bpf_ktime_get_ns(void);
#endif

struct sock;

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[104 / sizeof(__u64)];
};

struct tcp_options_received {
	__u32 rcv_tsval;
	__u16 saw_tstamp : 1;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	__u32 snd_una, snd_nxt;
	__u32 snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
	__u32 prior_cwnd;
	__u32 packets_out, max_packets_out;
	__u32 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	char name[16];
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

/* States of a connection's loss detection (linux/tcp.h, enum tcp_ca_state). */
enum { CA_OPEN = 0, CA_CWR = 2, CA_RECOVERY = 3, CA_LOSS = 4 };

#endif
