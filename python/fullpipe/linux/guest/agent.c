/*
 * The guest's only process: sets the network up, runs the flows, samples them, reports, and ends the machine.
 *
 * It is init (PID 1) of a virtual machine without disk or shell. It reads /job (written by ../job.py), one order a line,
 * and reports by I/O port 0xe9 (QEMU's debugcon, a file on the host), one record a line, after the run.
 *
 * It wakes at intervals and never per packet: the receiver's buffer is drained and the sender's refilled for
 * a whole interval at once, without copying (sendfile, MSG_TRUNC), because what the guest executes is what the host waits for.
 *
 * License: MIT OR Apache-2.0, as the rest of the package.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FLOW_LIMIT = 512, LINK_LIMIT = 96, CHANGE_LIMIT = 1024, WORD_LIMIT = 64, FILE_BYTES = 1 << 20, CHUNK_BYTES = 16 << 10 };
enum { WATCH_LIMIT = 16, WATCHED_BYTES = 256 << 20, PACKET_LIMIT = 1 << 20 };
enum { CAPTURE_LIMIT = 16, CAPTURED_BYTES = 96, CAPTURE_BYTES = 512 << 20, PROBE_LIMIT = 16 };
enum { NOTE_LIMIT = 1 << 20 };
enum { DEBUGCON_PORT = 0xe9, DEBUG_EXIT_PORT = 0x501 };

typedef int64_t nanos;

static const nanos NEVER = INT64_MAX;

struct flow {
    char source_ns[32], sink_ns[32], source_ip[32], sink_ip[32], algorithm[16];
    int port, send_bytes, receive_bytes;
    nanos start, stop;           /* stop < 0: never */
    int64_t bytes_left;          /* < 0: no end */
    int64_t size_bytes;          /* as ordered */
    int64_t frame_bytes;         /* of a frame, or of the response to a request; 0: as much as there is room for */
    double frame_every;          /* from `start` on, without requests */
    int64_t frames_written, frames_received;
    int64_t request_bytes;       /* that the sink sends for each response; 0: no requests */
    int64_t requested_bytes;     /* of them at the sender */
    nanos think, server;         /* from a response to the next request, and from a request to its response */
    nanos ask_at, answer_at;     /* when the next request and the response to the one at hand leave; NEVER without one */
    int sender, listener, sink;  /* file descriptors, -1 where there is none */
    int finished;
    off_t offset;
};

struct link {
    char ns[32], device[16];
    int netlink, ifindex;
    uint32_t handle;
};

/* A program to run while the flows do. */
struct change {
    nanos at;
    char ns[32];
    char *words[WORD_LIMIT + 1];
};

/* A packet as a sender's device has seen it, of a flow or back to it. */
struct packet {
    nanos t;
    uint32_t flow, seq, ack;
    int32_t bytes;
    int leaves;
};

/* A packet with its first bytes, from Ethernet on. */
struct captured {
    nanos t;
    uint32_t length, kept, capture;
    uint8_t bytes[CAPTURED_BYTES];
};

/* A program to run at intervals, whose output is kept. */
struct probe {
    nanos every, due;
    char ns[32];
    char *words[WORD_LIMIT + 1];
    int out;
};

struct flow_sample {
    nanos t;
    uint32_t flow, cwnd, ssthresh, rtt_us, min_rtt_us, in_flight, retransmits, state;
    uint64_t acked_bytes, received_bytes;
};

/* A request has left (`q`), or the end of a frame or of a response has arrived (`d`). */
struct note {
    nanos t;
    uint32_t flow, number;
    char kind;
};

struct link_sample {
    nanos t;
    uint64_t bytes;
    uint32_t link, packets, drops, queue_packets, marks;
};

static struct flow flows[FLOW_LIMIT];
static struct link links[LINK_LIMIT];
static struct change changes[CHANGE_LIMIT];
static int watches[WATCH_LIMIT], captures[CAPTURE_LIMIT];
static struct probe probes[PROBE_LIMIT];
static int flow_count, link_count, change_count, watch_count, capture_count, probe_count, payload_file;
static nanos interval, sampling, duration, epoch;  /* `sampling` is a multiple of `interval`, the time between wakes */
static uint64_t received_bytes[FLOW_LIMIT];
static struct flow_sample *flow_samples;
static struct link_sample *link_samples;
static struct packet *packets;
static struct note *notes;
static struct captured *captured;
static size_t flow_sample_count, link_sample_count, packet_count, captured_count, note_count;

