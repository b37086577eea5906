/* Controllers of quicly as a library of fullpipe: for stacks with a function per event that writes the window into a structure.
 *
 *   Q=path/to/quicly P=path/to/picotls
 *   cc -O2 -shared -fPIC -I python/fullpipe/include -I $Q/include -I $P/include \
 *     -o libquicly.so examples/c-stacks/quicly.c $Q/lib/cc-reno.c $Q/lib/cc-cubic.c $Q/lib/cc-pico.c
 *   fullpipe conform ./libquicly.so:quicly-reno --rules rfc9002
 *
 * Checked with quicly b11d3634. An ACK is one cc_on_acked, as in quicly; a lost packet is one cc_on_lost, and a CE mark is one without bytes.
 * Times are milliseconds.
 */
#include <stdlib.h>

#include "fullpipe.h"
#include "quicly.h"

struct connection {
	quicly_cc_t cc;
	quicly_loss_t loss; /* controllers read its round-trip times */
};

static void update_rtt(struct connection *s, const struct fullpipe_path *path)
{
	if (path->latest_rtt == UINT64_MAX)
		return;
	s->loss.rtt.latest = path->latest_rtt / 1000000;
	s->loss.rtt.minimum = path->min_rtt / 1000000;
	s->loss.rtt.smoothed = path->smoothed_rtt / 1000000;
	s->loss.rtt.variance = path->rttvar / 1000000;
}

static void *create(const struct fullpipe_packet_start *start, quicly_init_cc_t *init)
{
	struct connection *s = calloc(1, sizeof *s);
	if (s)
		init->cb(init, &s->cc, start->initial_window, start->now_ns / 1000000);
	return s;
}

static void *create_reno(const struct fullpipe_packet_start *start, const double *params)
{
	(void)params;
	return create(start, &quicly_cc_reno_init);
}

static void *create_cubic(const struct fullpipe_packet_start *start, const double *params)
{
	(void)params;
	return create(start, &quicly_cc_cubic_init);
}

static int sent(void *state, const struct fullpipe_path *path, const struct fullpipe_sent *sent)
{
	struct connection *s = state;
	s->cc.type->cc_on_sent(&s->cc, &s->loss, sent->bytes, path->now / 1000000);
	return 0;
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	struct connection *s = state;
	uint64_t bytes = 0, largest = acked[count - 1].sent.number;
	(void)rtt;
	update_rtt(s, path);
	for (size_t i = 0; i < count; i++)
		bytes += acked[i].sent.bytes;
	s->cc.type->cc_on_acked(&s->cc, &s->loss, bytes, largest, path->in_flight + bytes, path->cwnd_limited, path->next_packet,
	                        path->now / 1000000, path->datagram);
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	struct connection *s = state;
	update_rtt(s, path);
	for (size_t i = 0; i < count; i++)
		s->cc.type->cc_on_lost(&s->cc, &s->loss, lost[i].sent.bytes, lost[i].sent.number, path->next_packet,
		                       path->now / 1000000, path->datagram);
	if (persistent)
		s->cc.type->cc_on_persistent_congestion(&s->cc, &s->loss, path->now / 1000000);
	return 0;
}

static int ecn_ce(void *state, const struct fullpipe_path *path, uint64_t count, const struct fullpipe_acked *largest)
{
	struct connection *s = state;
	(void)count;
	s->cc.type->cc_on_lost(&s->cc, &s->loss, 0, largest->sent.number, path->next_packet, path->now / 1000000, path->datagram);
	return 0;
}

static uint64_t window(void *state)
{
	return ((struct connection *)state)->cc.cwnd;
}

static uint64_t ssthresh(void *state)
{
	uint32_t bytes = ((struct connection *)state)->cc.ssthresh;
	return bytes == UINT32_MAX ? UINT64_MAX : bytes;
}

#define CONTROL(NAME, CREATE)                                                                                                  \
	{                                                                                                                      \
		.size = sizeof(struct fullpipe_packet_control), .name = NAME, .create = CREATE, .destroy = free, .sent = sent, \
		.acked = acked, .lost = lost, .ecn_ce = ecn_ce, .window = window, .ssthresh = ssthresh,                        \
	}

static const struct fullpipe_packet_control controls[] = { CONTROL("quicly-reno", create_reno), CONTROL("quicly-cubic", create_cubic) };
static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 2, .controls = controls };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
