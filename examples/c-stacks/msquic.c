/* CUBIC of msquic as a library of fullpipe: for stacks with a table of functions, each of which takes a structure of the event.
 *
 *   M=path/to/msquic/src/core
 *   I="-I python/fullpipe/include -I examples/c-stacks/msquic -I $M"
 *   cc -O2 -fPIC $I -c -o cubic.o -x c - < $M/cubic.c
 *   cc -O2 -shared -fPIC $I -o libmsquic.so examples/c-stacks/msquic.c cubic.o
 *   fullpipe conform ./libmsquic.so:msquic-cubic
 *
 * Checked with msquic 4984c210. cubic.c includes precomp.h, which includes the headers of the whole stack. Here it is msquic/precomp.h,
 * which has what cubic.c reads. The compiler reads cubic.c from a pipe, because it would find the precomp.h of the same folder first.
 * Times are microseconds. HyStart++ is off, as by default. The controller keeps the bytes in flight.
 */
#include <stdlib.h>

#include "fullpipe.h"
#include "precomp.h"

static void *create(const struct fullpipe_packet_start *start, const double *params)
{
	QUIC_CONNECTION *s = calloc(1, sizeof *s);
	(void)params;
	if (!s)
		return NULL;
	s->Settings.SendIdleTimeoutMs = 1000;
	s->Settings.InitialWindowPackets = (uint32_t)(start->initial_window / start->datagram);
	s->Paths[0].DatagramPayloadSize = (uint16_t)start->datagram;
	CubicCongestionControlInitialize(&s->CongestionControl, &s->Settings);
	return s;
}

static void update(QUIC_CONNECTION *s, const struct fullpipe_path *path)
{
	s->Send.NextPacketNumber = path->next_packet;
	if (path->latest_rtt == UINT64_MAX)
		return;
	s->Paths[0].GotFirstRttSample = TRUE;
	s->Paths[0].SmoothedRtt = path->smoothed_rtt / 1000;
	s->Paths[0].RttVariance = path->rttvar / 1000;
}

static int sent(void *state, const struct fullpipe_path *path, const struct fullpipe_sent *sent)
{
	QUIC_CONNECTION *s = state;
	update(s, path);
	QuicCongestionControlOnDataSent(&s->CongestionControl, (uint32_t)sent->bytes);
	return 0;
}

static int acked(void *state, const struct fullpipe_path *path, const struct fullpipe_acked *acked, size_t count,
                 const struct fullpipe_rtt *rtt)
{
	QUIC_CONNECTION *s = state;
	const struct fullpipe_sent *newest = &acked[count - 1].sent;
	QUIC_ACK_EVENT event = { .TimeNow = path->now / 1000, .LargestAck = newest->number, .LargestSentPacketNumber = path->next_packet - 1 };
	update(s, path);
	for (size_t i = 0; i < count; i++)
		event.NumRetransmittableBytes += (uint32_t)acked[i].sent.bytes;
	event.NumTotalAckedRetransmittableBytes = path->delivered;
	event.SmoothedRtt = s->Paths[0].SmoothedRtt;
	event.MinRttValid = rtt != NULL;
	event.MinRtt = rtt ? rtt->sample / 1000 : 0;
	event.AdjustedAckTime = (path->now - (rtt ? rtt->ack_delay : 0)) / 1000;
	event.IsLargestAckedPacketAppLimited = newest->app_limited;
	QuicCongestionControlOnDataAcknowledged(&s->CongestionControl, &event);
	return 0;
}

static int lost(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *lost, size_t count, int persistent)
{
	QUIC_CONNECTION *s = state;
	QUIC_LOSS_EVENT event = { .LargestPacketNumberLost = lost[count - 1].sent.number, .LargestSentPacketNumber = path->next_packet - 1,
	                          .PersistentCongestion = persistent != 0 };
	update(s, path);
	for (size_t i = 0; i < count; i++)
		event.NumRetransmittableBytes += (uint32_t)lost[i].sent.bytes;
	QuicCongestionControlOnDataLost(&s->CongestionControl, &event);
	return 0;
}

static int ecn_ce(void *state, const struct fullpipe_path *path, uint64_t count, const struct fullpipe_acked *largest)
{
	QUIC_CONNECTION *s = state;
	QUIC_ECN_EVENT event = { .LargestPacketNumberAcked = largest->sent.number, .LargestSentPacketNumber = path->next_packet - 1 };
	(void)count;
	update(s, path);
	QuicCongestionControlOnEcn(&s->CongestionControl, &event);
	return 0;
}

static int spurious(void *state, const struct fullpipe_path *path, const struct fullpipe_lost *arrived, size_t count, int all)
{
	QUIC_CONNECTION *s = state;
	(void)arrived;
	(void)count;
	update(s, path);
	if (all)
		QuicCongestionControlOnSpuriousCongestionEvent(&s->CongestionControl);
	return 0;
}

static uint64_t window(void *state)
{
	return ((QUIC_CONNECTION *)state)->CongestionControl.Cubic.CongestionWindow;
}

static uint64_t ssthresh(void *state)
{
	uint32_t bytes = ((QUIC_CONNECTION *)state)->CongestionControl.Cubic.SlowStartThreshold;
	return bytes == UINT32_MAX ? UINT64_MAX : bytes;
}

static const struct fullpipe_packet_control control = {
	.size = sizeof control, .name = "msquic-cubic", .create = create, .destroy = free, .sent = sent, .acked = acked, .lost = lost,
	.ecn_ce = ecn_ce, .spurious = spurious, .window = window, .ssthresh = ssthresh,
};
static const struct fullpipe_library library = { .abi = FULLPIPE_ABI, .count = 1, .controls = &control };

const struct fullpipe_library *fullpipe_library(void)
{
	return &library;
}