static void boot(void);
static void obey(char *line, int number);
static void run_flows(void);
static void report(void);
static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void end(void) __attribute__((noreturn));
static void emit(const char *format, ...) __attribute__((format(printf, 1, 2)));

int main(void)
{
    boot();
    FILE *job = fopen("/job", "r");
    if (!job)
        fail("no job");
    char line[4096];
    for (int number = 1; fgets(line, sizeof line, job); number++)
        obey(line, number);
    run_flows();
    report();
    end();
}

/* --- the machine ------------------------------------------------------------------------------------------------------ */

static void boot(void)
{
    if (ioperm(DEBUGCON_PORT, 1, 1) || ioperm(DEBUG_EXIT_PORT, 1, 1))
        reboot(RB_AUTOBOOT);
    emit("booted");
    mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/run", 0755), mkdir("/run/netns", 0755), mkdir("/dev", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    payload_file = memfd_create("payload", 0);
    if (payload_file < 0 || ftruncate(payload_file, FILE_BYTES))
        fail("payload: %s", strerror(errno));
}

static void end(void)
{
    outb(0, DEBUG_EXIT_PORT);
    reboot(RB_AUTOBOOT);
    for (;;)
        pause();
}

static void fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    emit("error %s", text);
    end();
}

static void emit(const char *format, ...)
{
    char text[16384];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof text - 2)
        length = sizeof text - 2;
    text[length++] = '\n';
    __asm__ volatile("" ::: "memory");  /* glibc's outsb does not say that it reads the text */
    outsb(DEBUGCON_PORT, text, length);
}

static nanos now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(nanos t)
{
    struct timespec at = {t / 1000000000, t % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* Seconds since boot, and those of them spent idle: the rest is what the guest executed. */
static void emit_idle(void)
{
    char text[64] = "";
    int fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        fail("/proc/uptime: %s", strerror(errno));
    close(fd);
    text[strcspn(text, "\n")] = 0;
    emit("idle %s", text);
}

/* --- orders ----------------------------------------------------------------------------------------------------------- */

static void enter(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        fail("namespace %s: %s", name, strerror(errno));
    close(fd);
}

static void make_namespace(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0 || unshare(CLONE_NEWNET) || mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
        fail("namespace %s: %s", name, strerror(errno));
    close(fd);
}

static void load_module(const char *path, const char *parameters)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST))
        fail("module %s: %s", path, strerror(errno));
    close(fd);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        fail("%s = %s: %s", path, text, strerror(errno));
    close(fd);
}

/* Runs a program to its end. Its errors become the error if it fails, and so does its output, unless `kept` is a file for it. */
static void run_into(int kept, char **words)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC))
        fail("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        dup2(kept < 0 ? out[1] : kept, 1), dup2(out[1], 2);
        execv(words[0], words);
        dprintf(2, "%s", strerror(errno));
        _exit(127);
    }
    close(out[1]);
    char text[400] = "", rest[512];
    ssize_t length = 0, n;
    while ((n = read(out[0], length < 399 ? text + length : rest, length < 399 ? 399 - length : 512)) > 0)
        if (length < 399)
            length += n;
    close(out[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!status)
        return;
    text[length] = 0;
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ';';
    fail("%s %s: %s", words[0], words[1] ? words[1] : "", text);
}

static void run(char **words)
{
    run_into(-1, words);
}

/* Packets of one segment each: neither the sender nor the device joins or splits them. Checksums stay offloaded. */
static void turn_offloads_off(const char *device)
{
    const uint32_t commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct ethtool_value value = {.cmd = commands[i], .data = 0};
        struct ifreq request = {.ifr_data = (void *)&value};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
        if (ioctl(fd, SIOCETHTOOL, &request))
            fail("%s: offload %d: %s", device, (int)i, strerror(errno));
    }
    close(fd);
}

