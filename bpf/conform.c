// SPDX-License-Identifier: GPL-2.0
/*
 * Drives one of the programs, callbacks and all, on this host; -DALGORITHM=ehstcp, and the like, chooses it. A small model of
 * the kernel calls it in the kernel's order and moves the window as the kernel does.
 *
 * `conform` reads the events that a simulation recorded (64 bytes each on standard input, see crates/sim/src/record.rs) and
 * compares the windows, event by event, outside recovery. It prints one JSON object: events, the greatest difference in
 * segments and as a part of the recorded window, and how many events differ by more than one segment or 2 %, whichever is
 * larger.
 *
 * `conform script` reads one event a line and prints window and threshold after each, in whole segments:
 *   params A B C            the program's parameters, as they lie in memory; before `connect`
 *   connect CWND SSTHRESH   the algorithm is chosen on a connection that has these; again for a switch
 *   ack SEGMENTS RTT_US [BACKWARD_US]   the last is the delay of the reverse path by the two clocks, whole milliseconds of it
 *   wait MS                 nothing happens
 *   kernel CWND SSTHRESH    the kernel moves the window (idleness)
 *   loss | recovered | timeout | undo
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STRING(text) #text
#define FILE_OF(text) STRING(text)
#define JOINED(left, right) left##right
#define OF(algorithm, suffix) JOINED(algorithm, suffix)
#include FILE_OF(ALGORITHM.bpf.c)

enum { ACK, LOSS, TIMEOUT, RECOVERED };

struct record {
	uint64_t kind_and_flags, now_ns, delivered, in_flight, rtt_ns;
	int64_t backward_ns;
	double credit, cwnd;
};

/* The connection, and what the kernel keeps beside it. */
static struct tcp_sock connection;
static struct sock *const sk = (struct sock *)&connection;
static __u32 prior_ssthresh;
static __u64 now_ns;

__u64 bpf_ktime_get_ns(void)
{
	return now_ns;
}

static double window(void)
{
	struct private *s = private_area(sk);

	return OF(ALGORITHM, _window)(&s->algorithm) / (double)SEGMENT;
}

static void set_state(__u8 next)
{
	void (*call)(struct sock *, __u8) = ALGORITHM.set_state;

	if (call)
		call(sk, next);
	connection.inet_conn.icsk_ca_state = next;
}

static void connect_with(__u32 cwnd, __u32 ssthresh)
{
	void (*call)(struct sock *) = ALGORITHM.init;

	connection.snd_cwnd = cwnd;
	connection.snd_ssthresh = ssthresh;
	connection.snd_cwnd_clamp = ~0u;
	memset(connection.inet_conn.icsk_ca_priv, 0, sizeof connection.inet_conn.icsk_ca_priv);
	call(sk);
}

/* The window limits the sender, or it does not. */
static void limit(_Bool by_window)
{
	connection.is_cwnd_limited = by_window;
	connection.max_packets_out = by_window ? connection.snd_cwnd : 0;
}

/* An ACK of new data: it is reported, ends the episode if it is the end of one, and the window grows outside recovery. */
static void acknowledge(__u32 credit, __s32 rtt_us, _Bool stamped, __s64 backward_us)
{
	void (*report)(struct sock *, const struct ack_sample *) = ALGORITHM.pkts_acked;
	void (*grow)(struct sock *, __u32, __u32) = ALGORITHM.cong_avoid;
	struct ack_sample sample = {.pkts_acked = credit, .rtt_us = rtt_us};

	connection.rx_opt.saw_tstamp = stamped;
	connection.rx_opt.rcv_tsval = (__s64)(now_ns / 1000000) - backward_us / 1000;
	report(sk, &sample);
	if (ca_state(sk) == CA_OPEN || ca_state(sk) == CA_LOSS)
		grow(sk, connection.snd_una, credit);
}

/* The kernel asks for the threshold first and says then what for. */
static void cut(void)
{
	__u32 (*ask)(struct sock *) = ALGORITHM.ssthresh;

	prior_ssthresh = connection.snd_ssthresh;
	connection.prior_cwnd = connection.snd_cwnd;
	connection.snd_ssthresh = ask(sk);
}

static void lose(void)
{
	cut();
	set_state(CA_RECOVERY);
}

static void recover(void)
{
	if (ca_state(sk) == CA_RECOVERY)
		connection.snd_cwnd = connection.snd_ssthresh;
	set_state(CA_OPEN);
}

