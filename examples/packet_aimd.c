/* AIMD at packet level (version 2 of fullpipe.h).
 *
 *   cc -O2 -shared -fPIC -I "$(python -c 'import fullpipe; print(fullpipe.__path__[0])')/include" \
 *     -o libaimd.so examples/packet_aimd.c
 *   fullpipe compare scenarios/one-flow.toml --set flows.transport=quic --algorithms ./libaimd.so:c-aimd,newreno
 */
#include <stdlib.h>

#include "fullpipe.h"

struct aimd {
	uint64_t window, recovery_end;
};

static void *create(const struct fullpipe_packet_start *start, const double *params)
{
	struct aimd *s = calloc(1, sizeof *s);
	(void)params;
	if (s)
		s->window = start->initial_window;
	return s;
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	struct aimd *s = state;
	uint64_t bytes = 0;
	(void)rtt;
	for (size_t i = 0; i < count; i++)
		bytes += acked[i].sent.bytes;
	if (path->cwnd_limited && !path->in_recovery)
		s->window += path->datagram * bytes / s->window;
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	struct aimd *s = state;
	(void)persistent;
	if (lost[count - 1].sent.number >= s->recovery_end) {
		s->window = s->window / 2 > 2 * path->datagram ? s->window / 2 : 2 * path->datagram;
		s->recovery_end = path->next_packet;
	}
	return 0;
}

static uint64_t window(void *state)
{
	return ((struct aimd *)state)->window;
}

static const struct fullpipe_packet_control control = {
	.size = sizeof control,
	.name = "c-aimd",
	.create = create,
	.destroy = free,
	.acked = acked,
	.lost = lost,
	.window = window,
};

static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 1, .controls = &control };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