static void add_link(char **words)
{
    struct link *link = &links[link_count++];
    snprintf(link->ns, sizeof link->ns, "%s", words[1]);
    snprintf(link->device, sizeof link->device, "%s", words[2]);
    link->handle = strtoul(words[3], NULL, 16) << 16;
    enter(link->ns);
    link->ifindex = if_nametoindex(link->device);
    link->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (!link->ifindex || link->netlink < 0)
        fail("link %s: %s", link->device, strerror(errno));
}

/* Changes come in the order of their times. */
static void add_change(char **words)
{
    struct change *change = &changes[change_count++];
    change->at = atoll(words[1]);
    snprintf(change->ns, sizeof change->ns, "%s", words[2]);
    for (int i = 0; words[3 + i]; i++)
        change->words[i] = strdup(words[3 + i]);
}

/* A socket that has the packets of a device, with the kernel's time of each. What leaves is shown to those alone who ask for all. */
static int packet_socket(const char *device, int type)
{
    int fd = socket(AF_PACKET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(device)};
    int bytes = WATCHED_BYTES, on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)
        || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) || bind(fd, (struct sockaddr *)&at, sizeof at))
        fail("watch %s: %s", device, strerror(errno));
    return fd;
}

/* Captures packets of a device. */
static void add_capture(char **words)
{
    enter(words[1]);
    captures[capture_count++] = packet_socket(words[2], SOCK_RAW);
}

/* A program at intervals: the time between, a namespace, the words. */
static void add_probe(char **words)
{
    struct probe *probe = &probes[probe_count++];
    probe->every = atoll(words[1]);
    snprintf(probe->ns, sizeof probe->ns, "%s", words[2]);
    for (int i = 0; words[3 + i]; i++)
        probe->words[i] = strdup(words[3 + i]);
    probe->out = memfd_create("output", 0);
    if (probe->out < 0 || probe->every <= 0)
        fail("%s: no output", words[3]);
}

/* Looks at the packets of flows that pass a device. */
static void add_watch(char **words)
{
    enter(words[1]);
    watches[watch_count++] = packet_socket(words[2], SOCK_DGRAM);
}

static void add_flow(char **words)
{
    struct flow *f = &flows[flow_count++];
    snprintf(f->source_ns, sizeof f->source_ns, "%s", words[1]);
    snprintf(f->source_ip, sizeof f->source_ip, "%s", words[2]);
    snprintf(f->sink_ns, sizeof f->sink_ns, "%s", words[3]);
    snprintf(f->sink_ip, sizeof f->sink_ip, "%s", words[4]);
    f->port = atoi(words[5]);
    snprintf(f->algorithm, sizeof f->algorithm, "%s", words[6]);
    f->start = atoll(words[7]);
    f->stop = atoll(words[8]);
    f->size_bytes = f->bytes_left = atoll(words[9]);
    f->send_bytes = atoi(words[10]);
    f->receive_bytes = atoi(words[11]);
    f->frame_bytes = atoll(words[12]);
    f->frame_every = atof(words[13]);
    f->request_bytes = atoll(words[14]);
    f->think = atoll(words[15]);
    f->server = atoll(words[16]);
    f->ask_at = f->answer_at = NEVER;
    if (f->frame_bytes)
        f->bytes_left = 0;
    f->sender = f->sink = f->listener = -1;
}

