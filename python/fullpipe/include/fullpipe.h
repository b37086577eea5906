/* What fullpipe tells an algorithm that is compiled, and what it calls of it: the plug that C, cffi and Numba share.
 *
 * Times are seconds, windows segments, rates segments a second; what is unknown is NaN. A state begins with the window, the
 * slow-start threshold and, where the algorithm paces, its rate; the rest is the algorithm's own. Functions return 1, or 0 where the
 * algorithm cannot go on, which ends the run. MIT or Apache-2.0, at your choice.
 */
#ifndef FULLPIPE_H
#define FULLPIPE_H

#include <stddef.h>
#include <stdint.h>

/* The sender's state after the event. */
struct fullpipe_flow {
	double now_s;         /* the sender's clock */
	double srtt_s;        /* smoothed RTT (RFC 6298) */
	double min_rtt_s;     /* least RTT seen on this flow */
	int64_t delivered;    /* segments acknowledged since the flow began */
	int64_t lost;         /* segments found lost since then */
	int64_t flight_size;  /* sent and not yet cumulatively acknowledged (RFC 5681's FlightSize) */
	int64_t in_flight;    /* thought to be in the network (RFC 6675's pipe) */
	int64_t round;        /* round trips completed */
	uint8_t in_recovery;  /* fast recovery is under way; the window is not to grow */
	uint8_t cwnd_limited; /* the window, or the rate, is what limits the sender */
	uint8_t app_limited;  /* there is nothing left to send, and the window has room */
};

/* What one ACK adds. */
struct fullpipe_ack {
	double credit;           /* window increases it is worth; 0 where the window is not to grow by it */
	double rtt_s;            /* the RTT sample it carries */
	double forward_delay_s;  /* one-way delay of the data; only differences mean anything */
	double backward_delay_s; /* one-way delay of the ACK; same caution */
	double delivery_rate;    /* the rate at which data arrived, for algorithms that take samples */
	int64_t acked;           /* segments newly acknowledged */
	int64_t newly_lost;      /* segments found lost since the ACK before */
	int64_t ce;              /* segments that it newly tells to have been marked */
	uint8_t round_start;     /* it ends a round trip */
	uint8_t is_app_limited;  /* the rate was measured while the application had no more to send */
};

/* How a connection begins. */
struct fullpipe_start {
	double window;         /* the first window; the state has it already */
	double rtt_s;          /* the RTT that the handshake has shown */
	int64_t seed;          /* what random choices are drawn from */
	int64_t segment_bytes; /* bytes of a segment on the wire */
	uint8_t paced;         /* packets leave at a rate */
};

/* A packet at the time it was sent: nanoseconds on the clock of fullpipe_flow.now_s, and bytes. Reserved bytes are zero. */
struct fullpipe_sent {
	uint64_t number;        /* each transmission of a segment, first or repeated, has the next one */
	uint64_t bytes;         /* size on the wire */
	uint64_t sent_at;       /* time of sending */
	uint64_t in_flight;     /* bytes in flight after this packet */
	uint64_t delivered;     /* bytes delivered since the connection began, when this packet was sent */
	uint64_t lost;          /* bytes lost since the connection began, when this packet was sent */
	uint64_t delivered_at;  /* time of the last delivery, when this packet was sent */
	uint64_t first_sent_at; /* time at which the sampling interval of this packet began */
	uint8_t app_limited;    /* the application limited the sender when this packet was sent */
	uint8_t is_probe;       /* tail loss probe */
	uint8_t ecn;            /* 0 not ECN-capable, 1 ECT(1), 2 ECT(0) */
	uint8_t reserved[5];
};

/* A packet that was found lost. */
struct fullpipe_lost {
	struct fullpipe_sent sent;     /* the packet as it was sent */
	uint8_t by;                    /* enum fullpipe_lost_by */
	uint8_t reserved[7];
	uint64_t lost_since_sent;      /* bytes lost since it was sent, itself included */
	uint64_t delivered_since_sent; /* bytes delivered since it was sent */
};

enum fullpipe_lost_by { FULLPIPE_PACKET_THRESHOLD = 0, FULLPIPE_TIME_THRESHOLD = 1 };

enum fullpipe_signal { FULLPIPE_LOSS = 0, FULLPIPE_ECN = 1, FULLPIPE_TIMEOUT = 2 };

typedef int32_t fullpipe_on_start(void *state, const struct fullpipe_start *start);
typedef int32_t fullpipe_on_ack(void *state, const struct fullpipe_flow *flow, const struct fullpipe_ack *ack);
typedef int32_t fullpipe_on_flow(void *state, const struct fullpipe_flow *flow); /* on_round, on_recovered */
typedef int32_t fullpipe_on_congestion(void *state, const struct fullpipe_flow *flow, int64_t signal);

/* Optional. A spurious reduction is undone: the window and the threshold were these before it, segments. Without it both are at least
 * that again. */
typedef int32_t fullpipe_on_undo(void *state, double cwnd, double ssthresh);
/* Optional, and without cost where a library has neither: every packet that is sent, and every packet that is found lost. */
typedef int32_t fullpipe_on_sent(void *state, const struct fullpipe_flow *flow, const struct fullpipe_sent *sent);
typedef int32_t fullpipe_on_lost(void *state, const struct fullpipe_flow *flow, const struct fullpipe_lost *lost);
/* Optional. The state is used no more: free what on_start allocated. It is called once for each on_start. */
typedef int32_t fullpipe_on_end(void *state);


/* Version 2: packet-level controllers. Sizes are bytes, times nanoseconds, rates bytes per second. An unknown time is UINT64_MAX. A
 * library exports fullpipe_library. Functions return 0, or another number where the controller cannot go on, which ends the run.
 * For example: fullpipe run scenario.toml --algorithms ./libmine.so:mine */
