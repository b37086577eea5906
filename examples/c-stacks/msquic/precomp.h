/* The part of msquic's headers that its file cubic.c reads, with a connection of these fields alone. See ../msquic.c. */
#ifndef FULLPIPE_MSQUIC_PRECOMP_H
#define FULLPIPE_MSQUIC_PRECOMP_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t BOOLEAN;
#define TRUE 1
#define FALSE 0
#define _In_
#define _Out_
#define _Inout_
#define _IRQL_requires_max_(level)
#define QUIC_INLINE static inline
#define UNREFERENCED_PARAMETER(name) (void)(name)
#define CXPLAT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define CXPLAT_DBG_ASSERT(condition) (void)(condition)
#define CXPLAT_FRE_ASSERT(condition) (void)(condition)
#define CXPLAT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CXPLAT_MAX(a, b) ((a) > (b) ? (a) : (b))
#define US_TO_MS(us) ((us) / 1000)
#define MS_TO_US(ms) ((ms) * 1000)
#define S_TO_MS(s) ((s) * 1000)
#define QuicTraceEvent(...)
#define QuicTraceLogConnVerbose(...)

/* Values of msquic's quicdef.h. */
#define QUIC_PERSISTENT_CONGESTION_WINDOW_PACKETS 2
#define QUIC_MIN_PACING_RTT 1000
#define QUIC_HYSTART_DEFAULT_N_SAMPLING 8
#define QUIC_HYSTART_DEFAULT_MIN_ETA 4000
#define QUIC_HYSTART_DEFAULT_MAX_ETA 16000
#define QUIC_CONSERVATIVE_SLOW_START_DEFAULT_ROUNDS 5
#define QUIC_CONSERVATIVE_SLOW_START_DEFAULT_GROWTH_DIVISOR 4

enum { QUIC_FLOW_BLOCKED_CONGESTION_CONTROL, QUIC_CONNECTION_EVENT_NETWORK_STATISTICS, RouteSuspected };

typedef int QUIC_ADDR, QUIC_CONGESTION_CONTROL_ALGORITHM, QUIC_STATUS;
typedef struct QUIC_CONGESTION_CONTROL QUIC_CONGESTION_CONTROL;
typedef struct QUIC_SENT_PACKET_METADATA QUIC_SENT_PACKET_METADATA;
typedef struct QUIC_CONNECTION QUIC_CONNECTION;

typedef struct {
	uint32_t SendIdleTimeoutMs, InitialWindowPackets;
	BOOLEAN HyStartEnabled, PacingEnabled, NetStatsEventEnabled;
} QUIC_SETTINGS_INTERNAL;

typedef struct QUIC_NETWORK_STATISTICS {
	uint32_t BytesInFlight, CongestionWindow;
	uint64_t PostedBytes, IdealBytes, SmoothedRTT, Bandwidth;
} QUIC_NETWORK_STATISTICS;

typedef struct {
	int Type;
	QUIC_NETWORK_STATISTICS NETWORK_STATISTICS;
} QUIC_CONNECTION_EVENT;

typedef struct {
	uint64_t SmoothedRtt, RttVariance, OneWayDelay;
	BOOLEAN GotFirstRttSample;
	uint16_t DatagramPayloadSize; /* msquic computes it from the MTU */
	struct {
		int State;
	} Route;
} QUIC_PATH;

#include "congestion_control.h"

struct QUIC_CONNECTION {
	QUIC_CONGESTION_CONTROL CongestionControl; /* first: see QuicCongestionControlGetConnection */
	QUIC_SETTINGS_INTERNAL Settings;
	QUIC_PATH Paths[1];
	struct {
		uint64_t NextPacketNumber, LastFlushTime, PeerMaxData, OrderedStreamBytesSent;
	} Send;
	struct {
		uint64_t PostedBytes, IdealBytes;
	} SendBuffer;
	struct {
		struct {
			uint64_t CongestionCount, PersistentCongestionCount, EcnCongestionCount, TotalBytes;
		} Send;
	} Stats;
};

static inline QUIC_CONNECTION *QuicCongestionControlGetConnection(const QUIC_CONGESTION_CONTROL *cc)
{
	return (QUIC_CONNECTION *)cc;
}

static inline uint16_t QuicPathGetDatagramPayloadSize(const QUIC_PATH *path)
{
	return path->DatagramPayloadSize;
}

static inline uint64_t CxPlatTimeDiff64(uint64_t earlier, uint64_t later)
{
	return later - earlier;
}

static inline BOOLEAN CxPlatTimeAtOrBefore64(uint64_t a, uint64_t b)
{
	return a <= b;
}

/* Time of the last flush, which no window depends on. */
#define CxPlatTimeUs64() 0

#define QuicConnLogOutFlowStats(connection) (void)(connection)
#define QuicConnAddOutFlowBlockedReason(connection, reason) (void)(connection)
#define QuicConnRemoveOutFlowBlockedReason(connection, reason) (void)(connection)
#define QuicSendBufferConnectionAdjust(connection) (void)(connection)
#define QuicConnIndicateEvent(connection, event) (void)(event)

#endif