/* A timeout in recovery is no reason for a second cut. */
static void time_out(void)
{
	if (ca_state(sk) != CA_RECOVERY)
		cut();
	connection.snd_cwnd = 1;
	set_state(CA_LOSS);
}

static void undo(void)
{
	__u32 (*ask)(struct sock *) = ALGORITHM.undo_cwnd;

	connection.snd_cwnd = ask(sk);
	if (prior_ssthresh > connection.snd_ssthresh)
		connection.snd_ssthresh = prior_ssthresh;
	set_state(CA_OPEN);
}

static void replay(const struct record *r)
{
	int kind = r->kind_and_flags & 255, flags = r->kind_and_flags >> 8 & 255;

	now_ns = r->now_ns;
	connection.snd_una = r->delivered;
	connection.snd_nxt = r->delivered + r->in_flight;
	connection.packets_out = r->in_flight;
	limit(flags >> 1 & 1);
	if (kind == ACK)
		acknowledge(r->credit, (r->rtt_ns + 500) / 1000, flags >> 3 & 1, r->backward_ns / 1000);
	else if (kind == LOSS)
		lose();
	else if (kind == TIMEOUT)
		recover(), time_out();  /* in the simulator one in recovery is an event of its own */
	else
		recover();
}

static void compare(void)
{
	unsigned long events = 0, apart = 0, losses = 0, timeouts = 0;
	double worst_segments = 0, worst_part = 0, first_apart_s = -1;
	struct record r;

	connect_with(2, 0x7fffffff);
	while (fread(&r, sizeof r, 1, stdin) == 1) {
		int kind = r.kind_and_flags & 255;
		double difference;

		replay(&r);
		events++;
		losses += kind == LOSS;
		timeouts += kind == TIMEOUT;
		if (ca_state(sk) == CA_RECOVERY || kind == TIMEOUT)
			continue;
		difference = fabs(window() - r.cwnd);
		if (difference > worst_segments)
			worst_segments = difference;
		if (difference / r.cwnd > worst_part)
			worst_part = difference / r.cwnd;
		if (difference > fmax(1, 0.02 * r.cwnd)) {
			if (!apart++)
				first_apart_s = r.now_ns / 1e9;
		}
	}
	printf("{\"events\": %lu, \"losses\": %lu, \"timeouts\": %lu, \"worst_segments\": %.4f, \"worst_part\": %.5f, "
	       "\"apart\": %lu, \"first_apart_s\": %.3f}\n", events, losses, timeouts, worst_segments, worst_part, apart,
	       first_apart_s);
}

/* A sender that always fills its window. */
static int obey(const char *line)
{
	unsigned a, b, c;
	long long backward_us = 0;
	int given;

	connection.snd_nxt = connection.snd_una + connection.snd_cwnd;
	connection.packets_out = connection.snd_cwnd;
	limit(1);
	if (sscanf(line, "params %u %u %u", &a, &b, &c) == 3)
		memcpy(&params, (__u32[]){a, b, c}, sizeof params);
	else if (sscanf(line, "connect %u %u", &a, &b) == 2)
		connect_with(a, b);
	else if ((given = sscanf(line, "ack %u %u %lld", &a, &b, &backward_us)) >= 2)
		connection.snd_una += a, acknowledge(a, b, given == 3, backward_us);
	else if (sscanf(line, "wait %u", &a) == 1)
		now_ns += a * 1000000ull;
	else if (sscanf(line, "kernel %u %u", &a, &b) == 2)
		connection.snd_cwnd = a, connection.snd_ssthresh = b;
	else if (!strcmp(line, "loss\n"))
		lose();
	else if (!strcmp(line, "recovered\n"))
		recover();
	else if (!strcmp(line, "timeout\n"))
		time_out();
	else if (!strcmp(line, "undo\n"))
		undo();
	else
		return 0;
	return 1;
}

int main(int argc, char **argv)
{
	char line[128];

	if (argc == 1) {
		compare();
		return 0;
	}
	while (!strcmp(argv[1], "script") && fgets(line, sizeof line, stdin)) {
		if (!obey(line)) {
			fprintf(stderr, "conform: not an event: %s", line);
			return 2;
		}
		printf("%u %u\n", connection.snd_cwnd, connection.snd_ssthresh);
	}
	return 0;
}