#define FULLPIPE_ABI 2

/* The sender's state after the event. All calls of one ACK see equal values. */
struct fullpipe_path {
	uint64_t size; /* of this struct: later versions add fields at its end */
	uint64_t now;
	uint64_t in_flight;       /* sent, neither acknowledged, lost, nor discarded */
	uint64_t prior_in_flight; /* in_flight before the event */
	uint64_t delivered;       /* since the connection began, as the next four */
	uint64_t lost;
	uint64_t spurious; /* of lost, what arrived after all */
	uint64_t sent;
	uint64_t ce;            /* packets */
	uint64_t delivered_at;  /* time of the last delivery */
	uint64_t first_sent_at; /* start of the next sampling interval */
	uint64_t latest_rtt;
	uint64_t smoothed_rtt;
	uint64_t rttvar;
	uint64_t min_rtt;
	uint64_t max_ack_delay;
	uint64_t pto;         /* probe timeout without backoff */
	uint64_t next_packet; /* number of the next packet */
	uint64_t round;       /* round trips completed */
	uint8_t in_recovery;
	uint8_t cwnd_limited; /* the window limited the sender in the last round */
	uint8_t app_limited;
	uint8_t reserved[5];
	uint64_t datagram; /* largest packet */
};

/* Delivery rate that the newest packet of an ACK shows. */
struct fullpipe_rate_sample {
	uint64_t delivered;       /* since the packet was sent */
	uint64_t interval;        /* 0: shorter than the minimum RTT */
	uint64_t prior_delivered; /* delivered when the packet was sent */
	uint64_t tx_in_flight;    /* in flight after the packet was sent */
	uint64_t lost;            /* since the packet was sent */
	uint8_t is_app_limited;
	uint8_t reserved[7];
};

/* A packet that an ACK newly acknowledges. */
struct fullpipe_acked {
	struct fullpipe_sent sent;
	uint64_t acked_at;
	struct fullpipe_rate_sample rate; /* of the newest packet of the ACK only */
	uint8_t has_rate;
	uint8_t reserved[7];
};

/* RTT sample of an ACK. */
struct fullpipe_rtt {
	uint64_t sample;
	uint64_t adjusted; /* without the ACK delay */
	uint64_t ack_delay;
	uint64_t packet;
};

/* How a connection begins. */
struct fullpipe_packet_start {
	uint64_t size;
	uint64_t initial_window;
	uint64_t datagram;
	uint64_t seed;
	uint64_t initial_rtt_ns;
	uint64_t now_ns;
};

/* Parameter that a scenario can set: algorithm = { name = "mine", beta = 0.7 }. unit may be NULL. */
struct fullpipe_param {
	const char *name;
	double default_value, minimum, maximum;
	const char *unit;
};

/* A controller. create, destroy, acked, lost, and window are required; the others may be NULL. acked and lost come in ascending order of packet numbers. rtt is NULL without a
 * sample. Order of calls for an ACK: spurious, ecn_ce, lost, acked. */
struct fullpipe_packet_control {
	size_t size; /* of this struct */
	const char *name;
	const struct fullpipe_param *params;
	size_t n_params;
	void *(*create)(const struct fullpipe_packet_start *start, const double *params); /* NULL is an error */
	void (*destroy)(void *state);
	int (*sent)(void *state, const struct fullpipe_path *path, const struct fullpipe_sent *sent);
	int (*acked)(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
	             const struct fullpipe_rtt *rtt);
	int (*lost)(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent);
	int (*ecn_ce)(void *state, const struct fullpipe_path *path, uint64_t count, const struct fullpipe_acked *largest);
	int (*spurious)(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *arrived, size_t count, int all);
	int (*pto)(void *state, const struct fullpipe_path *path, uint32_t count);
	int (*app_limited)(void *state, const struct fullpipe_path *path);
	int (*restart)(void *state, const struct fullpipe_path *path);
	/* The peer has acknowledged an ACK_FREQUENCY frame: it sends an ACK after more than threshold packets. */
	int (*ack_frequency)(void *state, const struct fullpipe_path *path, uint64_t threshold, uint64_t max_ack_delay);
	uint64_t (*window)(void *state);
	double (*pacing_rate)(void *state);    /* NaN: none */
	uint64_t (*send_quantum)(void *state); /* largest burst at that rate */
	uint64_t (*ssthresh)(void *state);     /* for traces; UINT64_MAX: none */
	/* State by the names of draft-ietf-ccwg-bbr, "Startup" to "ProbeRTT", for the series phase of fullpipe conform. */
	const char *(*state_name)(void *state);
	size_t (*inspect)(void *state, const char **names, double *values, size_t capacity); /* for traces: how many there are */
	int (*marks_app_limited)(void *state);
	/* The largest datagram has another size from now on, for example in a tunnel. */
	int (*mtu)(void *state, const struct fullpipe_path *path, uint64_t datagram);
	/* Bytes have left flight without ACK and without congestion: a path MTU probe is lost (RFC 9000 section 14.4). */
	int (*discarded)(void *state, const struct fullpipe_path *path, uint64_t bytes);
	/* ECN codepoint of data packets: 0 for ECT(0), 1 for ECT(1), -1 for that of the scenario, whose keys ecn and ect have precedence.
	 * Read once, of a state with default parameters, when the library is loaded. */
	int (*ect)(void *state);
};

struct fullpipe_library {
	uint32_t abi; /* FULLPIPE_ABI */
	uint32_t count;
	const struct fullpipe_packet_control *controls;
};

const struct fullpipe_library *fullpipe_library(void);

#endif
