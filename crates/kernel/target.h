/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel that the virtual machine shows to programs: the records they may ask for, with the members that a sender here
 * keeps true. Names and types are those of the kernel's interface; order and offsets are our own, since programs are fitted to
 * them when they are loaded (CO-RE). What is not here is refused by name.
 *
 * target.btf is made from it: make -C crates/kernel
 */
typedef unsigned char __u8, u8;
typedef unsigned short __u16, u16;
typedef unsigned int __u32, u32;
typedef unsigned long long __u64, u64;
typedef int __s32, s32;
typedef long long __s64, s64;
typedef _Bool bool;

enum tcp_ca_state { TCP_CA_Open = 0, TCP_CA_Disorder = 1, TCP_CA_CWR = 2, TCP_CA_Recovery = 3, TCP_CA_Loss = 4 };

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
	CA_EVENT_TLP_RECOVERY,            /* of kernels with BBRv3 */
};

enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };

enum sk_pacing { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, SK_PACING_FQ = 2 };

struct sock_common {
	volatile unsigned char skc_state; /* always established: 1 */
};

struct sock {
	struct sock_common __sk_common;
	u8 sk_pacing_shift;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;     /* bytes a second */
	unsigned long sk_max_pacing_rate;
	u32 sk_gso_max_size;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5, icsk_ca_initialized : 1, icsk_ca_setsockopt : 1, icsk_ca_dst_locked : 1;
	__u8 icsk_retransmits;
	struct {
		__u8 pending;             /* nothing: no data is received */
	} icsk_ack;
	u64 icsk_ca_priv[104 / sizeof(u64)];
};

struct minmax_sample {
	u32 t, v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u32 rcv_tsval, rcv_tsecr;         /* milliseconds, as in a kernel */
	u16 saw_tstamp : 1, tstamp_ok : 1, sack_ok : 3;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u16 tcp_header_len;
	u32 snd_una, snd_nxt, write_seq;
	u32 rcv_nxt;                      /* stays: no data is received */
	u32 mss_cache;
	u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_stamp, snd_ssthresh;
	u32 prior_cwnd, prior_ssthresh;
	u32 packets_out, retrans_out, sacked_out, lost_out, max_packets_out;
	u32 high_seq;
	u32 delivered, delivered_ce, lost, app_limited;
	u32 srtt_us;                      /* microseconds, times 8 */
	u32 lsndtime;
	u64 tcp_mstamp, tcp_clock_cache, tcp_wstamp_ns;
	u64 delivered_mstamp;
	u64 bytes_acked;
	struct minmax rtt_min;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
	/* Of kernels with BBRv3, whose modules have a larger area of their own. */
	u8 fast_ack_mode, tlp_orig_data_app_limited, is_sack_reneg;
	u64 large_ca_priv[24];
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;                    /* bytes, when what is acknowledged was sent; here, before the ACK */
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered, prior_delivered_ce;
	s32 delivered, delivered_ce;
	long interval_us;
	u32 snd_interval_us, rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight, last_end_seq;
	bool is_app_limited, is_retrans, is_ack_delayed;
	/* Of kernels with BBRv3. */
	u32 tx_in_flight;
	s32 lost;
	bool is_ece, is_acking_tlp_retrans_seq;
};

/* A segment found lost, as kernels with BBRv3 tell of it. */
struct tcp_skb_cb {
	u32 seq, end_seq;
	struct {
		u64 delivered_mstamp;
		u32 in_flight, lost;
		u8 is_app_limited;
	} tx;
	u8 sacked;
};

struct sk_buff {
	struct tcp_skb_cb cb;
};

union tcp_cc_info;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
#ifdef CONG_CONTROL_TAKES_TWO /* before 6.10 */
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	unsigned long (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[16];
	void *owner;
	u32 key, flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	/* Of kernels with BBRv3. */
	u32 (*tso_segs)(struct sock *sk, unsigned int mss);
	void (*skb_marked_lost)(struct sock *sk, const struct sk_buff *skb);
};

struct tcp_sock *kept_tcp_sock;
struct ack_sample *kept_ack_sample;
struct rate_sample *kept_rate_sample;
struct sk_buff *kept_sk_buff;
struct tcp_congestion_ops *kept_operations;
enum tcp_ca_state kept_state;
enum tcp_ca_ack_event_flags kept_flags;
enum sk_pacing kept_pacing;
