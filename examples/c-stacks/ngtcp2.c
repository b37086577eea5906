/* Controllers of ngtcp2 as a library of fullpipe: for stacks with optional functions per packet and per ACK, which write window and pacing
 * into a structure of the connection.
 *
 *   N=path/to/ngtcp2      after cmake, which writes version.h; or I=path/to/build/lib/includes
 *   I=$N/build/lib/includes
 *   cc -O2 -shared -fPIC -I python/fullpipe/include -I $N/lib -I $N/lib/includes -I $I \
 *     -o libngtcp2.so examples/c-stacks/ngtcp2.c $N/lib/ngtcp2_*.c
 *   fullpipe conform ./libngtcp2.so:ngtcp2-reno --rules rfc9002
 *
 * Checked with ngtcp2 f3af8b14. The controllers read these fields:
 *   connection: cwnd, ssthresh, congestion_recovery_start_ts, bytes_in_flight, round-trip times, delivery_rate_sec
 *   rate sampler: delivered, lost, app_limited, is_cwnd_limited, and the last sample
 * An ACK is one on_pkt_acked for each packet, and one on_ack_recv. Losses are one on_pkt_lost each, and one congestion_event.
 * Times are nanoseconds, and the pacing interval is in 1/1024 ns per byte.
 */
#include <stdlib.h>

#include "fullpipe.h"
#include "ngtcp2_bbr.h"
#include "ngtcp2_cc.h"
#include "ngtcp2_conn_stat.h"
#include "ngtcp2_log.h"
#include "ngtcp2_pcg.h"
#include "ngtcp2_rst.h"

enum kind { RENO, CUBIC, BBR };

struct connection {
	union {
		ngtcp2_cc cc; /* first member of each */
		ngtcp2_cc_reno reno;
		ngtcp2_cc_cubic cubic;
		ngtcp2_cc_bbr bbr;
	};
	enum kind kind;
	ngtcp2_conn_stat stat;
	ngtcp2_rst rst;
	ngtcp2_log log; /* all events off */
	ngtcp2_pcg32 random;
	uint64_t lost_at, bytes_lost; /* time of the last losses, and their bytes */
};

static void *create(const struct fullpipe_packet_start *start, enum kind kind)
{
	struct connection *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->kind = kind;
	s->stat.cwnd = start->initial_window;
	s->stat.ssthresh = UINT64_MAX;
	s->stat.congestion_recovery_start_ts = UINT64_MAX;
	s->stat.first_rtt_sample_ts = UINT64_MAX;
	s->stat.min_rtt = UINT64_MAX;
	s->stat.max_tx_udp_payload_size = start->datagram;
	ngtcp2_rst_init(&s->rst);
	ngtcp2_pcg32_init(&s->random, start->seed);
	if (kind == RENO)
		ngtcp2_cc_reno_init(&s->reno, &s->log, &s->stat);
	else if (kind == CUBIC)
		ngtcp2_cc_cubic_init(&s->cubic, &s->log, &s->stat, &s->rst);
	else
		ngtcp2_cc_bbr_init(&s->bbr, &s->log, &s->stat, &s->rst, start->now_ns, &s->random);
	return s;
}

static void *create_reno(const struct fullpipe_packet_start *start, const double *params)
{
	(void)params;
	return create(start, RENO);
}

static void *create_cubic(const struct fullpipe_packet_start *start, const double *params)
{
	(void)params;
	return create(start, CUBIC);
}

static void *create_bbr(const struct fullpipe_packet_start *start, const double *params)
{
	(void)params;
	return create(start, BBR);
}

static void update(struct connection *s, const struct fullpipe_path *path)
{
	s->stat.bytes_in_flight = path->in_flight;
	s->rst.delivered = path->delivered;
	s->rst.lost = path->lost;
	s->rst.is_cwnd_limited |= path->cwnd_limited;
	if (path->latest_rtt == UINT64_MAX)
		return;
	if (s->stat.first_rtt_sample_ts == UINT64_MAX)
		s->stat.first_rtt_sample_ts = path->now;
	s->stat.latest_rtt = path->latest_rtt;
	s->stat.min_rtt = path->min_rtt;
	s->stat.smoothed_rtt = path->smoothed_rtt;
	s->stat.rttvar = path->rttvar;
}

