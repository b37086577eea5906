/* Simulated links for whole protocol stacks, in virtual time: libfullpipe_net of the crate fullpipe-net.
 *
 * Times are nanoseconds. A program calls send for each packet of its stack, and advances the time to the earlier of its own timers and
 * next_event. Then it calls deliver until that returns 0. Two runs are identical. MIT or Apache-2.0, at your choice.
 */
#ifndef FULLPIPE_NET_H
#define FULLPIPE_NET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fullpipe_net;

/* Packet at the far end of a direction. */
struct fullpipe_delivered {
	uint64_t at;       /* time of arrival */
	uint64_t tag;      /* of fullpipe_net_send */
	int32_t direction; /* that it has crossed */
	int32_t ecn;       /* ECN field of IP: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE */
};

/* Links of a scenario, as the text of a TOML file with duration, links, and a table of traffic, which is not simulated. NULL for a wrong scenario; error then has the reason. */
struct fullpipe_net *fullpipe_net_create(const char *scenario, char *error, size_t capacity);
void fullpipe_net_destroy(struct fullpipe_net *net);

/* Direction of the link of this name; -1 if there is none. */
int32_t fullpipe_net_find(const struct fullpipe_net *net, const char *link, int32_t reverse);

/* Sends a packet into a direction. Packets whose tags have equal upper 32 bits are a flow for queues that separate flows. Returns 0, or -1
 * if now is before an earlier call's or after the next event, or if the direction or the ECN field is wrong. */
int32_t fullpipe_net_send(struct fullpipe_net *net, uint64_t now, int32_t direction, uint32_t bytes, int32_t ecn, uint64_t tag);

/* Time of the next event; UINT64_MAX if there is none. */
uint64_t fullpipe_net_next_event(const struct fullpipe_net *net);

/* Next packet that arrives by now. Returns 1, or 0 if there is none, or -1 if now is before an earlier call's. */
int32_t fullpipe_net_deliver(struct fullpipe_net *net, uint64_t now, struct fullpipe_delivered *packet);

/* Packets that a direction has lost so far. */
uint64_t fullpipe_net_lost(const struct fullpipe_net *net, int32_t direction);

#ifdef __cplusplus
}
#endif

#endif
