"""LEDBAT++ over a network: its slowdowns, and how fast flows come to equal shares."""

from __future__ import annotations

from itertools import pairwise

import pytest

import fullpipe

ALGORITHM = "ledbat++"

STARTS_S = (0.1, 10, 20, 30)


def of_ns3(starts_s: tuple[float, ...], warmup_s: float, end_s: float, interval: str = "off") -> fullpipe.Scenario:
    """Network of the LEDBAT++ tests that NITK Surathkal wrote for ns-3 (2026): 20 Mbit/s, 20 ms, 1,000 packets."""
    return fullpipe.Scenario.from_dict(
        {
            "duration": f"{end_s} s",
            "warmup": f"{warmup_s} s",
            "packet_size": 1500,
            "series_interval": interval,
            "links": [{"name": "l", "rate": "20 Mbit/s", "delay": "10 ms", "buffer": "1000 packets"}],
            "flows": [
                {"name": f"{i}", "algorithm": ALGORITHM, "start": f"{s} s", "processing_time": "0.6 ms", "ack_every": 2}
                for i, s in enumerate(starts_s)
            ],
        }
    )


def test_slowdowns_come_when_ns3_has_them() -> None:
    """A lone flow: about 10.4, 20.2, and 30.0 s in ns-3, where slow start after a slowdown grows by GAIN, too."""
    series = fullpipe.run(of_ns3((0.1,), 5, 35, "10 ms")).series.to_pydict()
    low_s = [at for at, window in zip(series["t_s"], series["cwnd_packets"], strict=True) if window <= 2 and at > 5]
    begins_s = [low_s[0], *(now for before, now in pairwise(low_s) if now - before > 1)]
    assert begins_s == [pytest.approx(at_s, abs=0.6) for at_s in (10.4, 20.2, 30.0)]


def test_flows_that_come_one_after_another_share_as_in_ns3() -> None:
    """The bounds of ns-3's test from 70 to 99 s: Jain's index above 0.85, and each flow above 0.08 of the goodput."""
    shares = [group["share"] for group in fullpipe.run(of_ns3(STARTS_S, 70, 99)).groups.to_pylist()]
    assert min(shares) > 0.08
    assert 1 / (4 * sum(share**2 for share in shares)) > 0.85


def first_share(rate_mbps: int, from_s: float, to_s: float) -> float:
    """Share of the first of two flows with equal paths in an interval after the start of the second one, at 30 s."""
    common = {"algorithm": ALGORITHM, "processing_time": f"{12 / rate_mbps} ms"}
    tree = {
        "duration": f"{30 + to_s} s",
        "warmup": f"{30 + from_s} s",
        "packet_size": 1500,
        "series_interval": "off",
        "links": [{"name": "l", "rate": f"{rate_mbps} Mbit/s", "delay": "22 ms", "buffer": "4 BDP"}],
        "flows": [
            {"name": "first", "start": "0 ms..100 ms", **common},
            {"name": "second", "start": "30 s..30.1 s", **common},
        ],
    }
    return float(fullpipe.run(tree).groups.to_pylist()[0]["share"])


def test_two_flows_take_the_time_of_their_windows_to_share() -> None:
    """Additive increase by GAIN and a decrease in proportion to W bring windows together by a factor e in W/GAIN round
    trips. With 104 ms and GAIN = 1/3, that is 14 s at 10 Mbit/s (W = 43), and 68 s at 50 Mbit/s (W = 217): from 15 to
    45 s the slow pair is nearly equal, and the fast one is not until minutes later.
    """
    assert first_share(10, 15, 45) > 0.4
    assert first_share(50, 15, 45) < 0.3
    assert first_share(50, 70, 100) == pytest.approx(0.38, abs=0.05)
    assert first_share(50, 400, 700) == pytest.approx(0.5, abs=0.03)