static ngtcp2_cc_pkt packet_of(const struct fullpipe_sent *sent)
{
	ngtcp2_cc_pkt pkt;
	ngtcp2_cc_pkt_init(&pkt, (int64_t)sent->number, sent->bytes, NGTCP2_PKTNS_ID_APPLICATION, sent->sent_at, sent->lost, sent->in_flight,
	                   sent->app_limited);
	return pkt;
}

static int sent(void *state, const struct fullpipe_path *path, const struct fullpipe_sent *sent)
{
	struct connection *s = state;
	ngtcp2_cc_pkt pkt = packet_of(sent);
	update(s, path);
	s->stat.bytes_in_flight -= sent->bytes; /* ngtcp2 adds the packet after this call */
	if (s->cc.on_pkt_sent)
		s->cc.on_pkt_sent(&s->cc, &s->stat, &pkt);
	s->stat.bytes_in_flight += sent->bytes;
	return 0;
}

/* As ngtcp2_rst.c, which sets neither tx_in_flight nor lost. */
static void take_sample(struct connection *s, const struct fullpipe_rate_sample *rate)
{
	ngtcp2_rs *rs = &s->rst.rs;
	rs->interval = rate->interval;
	rs->delivered = rate->delivered;
	rs->prior_delivered = rate->prior_delivered;
	rs->is_app_limited = rate->is_app_limited;
	s->stat.delivery_rate_sec = rate->interval ? rate->delivered * NGTCP2_SECONDS / rate->interval : 0;
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	struct connection *s = state;
	const struct fullpipe_acked *newest = &acked[count - 1];
	ngtcp2_cc_ack ack = { .pkt_delivered = newest->sent.delivered, .largest_pkt_sent_ts = newest->sent.sent_at,
	                      .rtt = rtt ? rtt->sample : UINT64_MAX };
	if (s->lost_at == path->now)
		ack.bytes_lost = s->bytes_lost; /* found by the same ACK */
	update(s, path);
	for (size_t i = 0; i < count; i++) {
		ngtcp2_cc_pkt pkt = packet_of(&acked[i].sent);
		ack.bytes_delivered += acked[i].sent.bytes;
		if (s->cc.on_pkt_acked)
			s->cc.on_pkt_acked(&s->cc, &s->stat, &pkt, path->now);
	}
	if (newest->has_rate)
		take_sample(s, &newest->rate);
	if (s->rst.app_limited && path->delivered > s->rst.app_limited)
		s->rst.app_limited = 0;
	if (s->cc.on_ack_recv)
		s->cc.on_ack_recv(&s->cc, &s->stat, &ack, path->now);
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	struct connection *s = state;
	ngtcp2_cc_ack ack = { .largest_pkt_sent_ts = UINT64_MAX, .rtt = UINT64_MAX };
	update(s, path);
	for (size_t i = 0; i < count; i++) {
		ngtcp2_cc_pkt pkt = packet_of(&lost[i].sent);
		ack.bytes_lost += lost[i].sent.bytes;
		s->rst.lost = lost[i].sent.lost + lost[i].lost_since_sent;
		if (s->cc.on_pkt_lost)
			s->cc.on_pkt_lost(&s->cc, &s->stat, &pkt, path->now);
	}
	s->lost_at = path->now;
	s->bytes_lost = ack.bytes_lost;
	s->cc.congestion_event(&s->cc, &s->stat, lost[count - 1].sent.sent_at, &ack, path->now);
	if (persistent)
		s->cc.on_persistent_congestion(&s->cc, &s->stat, path->now);
	return 0;
}

static int ecn_ce(void *state, const struct fullpipe_path *path, uint64_t count, const struct fullpipe_acked *largest)
{
	struct connection *s = state;
	ngtcp2_cc_ack ack = { .largest_pkt_sent_ts = largest->sent.sent_at, .rtt = UINT64_MAX };
	(void)count;
	update(s, path);
	s->cc.congestion_event(&s->cc, &s->stat, largest->sent.sent_at, &ack, path->now);
	return 0;
}

