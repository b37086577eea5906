/* NewReno of picoquic as a library of fullpipe: for stacks with one function for all events, and fields of a connection that it reads.
 *
 *   P=path/to/picoquic/picoquic
 *   cc -O2 -shared -fPIC -I python/fullpipe/include -I $P \
 *     -o libpicoquic.so examples/c-stacks/picoquic.c $P/newreno.c $P/cc_common.c
 *   fullpipe conform ./libpicoquic.so:picoquic-newreno --rules rfc9002
 *
 * Checked with picoquic d199d45b. The connection is a structure of zeros, with the fields that newreno.c and cc_common.c read:
 *   path: cwin (written), send_mtu, smoothed_rtt, rtt_min, bytes_in_transit, peak_bandwidth_estimate, last_sender_limited_time,
 *         last_time_acked_data_frame_sent, pacing.packet_time_microsec
 *   connection: path[0], pkt_ctx[application].send_sequence and highest_acknowledged
 * Times are microseconds. Another algorithm reads others: search its file for "path_x->" and "cnx->".
 */
#include <stdlib.h>

#include "fullpipe.h"
#include "picoquic_internal.h"

extern picoquic_congestion_algorithm_t *picoquic_newreno_algorithm;

struct connection {
	picoquic_cnx_t cnx;
	picoquic_path_t path;
	picoquic_path_t *paths[1];
};

/* newreno.c asks for a new pacing rate. The transport paces by the window. */
void picoquic_update_pacing_data(picoquic_path_t *path, int slow_start)
{
	(void)path;
	(void)slow_start;
}

static void *create(const struct fullpipe_packet_start *start, const double *params)
{
	struct connection *s = calloc(1, sizeof *s);
	(void)params;
	if (!s)
		return NULL;
	s->paths[0] = &s->path;
	s->cnx.path = s->paths;
	s->path.cnx = &s->cnx;
	s->path.send_mtu = start->datagram;
	picoquic_newreno_algorithm->alg_init(&s->path, NULL, start->now_ns / 1000);
	return s;
}

static void destroy(void *state)
{
	struct connection *s = state;
	picoquic_newreno_algorithm->alg_delete(&s->path);
	free(s);
}

static void update(struct connection *s, const struct fullpipe_path *path)
{
	picoquic_packet_context_t *numbers = &s->cnx.pkt_ctx[picoquic_packet_context_application];
	numbers->send_sequence = path->next_packet;
	s->path.bytes_in_transit = path->in_flight;
	if (path->latest_rtt == UINT64_MAX)
		return;
	s->path.smoothed_rtt = path->smoothed_rtt / 1000;
	s->path.rtt_min = path->min_rtt / 1000;
	s->path.pacing.packet_time_microsec = s->path.send_mtu * s->path.smoothed_rtt / s->path.cwin;
}

static void notify(struct connection *s, const struct fullpipe_path *path, picoquic_congestion_notification_t what,
                   picoquic_per_ack_state_t *ack)
{
	picoquic_newreno_algorithm->alg_notify(&s->cnx, &s->path, what, ack, path->now / 1000);
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	struct connection *s = state;
	picoquic_per_ack_state_t ack = { .inflight_prior = path->prior_in_flight };
	update(s, path);
	s->cnx.pkt_ctx[picoquic_packet_context_application].highest_acknowledged = acked[count - 1].sent.number;
	s->path.last_time_acked_data_frame_sent = acked[count - 1].sent.sent_at / 1000 + 1;
	if (acked[count - 1].sent.app_limited)
		s->path.last_sender_limited_time = s->path.last_time_acked_data_frame_sent;
	for (size_t i = 0; i < count; i++)
		ack.nb_bytes_acknowledged += acked[i].sent.bytes;
	if (rtt) {
		ack.rtt_measurement = rtt->sample / 1000;
		notify(s, path, picoquic_congestion_notification_rtt_measurement, &ack);
	}
	notify(s, path, picoquic_congestion_notification_acknowledgement, &ack);
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	struct connection *s = state;
	update(s, path);
	for (size_t i = 0; i < count; i++) {
		picoquic_per_ack_state_t ack = { .lost_packet_number = lost[i].sent.number, .nb_bytes_newly_lost = lost[i].sent.bytes };
		notify(s, path, persistent ? picoquic_congestion_notification_timeout : picoquic_congestion_notification_repeat, &ack);
	}
	return 0;
}

static int ecn_ce(void *state, const struct fullpipe_path *path, uint64_t count, const struct fullpipe_acked *largest)
{
	struct connection *s = state;
	picoquic_per_ack_state_t ack = { .lost_packet_number = largest->sent.number };
	(void)count;
	update(s, path);
	notify(s, path, picoquic_congestion_notification_ecn_ec, &ack);
	return 0;
}

static int spurious(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *arrived, size_t count, int all)
{
	struct connection *s = state;
	picoquic_per_ack_state_t ack = { .lost_packet_number = arrived[count - 1].sent.number };
	(void)all;
	update(s, path);
	notify(s, path, picoquic_congestion_notification_spurious_repeat, &ack);
	return 0;
}

static uint64_t window(void *state)
{
	return ((struct connection *)state)->path.cwin;
}

static const struct fullpipe_packet_control control = {
	.size = sizeof control,
	.name = "picoquic-newreno",
	.create = create,
	.destroy = destroy,
	.acked = acked,
	.lost = lost,
	.ecn_ce = ecn_ce,
	.spurious = spurious,
	.window = window,
};

static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 1, .controls = &control };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
