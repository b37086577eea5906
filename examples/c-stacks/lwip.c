/* A controller without an interface as a library of fullpipe: for TCP code that changes fields of its control block, as lwIP does in
 * tcp_receive() and in the functions of its timers.
 *
 *   cc -O2 -shared -fPIC -I python/fullpipe/include -o liblwip.so examples/c-stacks/lwip.c
 *   fullpipe compare scenarios/one-flow.toml --algorithms ./liblwip.so:lwip-style,newreno
 *
 * The three functions on_ack, on_fast_retransmit, and on_timeout are ours, written from RFC 5681 and RFC 3465. Replace them with the lines of
 * your stack. Such lines cannot be linked, because they are in the middle of a function that also handles sequence numbers and timers. Two
 * lines are left out: duplicate ACKs do not add a segment to the window, since fullpipe does not count lost packets as in flight.
 */
#include <stdlib.h>

#include "fullpipe.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct control_block {
	uint32_t cwnd, ssthresh, mss, bytes_acked;
	int after_timeout;
	uint64_t recovery_end; /* packets below this were sent before the loss was found */
};

/* RFC 5681 section 3.1 with RFC 3465: two segments per ACK in slow start, one after a timeout; then a segment per window. */
static void on_ack(struct control_block *pcb, uint32_t acked)
{
	if (pcb->cwnd < pcb->ssthresh) {
		pcb->cwnd += MIN(acked, (pcb->after_timeout ? 1 : 2) * pcb->mss);
		return;
	}
	pcb->after_timeout = 0;
	pcb->bytes_acked += acked;
	if (pcb->bytes_acked >= pcb->cwnd) {
		pcb->bytes_acked -= pcb->cwnd;
		pcb->cwnd += pcb->mss;
	}
}

/* RFC 5681 section 3.2, equation 4, of the window in place of the flight. */
static void on_fast_retransmit(struct control_block *pcb)
{
	pcb->ssthresh = MAX(pcb->cwnd / 2, 2 * pcb->mss);
	pcb->cwnd = pcb->ssthresh;
	pcb->bytes_acked = 0;
}

/* RFC 5681 section 3.1: one segment after a timeout. */
static void on_timeout(struct control_block *pcb)
{
	pcb->ssthresh = MAX(pcb->cwnd / 2, 2 * pcb->mss);
	pcb->cwnd = pcb->mss;
	pcb->bytes_acked = 0;
	pcb->after_timeout = 1;
}

static void *create(const struct fullpipe_packet_start *start, const double *params)
{
	struct control_block *pcb = calloc(1, sizeof *pcb);
	(void)params;
	if (!pcb)
		return NULL;
	pcb->cwnd = (uint32_t)start->initial_window;
	pcb->ssthresh = UINT32_MAX;
	pcb->mss = (uint32_t)start->datagram;
	return pcb;
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	struct control_block *pcb = state;
	uint32_t bytes = 0;
	(void)rtt;
	for (size_t i = 0; i < count; i++)
		bytes += acked[i].sent.number < pcb->recovery_end ? 0 : (uint32_t)acked[i].sent.bytes;
	if (bytes && path->cwnd_limited)
		on_ack(pcb, bytes);
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	struct control_block *pcb = state;
	if (persistent)
		on_timeout(pcb);
	else if (lost[count - 1].sent.number >= pcb->recovery_end)
		on_fast_retransmit(pcb);
	else
		return 0; /* a loss of the same flight */
	pcb->recovery_end = path->next_packet;
	return 0;
}

static uint64_t window(void *state)
{
	return ((struct control_block *)state)->cwnd;
}

static uint64_t ssthresh(void *state)
{
	uint32_t bytes = ((struct control_block *)state)->ssthresh;
	return bytes == UINT32_MAX ? UINT64_MAX : bytes;
}

static const struct fullpipe_packet_control control = {
	.size = sizeof control, .name = "lwip-style", .create = create, .destroy = free, .acked = acked, .lost = lost,
	.window = window, .ssthresh = ssthresh,
};
static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 1, .controls = &control };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
