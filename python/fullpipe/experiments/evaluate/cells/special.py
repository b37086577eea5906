"""RFC 9743, section 7: special cases."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, SECONDS, STANDARD, Beside, Cell, Metric, Setting
from fullpipe.experiments.evaluate.cells.harm import VICTIM, beside
from fullpipe.experiments.evaluate.preset import Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import IDLE, LESS, LOSS, MORE

__all__ = ["CELLS"]

USED = Metric("utilization", IDLE)
MEDIAN = Metric("p50_queueing_delay_s", LESS)
WAIT = Metric("p95_queueing_delay_s", LESS)
DONE = Metric("completion_s", LESS, shown_in=SECONDS)
RAMP = Metric("ramp_s", LESS, shown_in=SECONDS)

QUEUES: dict[str, dict[str, object]] = {
    "CoDel": {"name": "codel"},
    "FQ-CoDel": {"name": "fq-codel", "ecn": False},
    "PIE": {"name": "pie"},
    "RED": {"name": "red", "min_th": "20 packets", "max_th": "60 packets"},
    "DualPI2": {"name": "dualpi2"},
}


def managed(party: Party, queue: str, count: int, ecn: bool) -> Tree:
    """Managed queue with a buffer of 4 BDP."""
    table = dict(QUEUES[queue])
    if ecn and queue != "DualPI2":
        table["ecn"] = True
    group = flows(party, "subject", count, ecn=ecn)
    return dumbbell(50e6, 0.04, 4, group, duration_s=120, link={"queue": table})


def varying(
    party: Party,
    rate_bps: float,
    rtt_s: float,
    schedule: list[dict[str, object]],
    *,
    size: str | None = None,
    duration_s: float = 60,
    warmup_s: float = 0,
    **link: object,
) -> Tree:
    """Path that changes at given times, so that its flows start at once."""
    group = flows(party, "subject", start="0 s..10 ms")
    return dumbbell(
        rate_bps,
        rtt_s,
        1,
        {**group, "size": size} if size else group,
        duration_s=duration_s,
        warmup_s=warmup_s,
        link={**({"schedule": schedule} if schedule else {}), **link},
        series_interval="100 ms",
    )


def reordered(party: Party, part: float, rtts: float) -> Tree:
    """Packets that are delayed at random, so that others overtake them."""
    link = {"reorder": {"probability": part, "delay": f"{50 * rtts:g} ms"}}
    return dumbbell(50e6, 0.05, 1, flows(party, "subject"), duration_s=120, link=link)


def burst(party: Party) -> Tree:
    """Datagrams at 75 of 100 Mbit/s, on and off for 10 s each (draft-irtf-iccrg-tcpeval-01, 5.3)."""
    tree = dumbbell(100e6, 0.04, 1, flows(party, "subject"), duration_s=120)
    on = [
        {"rate": "75 Mbit/s", "packet_size": 1500, "start": f"{at} s", "stop": f"{at + 10} s"}
        for at in range(20, 120, 20)
    ]
    return {**tree, "udp": on}


def incast(party: Party) -> Tree:
    """32 simultaneous answers over 10 Gbit/s and 100 us, with a queue that marks above 65 packets (RFC 8257, 3.1)."""
    keys: dict[str, object] = {"min_rto": "10 ms", "delayed_ack_timeout": "1 ms"}
    return dumbbell(
        10e9,
        1e-4,
        "500 packets",
        flows(party, "subject", 32, ecn=True, size="64 kB", start="0 s..10 us", **keys),
        duration_s=1,
        warmup_s=0,
        link={"queue": {"name": "step", "threshold": "65 packets"}},
    )


CELLS = (
    Cell(
        "aqm",
        ("7.1",),
        "50 Mbit/s, 40 ms: a managed queue",
        [
            Setting(
                f"{queue}, {count} flow{'s' if count > 1 else ''}{', ECN' if ecn else ''}",
                lambda party, queue=queue, count=count, ecn=ecn: managed(party, queue, count, ecn),
                ALWAYS if (queue, count, ecn) in (("FQ-CoDel", 1, False), ("DualPI2", 1, True)) else STANDARD,
            )
            for queue in QUEUES
            for count in (1, 10)
            for ecn in (False, True)
        ],
        [MEDIAN, WAIT, USED, Metric("mark_rate", LOSS, informs=True)],
    ),
    Beside(
        "aqm-duel",
        ("7.1",),
        "50 Mbit/s, 40 ms: one versus one over FQ-CoDel and DualPI2, with ECN",
        [
            Setting(
                queue,
                lambda victim, other, queue=queue: beside(
                    50e6, 0.04, 4, victim, other, link={"queue": {"name": queue}}, ecn=True
                ),
                STANDARD,
                25e6,
            )
            for queue in ("fq-codel", "dualpi2")
        ],
        VICTIM,
    ),
    Cell(
        "delay",
        ("7.3",),
        "20 Mbit/s, 1 BDP: the RTT changes from 30 to 100 ms after a second",
        [
            Setting(
                "30 to 100 ms",
                lambda party: varying(party, 20e6, 0.03, [{"at": "1 s", "delay": "49.1 ms"}], warmup_s=1),
                ALWAYS,
            )
        ],
        [RAMP, Metric("subject.p95_rtt_s", LESS)],
        measure="upturn",
    ),
    Cell(
        "iot",
        ("7.4",),
        "512 kbit/s, 34 ms, 50 ms of buffer: 1 MB (draft-huitema-ccwg-c4-test)",
        [
            Setting(
                "1 MB",
                lambda party: dumbbell(
                    512e3, 0.034, "50 ms", flows(party, "subject", size="1 MB"), duration_s=60, warmup_s=0
                ),
                ALWAYS,
            )
        ],
        [DONE],
        measure="transfer",
    ),
    Cell(
        "geo",
        ("7.5",),
        "250 Mbit/s, 600 ms, 1 BDP: 100 MB (draft-huitema-ccwg-c4-test)",
        [
            Setting(
                "100 MB",
                lambda party: dumbbell(
                    250e6, 0.6, 1, flows(party, "subject", size="100 MB"), duration_s=300, warmup_s=0
                ),
                ALWAYS,
            )
        ],
        [DONE],
        measure="transfer",
    ),
    Cell(
        "cheat",
        ("7.6",),
        "receivers that cheat",
        missing="the simulator's receivers are honest",
    ),
    Cell(
        "reorder",
        ("7.7",),
        "50 Mbit/s, 50 ms, 1 BDP: reordered packets",
        [
            Setting(
                f"{part:.0%} by {rtts:g} RTT",
                lambda party, part=part, rtts=rtts: reordered(party, part, rtts),
                ALWAYS if (part, rtts) == (0.01, 0.5) else STANDARD,
            )
            for part in (0.01, 0.05)
            for rtts in (0.1, 0.5, 1)
        ],
        [
            Metric("subject.goodput_bps", MORE),
            Metric("subject.retransmits", LESS, informs=True),
        ],
    ),
    Cell(
        "blackhole",
        ("7.8",),
        "20 Mbit/s, 70 ms, 1 BDP: 100 % loss for 2 s",
        [
            Setting(
                "2 s",
                lambda party: varying(
                    party, 20e6, 0.07, [{"at": "2 s", "loss": 1.0}, {"at": "4 s", "loss": 0}], warmup_s=4
                ),
                ALWAYS,
            )
        ],
        [RAMP],
        measure="upturn",
    ),
    Cell(
        "burst",
        ("7.8",),
        "100 Mbit/s, 40 ms, 1 BDP: 75 Mbit/s of datagrams, on and off for 10 s each",
        [Setting("75 Mbit/s", burst, STANDARD)],
        [USED, Metric("udp.loss_rate", LOSS, of="the datagrams"), WAIT],
    ),
    Cell(
        "step",
        ("7.9",),
        "100 ms, 1 BDP: the rate rises, or falls and recovers: 7 MB (draft-huitema-ccwg-c4-test)",
        [
            Setting(
                "up: 5 to 10 Mbit/s at 2.5 s",
                lambda party: varying(party, 5e6, 0.1, [{"at": "2.5 s", "rate": "10 Mbit/s"}], size="7 MB"),
                ALWAYS,
            ),
            Setting(
                "back: 10, 5, 10 Mbit/s at 1.5 and 3.5 s",
                lambda party: varying(
                    party,
                    10e6,
                    0.1,
                    [{"at": "1.5 s", "rate": "5 Mbit/s"}, {"at": "3.5 s", "rate": "10 Mbit/s"}],
                    size="7 MB",
                ),
                ALWAYS,
            ),
        ],
        [DONE],
        measure="transfer",
    ),
    Cell(
        "capacity",
        ("7.9",),
        "100 ms, 1 BDP: alternating 100 and 10 Mbit/s (RFC 7928, 8.2.6)",
        [
            Setting(
                f"each {every}",
                lambda party, at=at, repeat=repeat: varying(
                    party,
                    100e6,
                    0.1,
                    [{"at": at, "rate": "10 Mbit/s"}],
                    repeat=repeat,
                    duration_s=120,
                    warmup_s=20,
                ),
                STANDARD,
            )
            for every, at, repeat in (("20 s", "20 s", "40 s"), ("100 ms", "100 ms", "200 ms"))
        ],
        [USED, WAIT],
    ),
    Cell(
        "dc",
        ("7.11",),
        "10 Gbit/s, 100 us, marks above 65 packets: 32 simultaneous answers of 64 kB",
        [Setting("incast", incast, STANDARD)],
        [
            Metric("subject.p99_completion_s", LESS),
            Metric("max_queue_packets", LESS),
        ],
    ),
)
