"""RFC 9743, 5.2.1 and 5.2.2: competition with the standards and with real-time traffic."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, FULL, STANDARD, Beside, Call, Metric, Setting
from fullpipe.experiments.evaluate.preset import Party, Tree, dumbbell, flows, ms
from fullpipe.experiments.evaluate.rules import LESS, LOSS, MORE

__all__ = ["CELLS", "VICTIM"]

VICTIM = (
    Metric("victim.goodput_bps", MORE),
    Metric("victim.p95_rtt_s", LESS),
)

QUICK_BUFFERS = (0.1, 1, 4)


def beside(
    rate_bps: float,
    rtt_s: float,
    buffer: float,
    victim: Party,
    other: Party | None,
    *,
    each: tuple[int, int] = (1, 1),
    rtts_s: tuple[float, float] | None = None,
    duration_s: float = 180,
    link: dict[str, object] | None = None,
    ecn: bool = False,
) -> Tree:
    """Victims and competitors on one link, or victims solo. ``rtts_s`` has RTTs that differ from the link's RTT."""
    groups = []
    for i, (party, name) in enumerate(((victim, "victim"), (other, "other"))):
        if party is not None:
            more_s = (rtts_s[i] - rtt_s) / 2 if rtts_s else 0.0
            access = f"{(0.02 * rtt_s + more_s) * 1e3:.9g} ms..{(0.04 * rtt_s + more_s) * 1e3:.9g} ms"
            groups.append(flows(party, name, each[i], access_delay=access, ecn=ecn))
    return dumbbell(rate_bps, rtt_s, buffer, *groups, duration_s=duration_s, link=link)


def duels() -> list[Setting]:
    """One versus one over several buffers and over the grid, and five versus five."""
    settings = [
        Setting(
            f"{buffer:g} BDP",
            lambda victim, other, buffer=buffer: beside(50e6, 0.03, buffer, victim, other),
            ALWAYS if buffer in QUICK_BUFFERS else STANDARD,
            25e6,
        )
        for buffer in (0.1, 1, 2, 4, 8, 16)
    ]
    settings += [
        Setting(
            f"{rate:g} Mbit/s, {rtt * 1e3:g} ms, {buffer:g} BDP",
            lambda victim, other, rate=rate, rtt=rtt, buffer=buffer: beside(rate * 1e6, rtt, buffer, victim, other),
            STANDARD if rate == 5 or (rate, rtt, buffer) == (500, 0.05, 0.5) else FULL,
            rate * 0.5e6,
        )
        for rate in (5, 50, 500)
        for rtt in (0.01, 0.05, 0.2)
        for buffer in (0.1, 0.5, 1, 4)
    ]
    return settings + [
        Setting(
            f"5 and 5, {buffer:g} BDP",
            lambda victim, other, buffer=buffer: beside(50e6, 0.03, buffer, victim, other, each=(5, 5)),
            STANDARD,
            25e6,
        )
        for buffer in (0.25, 1)
    ]


def rtts(victim_s: float, other_s: float) -> Setting:
    """Flows with different RTTs."""
    return Setting(
        f"victim {victim_s * 1e3:g} ms, other {other_s * 1e3:g} ms",
        lambda victim, other: beside(50e6, 0.02, 1, victim, other, rtts_s=(victim_s, other_s)),
        STANDARD,
        25e6,
    )


def adoption(victim: Party, other: Party | None, switched: int) -> Tree:
    """Ten flows, some of which use the other algorithm."""
    return beside(100e6, 0.04, 1, victim, other, each=(10 - switched, switched), duration_s=120)


AUDIO = {"per_second": 50, "size": "80 B"}
VIDEO = {"per_second": 30, "size": "3750 B", "key_size": "37500 B", "key_every": 150}
"""Frames of a call (draft-huitema-ccwg-c4-test); the video has packets of 1250 B."""


def media(party: Party | None) -> Tree:
    """Call versus a flow, or solo. Packets of a frame leave their host at 1 Gbit/s."""
    rtt_s = 0.04
    host = {"rate": "1 Gbit/s", "start": "0 s..1 s", "access_delay": f"{ms(0.02 * rtt_s)}..{ms(0.04 * rtt_s)}"}
    calls = [
        {**host, "packet_size": 80, "frames": AUDIO},
        {**host, "packet_size": 1250, "frames": VIDEO},
    ]
    groups = [flows(party, "subject")] if party is not None else []
    return {**dumbbell(10e6, rtt_s, 1, *groups, duration_s=120), "udp": calls}


CELLS = (
    Beside(
        "duel",
        ("5.2.1",),
        "equal numbers of flows of two algorithms: harm",
        duels(),
        VICTIM,
        note="50 Mbit/s, 30 ms, and one flow versus one, unless the name of the configuration differs.",
    ),
    Beside(
        "rtts",
        ("5.2.1",),
        "50 Mbit/s, 1 BDP of 20 ms: one versus one with another RTT",
        [rtts(0.08, 0.02), rtts(0.02, 0.08)],
        VICTIM,
    ),
    Beside(
        "adoption",
        ("5.2.1",),
        "100 Mbit/s, 40 ms, 1 BDP: one, five, and nine of ten flows have switched: harm to the others",
        [
            Setting(
                f"{switched} of 10",
                lambda victim, other, switched=switched: adoption(victim, other, switched),
                STANDARD,
                (10 - switched) * 10e6,
            )
            for switched in (1, 5, 9)
        ],
        (
            *VICTIM,
            Metric("other.goodput_bps", MORE, of="switched flows", informs=True),
        ),
        note="Solo, the victims run without the flows that have switched.",
    ),
    Call(
        "media",
        ("5.2.2",),
        "10 Mbit/s, 40 ms, 1 BDP: a call with audio and video versus one flow",
        [Setting("one call", lambda _call, other: media(other), ALWAYS)],
        [
            Metric("video.p95_frame_delay_s", LESS, of="video"),
            Metric("audio.p95_frame_delay_s", LESS, of="audio"),
            Metric("udp.loss_rate", LOSS, of="the call"),
            Metric("video.p95_frame_delay_s", LESS, of="video", informs=True),
            Metric("video.frame_loss_rate", LOSS, of="video", informs=True),
        ],
        measure="call",
        note="Audio: 80 B every 20 ms. Video: 30 frames per second, of which every 150th has 37,500 B and the others "
        "3,750 B, sent frame by frame (draft-huitema-ccwg-c4-test). The delay of a frame ends when its last packet "
        "arrives. The call does not adapt, unlike those of RFC 8867. Solo, it has no losses, so that harm to losses "
        "would always be 1: losses are judged by their ratio.",
    ),
)