static void obey(char *line, int number)
{
    char *words[WORD_LIMIT + 1], *rest;
    int n = 0;
    for (char *word = strtok_r(line, " \n", &rest); word && n < WORD_LIMIT; word = strtok_r(NULL, " \n", &rest))
        words[n++] = word;
    words[n] = NULL;
    if (n == 0)
        return;
    const char *order = words[0];
    if (!strcmp(order, "module") && n >= 2) {
        char parameters[256] = "";
        for (int i = 2; i < n; i++) {
            strncat(parameters, words[i], sizeof parameters - strlen(parameters) - 2);
            strcat(parameters, " ");
        }
        load_module(words[1], parameters);
    } else if (!strcmp(order, "namespace") && n == 2) {
        make_namespace(words[1]);
    } else if (!strcmp(order, "enter") && n == 2) {
        enter(words[1]);
    } else if (!strcmp(order, "write") && n >= 3) {
        char text[256] = "";
        for (int i = 2; i < n; i++) {
            strncat(text, words[i], sizeof text - strlen(text) - 2);
            strcat(text, i + 1 < n ? " " : "");
        }
        write_file(words[1], text);
    } else if (!strcmp(order, "offloads-off") && n == 2) {
        turn_offloads_off(words[1]);
    } else if (!strcmp(order, "run") && n >= 2) {
        run(words + 1);
    } else if (!strcmp(order, "idle") && n == 1) {
        emit_idle();
    } else if (!strcmp(order, "link") && n == 4 && link_count < LINK_LIMIT) {
        add_link(words);
    } else if (!strcmp(order, "at") && n >= 4 && change_count < CHANGE_LIMIT) {
        add_change(words);
    } else if (!strcmp(order, "watch") && n == 3 && watch_count < WATCH_LIMIT) {
        add_watch(words);
    } else if (!strcmp(order, "capture") && n == 3 && capture_count < CAPTURE_LIMIT) {
        add_capture(words);
    } else if (!strcmp(order, "every") && n >= 4 && probe_count < PROBE_LIMIT) {
        add_probe(words);
    } else if (!strcmp(order, "flow") && n == 17 && flow_count < FLOW_LIMIT) {
        add_flow(words);
    } else if (!strcmp(order, "time") && n == 4) {
        duration = atoll(words[1]);
        interval = atoll(words[2]);
        sampling = atoll(words[3]);
    } else {
        fail("job line %d: not an order: %s", number, order);
    }
}

/* --- flows ------------------------------------------------------------------------------------------------------------ */

static struct sockaddr_in address(const char *ip, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, ip, &a.sin_addr);
    return a;
}

static void set(int fd, int level, int option, int value, const char *what)
{
    if (setsockopt(fd, level, option, &value, sizeof value))
        fail("%s: %s", what, strerror(errno));
}

static void listen_for(struct flow *f)
{
    enter(f->sink_ns);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = address(f->sink_ip, f->port);
    set(f->listener, SOL_SOCKET, SO_RCVBUFFORCE, f->receive_bytes, "receive buffer");
    /* What arrives waits for this process by intent. Without the mark the kernel would take the receiver for a slow one and
     * delay its ACKs until a timer of 40 ms, and the sender would send in bursts. */
    set(f->listener, SOL_SOCKET, SO_RCVLOWAT, f->receive_bytes, "low-water mark");
    if (bind(f->listener, (struct sockaddr *)&at, sizeof at) || listen(f->listener, 1))
        fail("flow %d: listen on %s: %s", (int)(f - flows), f->sink_ip, strerror(errno));
}

static void start(struct flow *f)
{
    enter(f->source_ns);
    f->sender = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (setsockopt(f->sender, IPPROTO_TCP, TCP_CONGESTION, f->algorithm, strlen(f->algorithm)))
        fail("flow %d: congestion control %s: %s", (int)(f - flows), f->algorithm, strerror(errno));
    set(f->sender, SOL_SOCKET, SO_SNDBUFFORCE, f->send_bytes, "send buffer");
    struct sockaddr_in from = address(f->source_ip, 0), to = address(f->sink_ip, f->port);
    if (bind(f->sender, (struct sockaddr *)&from, sizeof from))
        fail("flow %d: bind to %s: %s", (int)(f - flows), f->source_ip, strerror(errno));
    if (connect(f->sender, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
        fail("flow %d: connect to %s: %s", (int)(f - flows), f->sink_ip, strerror(errno));
}

static void lost(struct flow *f, int error) __attribute__((noreturn));
static void lost(struct flow *f, int error)
{
    fail("flow %d: %s: %s to %s: %s", (int)(f - flows), f->sink < 0 ? "never connected" : "connection lost", f->source_ip,
         f->sink_ip, strerror(error));
}

static void take_note(const struct flow *f, nanos t, char kind, int64_t number)
{
    if (note_count == NOTE_LIMIT)
        fail("more than %d frames and requests", NOTE_LIMIT);
    notes[note_count++] = (struct note){t, f - flows, number, kind};
}

/* When the next frame is written. */
static nanos next_frame(const struct flow *f)
{
    return f->request_bytes ? f->answer_at : f->start + (nanos)(f->frames_written * f->frame_every);
}

static void refill(struct flow *f, nanos t)
{
    for (; f->frame_bytes && next_frame(f) <= t; f->frames_written++) {
        f->bytes_left += f->frame_bytes;
        f->answer_at = NEVER;
    }
    while (f->bytes_left) {
        size_t want = f->frame_bytes ? FILE_BYTES : CHUNK_BYTES;  /* a frame at once: its last segment alone may be a part of one */
        if (f->bytes_left > 0 && f->bytes_left < (int64_t)want)
            want = f->bytes_left;
        if (f->offset + want > FILE_BYTES)
            f->offset = 0;
        ssize_t sent = sendfile(f->sender, payload_file, &f->offset, want);
        if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EPIPE))
            break;
        if (sent < 0)
            lost(f, errno);
        if (f->bytes_left > 0)
            f->bytes_left -= sent;
        if (sent < (ssize_t)want)
            break;
    }
}