static int spurious(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *arrived, size_t count, int all)
{
	struct connection *s = state;
	(void)arrived;
	(void)count;
	update(s, path);
	if (all && s->cc.on_spurious_congestion)
		s->cc.on_spurious_congestion(&s->cc, &s->stat, path->now);
	return 0;
}

/* As ngtcp2_conn.c does where nothing was left to send. */
static int app_limited(void *state, const struct fullpipe_path *path)
{
	struct connection *s = state;
	update(s, path);
	s->rst.app_limited = s->rst.delivered + s->stat.bytes_in_flight;
	if (s->rst.app_limited == 0)
		s->rst.app_limited = 1;
	return 0;
}

static uint64_t window(void *state)
{
	return ((struct connection *)state)->stat.cwnd;
}

static double pacing_rate(void *state)
{
	return 1024e9 / (double)((struct connection *)state)->stat.pacing_interval_m;
}

static uint64_t send_quantum(void *state)
{
	return ((struct connection *)state)->stat.send_quantum;
}

static uint64_t ssthresh(void *state)
{
	return ((struct connection *)state)->stat.ssthresh;
}

static int marks_app_limited(void *state)
{
	return ((struct connection *)state)->bbr.state == NGTCP2_BBR_STATE_PROBE_RTT;
}

static const char *state_name(void *state)
{
	switch (((struct connection *)state)->bbr.state) {
	case NGTCP2_BBR_STATE_STARTUP:
		return "Startup";
	case NGTCP2_BBR_STATE_DRAIN:
		return "Drain";
	case NGTCP2_BBR_STATE_PROBE_BW_DOWN:
		return "ProbeBW_DOWN";
	case NGTCP2_BBR_STATE_PROBE_BW_CRUISE:
		return "ProbeBW_CRUISE";
	case NGTCP2_BBR_STATE_PROBE_BW_REFILL:
		return "ProbeBW_REFILL";
	case NGTCP2_BBR_STATE_PROBE_BW_UP:
		return "ProbeBW_UP";
	default:
		return "ProbeRTT";
	}
}

/* Series for the rules of BBR. An infinite limit is NaN. */
static size_t inspect(void *state, const char **names, double *values, size_t capacity)
{
	const struct connection *s = state;
	const char *known[] = { "bw_bps", "max_bw_bps", "pacing_bps", "inflight_longterm_packets", "inflight_shortterm_packets",
	                        "extra_acked_packets" };
	double datagram = (double)s->stat.max_tx_udp_payload_size, none = 0.0 / 0.0;
	double found[] = { 8.0 * (double)s->bbr.bw,
		           8.0 * (double)s->bbr.max_bw,
		           8.0 * pacing_rate(state),
		           s->bbr.inflight_longterm == UINT64_MAX ? none : (double)s->bbr.inflight_longterm / datagram,
		           s->bbr.inflight_shortterm == UINT64_MAX ? none : (double)s->bbr.inflight_shortterm / datagram,
		           (double)s->bbr.extra_acked / datagram };
	size_t count = sizeof found / sizeof *found;
	for (size_t i = 0; i < count && i < capacity; i++)
		names[i] = known[i], values[i] = found[i];
	return count;
}

#define COMMON(NAME, CREATE)                                                                                                           \
	.size = sizeof(struct fullpipe_packet_control), .name = NAME, .create = CREATE, .destroy = free, .sent = sent, .acked = acked, \
	.lost = lost, .ecn_ce = ecn_ce, .spurious = spurious, .app_limited = app_limited, .window = window, .pacing_rate = pacing_rate,                            \
	.send_quantum = send_quantum, .ssthresh = ssthresh

static const struct fullpipe_packet_control controls[] = {
	{ COMMON("ngtcp2-reno", create_reno) },
	{ COMMON("ngtcp2-cubic", create_cubic) },
	{ COMMON("ngtcp2-bbr", create_bbr), .state_name = state_name, .inspect = inspect, .marks_app_limited = marks_app_limited },
};
static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 3, .controls = controls };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
