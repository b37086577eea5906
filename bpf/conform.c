// SPDX-License-Identifier: GPL-2.0
/*
 * `conform ALGORITHM`: drives the integer arithmetic on this host by the events that a simulation recorded (64 bytes each on
 * standard input, see crates/sim/src/record.rs) and compares the windows, event by event, outside recovery.
 *
 * Prints one JSON object: events, the greatest difference in segments and as a part of the recorded window, and how many
 * events differ by more than one segment or 2 %, whichever is larger.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "adaptive_aimd.h"
#include "ehstcp.h"
#include "hyun_jang.h"

struct record {
	uint64_t kind_and_flags, now_ns, delivered, in_flight, rtt_ns;
	int64_t backward_ns;
	double credit, cwnd;
};

enum { ACK, LOSS, TIMEOUT, RECOVERED };

static const struct adaptive_aimd_params aimd_params = ADAPTIVE_AIMD_DEFAULTS;
static const struct hyun_jang_params hyun_jang_params = HYUN_JANG_DEFAULTS;
static const struct ehstcp_params ehstcp_params = EHSTCP_DEFAULTS;

static struct adaptive_aimd aimd;
static struct hyun_jang hj;
static struct ehstcp eh;

static window_q32 step_adaptive_aimd(int kind, const struct cc_flow *flow, const struct cc_ack *ack)
{
	if (kind == ACK) {
		adaptive_aimd_observe(&aimd, flow, ack);
		if (!flow->in_recovery)
			adaptive_aimd_increase(&aimd, flow, ack);
	} else if (kind != RECOVERED) {
		adaptive_aimd_decrease(&aimd, flow, &aimd_params);
		if (kind == TIMEOUT)
			aimd.w = SEGMENT;
	}
	return aimd.w;
}

static window_q32 step_hyun_jang(int kind, const struct cc_flow *flow, const struct cc_ack *ack)
{
	if (kind == ACK) {
		hyun_jang_observe(&hj, ack);
		if (!flow->in_recovery)
			hyun_jang_increase(&hj, flow, ack, &hyun_jang_params);
	} else if (kind == RECOVERED) {
		hyun_jang_recovered(&hj, flow);
	} else {
		hyun_jang_decrease(&hj, flow);
		if (kind == TIMEOUT)
			hyun_jang_restart(&hj, 1);
	}
	return hyun_jang_window(&hj);
}

static window_q32 step_ehstcp(int kind, const struct cc_flow *flow, const struct cc_ack *ack)
{
	if (kind == ACK) {
		ehstcp_observe(&eh, ack);
		if (ack->round_start)
			ehstcp_end_round(&eh, flow, &ehstcp_params);
		if (!flow->in_recovery)
			ehstcp_increase(&eh, flow, ack);
	} else if (kind == RECOVERED) {
		ehstcp_recovered(&eh, flow);
	} else {
		ehstcp_decrease(&eh, flow, &ehstcp_params);
		if (kind == TIMEOUT) {
			ehstcp_timeout(&eh);
			eh.w = SEGMENT;
		}
	}
	return eh.w;
}

int main(int argc, char **argv)
{
	window_q32 (*step)(int, const struct cc_flow *, const struct cc_ack *) = NULL;
	unsigned long events = 0, apart = 0, losses = 0;
	double worst_segments = 0, worst_part = 0, first_apart_s = -1;
	struct record r;

	if (argc == 2 && !strcmp(argv[1], "adaptive-aimd"))
		step = step_adaptive_aimd;
	else if (argc == 2 && !strcmp(argv[1], "hyun-jang"))
		step = step_hyun_jang;
	else if (argc == 2 && !strcmp(argv[1], "ehstcp"))
		step = step_ehstcp;
	if (!step) {
		fprintf(stderr, "usage: conform adaptive-aimd|hyun-jang|ehstcp < records\n");
		return 2;
	}
	adaptive_aimd_init(&aimd, 2), hyun_jang_init(&hj, 2), ehstcp_init(&eh, 2);
	while (fread(&r, sizeof r, 1, stdin) == 1) {
		int kind = r.kind_and_flags & 255, flags = r.kind_and_flags >> 8 & 255;
		struct cc_flow flow = {
			.now_us = r.now_ns / 1000,
			.una = r.delivered,
			.nxt = r.delivered + r.in_flight,
			.in_flight = r.in_flight,
			.in_recovery = flags & 1,
			.cwnd_limited = flags >> 1 & 1,
		};
		struct cc_ack ack = {
			.credit = r.credit,
			.round_start = flags >> 2 & 1,
			.rtt_us = (r.rtt_ns + 500) / 1000,
			.has_backward = flags >> 3 & 1,
			.backward_us = r.backward_ns / 1000,
		};
		double window = step(kind, &flow, &ack) / (double)SEGMENT;
		double difference = fabs(window - r.cwnd);

		events++;
		losses += kind == LOSS;
		if (difference > worst_segments)
			worst_segments = difference;
		if (difference / r.cwnd > worst_part)
			worst_part = difference / r.cwnd;
		if (difference > fmax(1, 0.02 * r.cwnd)) {
			if (!apart++)
				first_apart_s = r.now_ns / 1e9;
		}
	}
	printf("{\"events\": %lu, \"losses\": %lu, \"worst_segments\": %.4f, \"worst_part\": %.5f, \"apart\": %lu, "
	       "\"first_apart_s\": %.3f}\n", events, losses, worst_segments, worst_part, apart, first_apart_s);
	return 0;
}