static void drain(struct flow *f, nanos t)
{
    if (f->sink < 0) {
        f->sink = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (f->sink < 0)
            return;
        if (f->request_bytes)
            f->ask_at = t + f->think;
    }
    ssize_t n;
    while ((n = recv(f->sink, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT)) > 0)
        received_bytes[f - flows] += n;
    for (; f->frame_bytes && (int64_t)received_bytes[f - flows] >= (f->frames_received + 1) * f->frame_bytes; f->frames_received++) {
        take_note(f, t, 'd', f->frames_received);
        if (f->request_bytes)
            f->ask_at = t + f->think;
    }
}

/* Sends the request that is due, and notes at the sender when its response is. */
static void request(struct flow *f, nanos t)
{
    if (f->ask_at <= t) {
        off_t first = 0;
        if (sendfile(f->sink, payload_file, &first, f->request_bytes) != f->request_bytes)
            lost(f, errno);
        take_note(f, t, 'q', f->frames_received);
        f->ask_at = NEVER;
    }
    ssize_t n;
    while ((n = recv(f->sender, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT)) > 0) {
        f->requested_bytes += n;
        if (f->requested_bytes == (f->frames_written + 1) * f->request_bytes)
            f->answer_at = t + f->server;
    }
}

static void sample_flow(struct flow *f, nanos t)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(f->sender, IPPROTO_TCP, TCP_INFO, &info, &size))
        fail("flow %d: TCP_INFO: %s", (int)(f - flows), strerror(errno));
    if (info.tcpi_state == 7) {  /* TCP_CLOSE: the connection was refused or timed out */
        int error = 0;
        socklen_t error_size = sizeof error;
        getsockopt(f->sender, SOL_SOCKET, SO_ERROR, &error, &error_size);
        lost(f, error);
    }
    flow_samples[flow_sample_count++] = (struct flow_sample){
        .t = t, .flow = f - flows, .cwnd = info.tcpi_snd_cwnd, .ssthresh = info.tcpi_snd_ssthresh,
        .rtt_us = info.tcpi_rtt, .min_rtt_us = info.tcpi_min_rtt,
        .in_flight = info.tcpi_unacked + info.tcpi_retrans - info.tcpi_sacked - info.tcpi_lost,
        .retransmits = info.tcpi_total_retrans, .state = info.tcpi_ca_state,
        .acked_bytes = info.tcpi_bytes_acked, .received_bytes = received_bytes[f - flows]};
    if (f->size_bytes >= 0 && !f->bytes_left && (int64_t)info.tcpi_bytes_acked > f->size_bytes) {
        emit("finished %d %lld", (int)(f - flows), (long long)t);
        f->finished = 1;
    }
}

/* The connection is aborted: what the send buffer still holds must not leave after the stop. */
static void stop(struct flow *f)
{
    struct linger abort = {1, 0};
    setsockopt(f->sender, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    close(f->sender);
    f->finished = 1;
}

static void attend(struct flow *f, nanos t, int sample)
{
    if (f->finished || t < f->start)
        return;
    if (f->sender < 0)
        start(f);
    drain(f, t);
    if (f->request_bytes)
        request(f, t);
    refill(f, t);
    if (sample)
        sample_flow(f, t);
    if (f->stop >= 0 && t >= f->stop)
        stop(f);
}

/* What is to change by `t`; the number of those done before is kept. */
static void make_changes(nanos t)
{
    static int done;
    for (; done < change_count && changes[done].at <= t; done++) {
        enter(changes[done].ns);
        run(changes[done].words);
    }
}

/* The next time to drain and refill, or the next change, frame, request, or start or stop of a flow, where that is sooner. */
static nanos next_wake(nanos t)
{
    nanos next = (t / interval + 1) * interval;
    for (int i = 0; i < change_count; i++)
        if (changes[i].at > t && changes[i].at < next)
            next = changes[i].at;
    for (int i = 0; i < flow_count; i++) {
        if (flows[i].start > t && flows[i].start < next)
            next = flows[i].start;
        if (flows[i].stop > t && flows[i].stop < next)
            next = flows[i].stop;
        if (flows[i].frame_bytes && next_frame(&flows[i]) > t && next_frame(&flows[i]) < next)
            next = next_frame(&flows[i]);
        if (flows[i].ask_at > t && flows[i].ask_at < next)
            next = flows[i].ask_at;
    }
    return next;
}

/* The attribute of a type within others; a length of 0 if there is none. */
static struct rtattr *within(struct rtattr *outer, int type)
{
    static struct rtattr none;
    int left = RTA_PAYLOAD(outer);
    for (struct rtattr *a = RTA_DATA(outer); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if ((a->rta_type & NLA_TYPE_MASK) == type)
            return a;
    return &none;
}

/* Packets marked in all tins of CAKE, whose statistics are nested attributes. */
static uint32_t marks_of_cake(struct rtattr *shown)
{
    struct rtattr *tins = within(shown, TCA_CAKE_STATS_TIN_STATS);
    if (!tins->rta_len)
        return 0;
    uint32_t sum = 0;
    int left = RTA_PAYLOAD(tins);
    for (struct rtattr *tin = RTA_DATA(tins); RTA_OK(tin, left); tin = RTA_NEXT(tin, left)) {
        struct rtattr *marked = within(tin, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS);
        uint32_t packets = 0;
        if (marked->rta_len)
            memcpy(&packets, RTA_DATA(marked), sizeof packets);
        sum += packets;
    }
    return sum;
}

/* Packets marked, of what `tc -s` shows of a kind of queue alone. One that CoDel and its ce_threshold both mark counts twice. */
static uint32_t marks(const char *kind, struct rtattr *attribute)
{
    const void *shown = RTA_DATA(attribute);
    size_t size = RTA_PAYLOAD(attribute);
    union {
        struct tc_codel_xstats codel;
        struct tc_fq_codel_xstats fq_codel;
        struct tc_fq_pie_xstats fq_pie;
        struct tc_pie_xstats pie;
        struct tc_red_xstats red;
    } stats = {0};
    if (!strcmp(kind, "cake"))
        return marks_of_cake(attribute);
    memcpy(&stats, shown, size < sizeof stats ? size : sizeof stats);
    if (!strcmp(kind, "codel"))
        return stats.codel.ecn_mark + stats.codel.ce_mark;
    if (!strcmp(kind, "fq_codel"))
        return stats.fq_codel.qdisc_stats.ecn_mark + stats.fq_codel.qdisc_stats.ce_mark;
    if (!strcmp(kind, "fq_pie"))
        return stats.fq_pie.ecn_mark;
    if (!strcmp(kind, "pie"))
        return stats.pie.ecn_mark;
    return strcmp(kind, "red") ? 0 : stats.red.marked;
}

/* The headers of what has passed since the last look; the clock of its times is another than ours, `offset` later. */
static void take_packets(int watch, nanos offset)
{
    uint8_t head[128];
    union { char room[128]; struct cmsghdr align; } control;
    struct sockaddr_ll from;
    struct iovec part = {head, sizeof head};
    struct msghdr message = {.msg_name = &from, .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
    for (;;) {
        message.msg_namelen = sizeof from, message.msg_controllen = sizeof control;
        ssize_t length = recvmsg(watch, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (length < 0)
            return;
        const uint8_t *tcp = head + 4 * (head[0] & 15);
        struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
        if (!stamp || length < 40 || head[0] >> 4 != 4 || head[9] != IPPROTO_TCP || packet_count == PACKET_LIMIT)
            continue;
        struct timespec at;
        memcpy(&at, CMSG_DATA(stamp), sizeof at);
        uint16_t ports[2];
        uint32_t numbers[2];
        memcpy(ports, tcp, sizeof ports), memcpy(numbers, tcp + 4, sizeof numbers);
        int leaves = from.sll_pkttype == PACKET_OUTGOING;
        int port = ntohs(ports[leaves]);
        for (int i = 0; i < flow_count; i++)
            if (flows[i].port == port)
                packets[packet_count++] = (struct packet){
                    .t = at.tv_sec * 1000000000LL + at.tv_nsec - offset - epoch, .flow = i, .leaves = leaves,
                    .seq = ntohl(numbers[0]), .ack = ntohl(numbers[1]),
                    .bytes = length - 4 * (head[0] & 15) - 4 * (tcp[12] >> 4)};
    }
}

/* Keeps what has passed a device since the last look. */
static void capture_packets(int number)
{
    union { char room[128]; struct cmsghdr align; } control;
    while ((captured_count + 1) * sizeof *captured < CAPTURE_BYTES) {
        struct captured *c = &captured[captured_count];
        struct iovec part = {c->bytes, sizeof c->bytes};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        ssize_t length = recvmsg(captures[number], &message, MSG_DONTWAIT | MSG_TRUNC);
        if (length < 0)
            return;
        struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
        if (!stamp)
            continue;
        struct timespec at;
        memcpy(&at, CMSG_DATA(stamp), sizeof at);
        c->t = at.tv_sec * 1000000000LL + at.tv_nsec;
        c->length = length, c->capture = number;
        c->kept = length < CAPTURED_BYTES ? length : CAPTURED_BYTES;
        captured_count++;
    }
    fail("the capture has no room for more packets");
}

/* Runs the programs that are due, each after a line with the time. */
static void run_probes(nanos t)
{
    for (int i = 0; i < probe_count; i++) {
        struct probe *probe = &probes[i];
        if (t < probe->due)
            continue;
        probe->due += probe->every;
        struct timespec real;
        clock_gettime(CLOCK_REALTIME, &real);
        dprintf(probe->out, "# %lld.%06ld\n", (long long)real.tv_sec, real.tv_nsec / 1000);
        enter(probe->ns);
        run_into(probe->out, probe->words);
    }
}

static nanos clocks_offset(void)
{
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    return real.tv_sec * 1000000000LL + real.tv_nsec - now();
}

/* One RTM_GETQDISC dump: the counters `tc -s qdisc` shows. */
static void sample_link(struct link *l, nanos t)
{
    struct { struct nlmsghdr header; struct tcmsg tc; } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .tc = {.tcm_family = AF_UNSPEC}};
    static char answer[32768];
    if (send(l->netlink, &request, sizeof request, 0) < 0)
        fail("link %s: %s", l->device, strerror(errno));
    struct link_sample *s = &link_samples[link_sample_count];
    int found = 0;
    for (int done = 0; !done;) {
        ssize_t length = recv(l->netlink, answer, sizeof answer, 0);
        if (length <= 0)
            fail("link %s: %s", l->device, strerror(errno));
        for (struct nlmsghdr *h = (void *)answer; NLMSG_OK(h, length); h = NLMSG_NEXT(h, length)) {
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                done = 1;
                break;
            }
            struct tcmsg *tc = NLMSG_DATA(h);
            if (tc->tcm_ifindex != l->ifindex || tc->tcm_handle != l->handle)
                continue;
            int left = TCA_PAYLOAD(h);
            const char *kind = "";
            for (struct rtattr *a = TCA_RTA(tc); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
                if (a->rta_type == TCA_KIND)
                    kind = RTA_DATA(a);
                if (a->rta_type != TCA_STATS2)
                    continue;
                int inner_left = RTA_PAYLOAD(a);
                for (struct rtattr *b = RTA_DATA(a); RTA_OK(b, inner_left); b = RTA_NEXT(b, inner_left)) {
                    if (b->rta_type == TCA_STATS_BASIC) {
                        struct gnet_stats_basic basic;
                        memcpy(&basic, RTA_DATA(b), sizeof basic);
                        s->bytes = basic.bytes, s->packets = basic.packets;
                        found = 1;
                    } else if (b->rta_type == TCA_STATS_QUEUE) {
                        struct gnet_stats_queue queue;
                        memcpy(&queue, RTA_DATA(b), sizeof queue);
                        s->drops = queue.drops, s->queue_packets = queue.qlen;
                    } else if (b->rta_type == TCA_STATS_APP) {
                        s->marks = marks(kind, b);
                    }
                }
            }
        }
    }
    if (!found)
        fail("link %s: its queue has no counters", l->device);
    s->t = t, s->link = l - links;
    link_sample_count++;
}

/* Untouched pages cost nothing, so room for every sample is reserved at once. */
static void *reserve(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        fail("memory for samples: %s", strerror(errno));
    return room;
}

static void run_flows(void)
{
    if (interval <= 0 || sampling <= 0 || duration <= 0)
        fail("job gives no time");
    size_t steps = duration / sampling + 2;
    flow_samples = reserve(steps * flow_count * sizeof *flow_samples + 1);
    link_samples = reserve(steps * link_count * sizeof *link_samples + 1);
    packets = reserve(PACKET_LIMIT * sizeof *packets);
    captured = reserve(CAPTURE_BYTES);
    notes = reserve(NOTE_LIMIT * sizeof *notes);
    nanos offset = clocks_offset();
    for (int i = 0; i < flow_count; i++)
        listen_for(&flows[i]);
    emit("running");
    emit_idle();
    epoch = now();
    nanos progress = 0;
    for (nanos t = 0; t <= duration; t = next_wake(t)) {
        sleep_until(epoch + t);
        make_changes(t);
        int sample = t % sampling == 0;
        for (int i = 0; sample && i < link_count; i++)
            sample_link(&links[i], t);
        for (int i = 0; i < flow_count; i++)
            attend(&flows[i], t, sample);
        for (int i = 0; i < watch_count; i++)
            take_packets(watches[i], offset);
        for (int i = 0; i < capture_count; i++)
            capture_packets(i);
        run_probes(t);
        if (t >= progress) {
            emit("t %lld", (long long)t);
            progress += duration / 20;
        }
    }
    emit_idle();
}

/* Output of a program, a line each. */
static void report_output(int number)
{
    lseek(probes[number].out, 0, SEEK_SET);
    FILE *output = fdopen(probes[number].out, "r");
    static char line[1 << 16];
    while (output && fgets(line, sizeof line, output)) {
        line[strcspn(line, "\n")] = 0;
        emit("o %d %s", number, line);
    }
}

static void report(void)
{
    for (int i = 0; i < flow_count; i++)
        if (flows[i].start < duration && flows[i].sink < 0)
            fail("flow %d: never connected: %s to %s", i, flows[i].source_ip, flows[i].sink_ip);
    for (size_t i = 0; i < flow_sample_count; i++) {
        struct flow_sample *s = &flow_samples[i];
        emit("f %lld %u %u %u %u %u %u %u %u %llu %llu", (long long)s->t, s->flow, s->cwnd, s->ssthresh, s->rtt_us,
             s->min_rtt_us, s->in_flight, s->retransmits, s->state, (unsigned long long)s->acked_bytes,
             (unsigned long long)s->received_bytes);
    }
    for (size_t i = 0; i < link_sample_count; i++) {
        struct link_sample *s = &link_samples[i];
        emit("l %lld %u %llu %u %u %u %u", (long long)s->t, s->link, (unsigned long long)s->bytes, s->packets, s->drops,
             s->queue_packets, s->marks);
    }
    for (size_t i = 0; i < note_count; i++)
        emit("%c %lld %u %u", notes[i].kind, (long long)notes[i].t, notes[i].flow, notes[i].number);
    for (size_t i = 0; i < packet_count; i++) {
        struct packet *p = &packets[i];
        emit("p %lld %u %d %u %u %d", (long long)p->t, p->flow, p->leaves, p->seq, p->ack, p->bytes);
    }
    for (size_t i = 0; i < captured_count; i++) {
        struct captured *c = &captured[i];
        char text[2 * CAPTURED_BYTES + 1];
        for (uint32_t k = 0; k < c->kept; k++)
            text[2 * k] = "0123456789abcdef"[c->bytes[k] >> 4], text[2 * k + 1] = "0123456789abcdef"[c->bytes[k] & 15];
        text[2 * c->kept] = 0;
        emit("c %u %lld %u %s", c->capture, (long long)c->t, c->length, text);
    }
    for (int i = 0; i < probe_count; i++)
        report_output(i);
    emit("done");
}
