"""Frame sources: their metrics in tables, rows, and output; refusals; and the card's call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Program
from fullpipe import Scenario, run
from fullpipe._util.display import Shown
from fullpipe.errors import ScenarioError
from fullpipe.experiments.evaluate.cell import Call, Metric, Role, Setting
from fullpipe.experiments.evaluate.cells.harm import media
from fullpipe.experiments.evaluate.judging import Runs, judge_cell
from fullpipe.experiments.evaluate.measure import MEASURES
from fullpipe.experiments.evaluate.preset import STANDARDS, Party
from fullpipe.experiments.evaluate.rules import INFORMATION, LESS, LOSS, NO_WORSE, WORSE

WEB = {"algorithm": "reno", "transfers_per_second": 1, "mean_size": "9 kB"}


def scenario(*udp: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """8 Mbit/s, 1 ms for a packet of 1000 B, and 10 ms."""
    link = {"name": "l", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "99 packets"}
    return {"duration": "1 s", "links": [link], "udp": list(udp), **keys}


# 3 packets each tenth of a second, at once: the last is there after 13 ms.
FRAMES = {"rate": "8 Gbit/s", "frames": {"per_second": 10, "size": "3 kB"}}
STEADY = {"rate": "800 kbit/s"}


def test_frames_are_in_the_table_and_in_the_row_of_a_run() -> None:
    # The steady one begins 50 ms later, between the frames.
    result = run(scenario(FRAMES, {**STEADY, "start": "50 ms", "stop": "95 ms"}))
    framed, steady = result.traffic.to_pylist()
    assert (framed["sent_frames"], framed["received_frames"], framed["received_packets"]) == (10, 10, 30)
    assert framed["p95_frame_delay_s"] == pytest.approx(0.013, rel=0.008)
    assert (steady["sent_frames"], steady["received_frames"]) == (0, 0)
    assert result.to_dict()["traffic"][1]["p95_frame_delay_s"] is None
    row = result.figures()
    assert (row["udp.sent_frames"], row["udp.received_frames"]) == (10, 10)
    assert row["udp.p50_frame_delay_s"] == framed["p50_frame_delay_s"]
    (table,) = [one for one in result.shown() if isinstance(one, Shown) and one.title == "Cross traffic"]
    assert table.columns[-3:] == ("Frames sent", "Frames received", "p95 frame delay (ms)")
    assert [list(line[-3:]) for line in table.rows] == [["10", "10", "13.0"], ["-", "-", "-"]]


def test_of_several_groups_the_row_has_the_longest_delay() -> None:
    row = run(scenario(FRAMES, {**FRAMES, "access_delay": "20 ms", "start": "50 ms"})).figures()
    assert row["udp.sent_frames"] == 20
    assert row["udp.p95_frame_delay_s"] == pytest.approx(0.033, rel=0.008)


def test_without_frames_nothing_is_said_of_them() -> None:
    result = run(scenario(STEADY, web=[WEB]))
    assert [name for name in result.traffic.column_names if "frame" in name] == []
    assert [name for name in result.figures() if "frame" in name] == []
    (table,) = [one for one in result.shown() if isinstance(one, Shown) and one.title == "Cross traffic"]
    assert table.columns[-1] == "Mean completion (ms)"
    row = run(scenario(FRAMES, web=[WEB])).figures()
    assert [name for name in row if "frame" in name and not name.startswith("udp.")] == []
    assert row["udp.sent_frames"] == 10


def test_frames_survive_being_saved(tmp_path: Path) -> None:
    frames = {"per_second": 12.5, "size": "3 kB", "key_size": "9 kB", "key_every": 5}
    result = run(scenario({**FRAMES, "frames": frames}))
    result.save(tmp_path / "kept")
    kept = type(result).load(tmp_path / "kept")
    assert kept.to_dict()["traffic"] == result.to_dict()["traffic"]
    assert kept.scenario.to_dict()["udp"][0]["frames"] == frames


def test_bad_frames_are_refused_in_a_line(program: Program, tmp_path: Path) -> None:
    text = Scenario.from_dict(scenario(FRAMES)).to_toml().replace("8 Gbit/s", "239 kbit/s")
    (tmp_path / "call.toml").write_text(text)
    done = program("run", "call.toml")
    assert done.returncode == 2
    assert "call.toml" in done.stderr
    assert "udp[0].frames: must take at most rate" in done.stderr
    assert done.stderr.count("\n") == 1
    (tmp_path / "call.toml").write_text(text.replace("239 kbit/s", "240 kbit/s"))
    told = json.loads(program("run", "call.toml", "--json").stdout)
    assert told["traffic"][0]["sent_frames"] == 10


def test_a_virtual_machine_has_no_frames() -> None:
    tree = scenario(FRAMES, flows=[{"algorithm": "cubic"}])
    with pytest.raises(ScenarioError, match=r"^udp: conflicts with the Linux engine, which runs TCP flows only"):
        run(tree, engine="linux")


def test_a_call_alone_is_as_fast_as_its_link() -> None:
    """Video of three packets of 1250 B takes 3 ms at 10 Mbit/s, behind 18.8 ms and 0.8 to 1.6 on the way there; audio
    64 us, and the rest of a video frame if there is one.
    """
    row = MEASURES["call"](run({**media(None), "seed": 1}))
    video_s, audio_s = row["video.p95_frame_delay_s"], row["audio.p95_frame_delay_s"]
    assert video_s is not None
    assert audio_s is not None
    assert 0.0226 * 0.99 < video_s < 0.0234 * 1.01
    assert 0.0196 * 0.99 < audio_s < 0.0234 * 1.01
    assert (row["udp.loss_rate"], row["video.frame_loss_rate"]) == (0.0, 0.0)


def test_a_call_sends_what_the_draft_says() -> None:
    # From 20 to 120 s: 5000 packets of audio, and 3000 frames, 20 of 30 packets and the others of 3.
    audio, video = run({**media(STANDARDS[1]), "seed": 1}).to_dict()["traffic"]
    assert audio["sent_packets"] == pytest.approx(5000, abs=1)
    assert video["sent_frames"] == pytest.approx(3000, abs=1)
    assert video["sent_packets"] == pytest.approx(20 * 30 + 2980 * 3, abs=30)
    row = MEASURES["call"](run({**media(STANDARDS[1]), "seed": 1}))
    assert row["video.frame_loss_rate"] == pytest.approx(1 - video["received_frames"] / video["sent_frames"])
    assert row["audio.p95_frame_delay_s"] == audio["p95_frame_delay_s"]
    assert row["video.p95_frame_delay_s"] == video["p95_frame_delay_s"]


def test_a_calls_delay_is_judged_by_harm_and_its_loss_by_ratio() -> None:
    # Solo 20 ms; versus NewReno and CUBIC 40 (harm 0.5), versus the candidate 50 (0.6): 0.1 beyond. Losses of 1.2 %
    # versus 1 % are within a factor of 1.3. Their harm, relative to no loss solo, would be 1 for all.
    metrics = [
        Metric("p95_frame_delay_s", LESS),
        Metric("loss_rate", LOSS),
        Metric("p95_frame_delay_s", LESS, informs=True),
    ]
    setting = Setting("here", lambda _call, _other: {})
    cell = Call("c", ("5.2.2",), "t", [setting], metrics)
    runs = Runs()
    roles = {"alone": (0.02, 0.0), "candidate": (0.05, 0.012), "newreno": (0.04, 0.01), "cubic": (0.04, 0.01)}
    for who, (delay_s, loss) in roles.items():
        for seed in (1, 2):
            role = Role("" if who == "alone" else who, "call")
            runs.add("c", "here", role, seed, {"p95_frame_delay_s": delay_s, "loss_rate": loss})
    harm, loss, delay = judge_cell(cell, [setting], runs).compared
    assert (harm.title, harm.verdict, harm.main) == ("p95 frame delay harm", WORSE, True)
    assert harm.candidate == pytest.approx([0.6, 0.6])
    assert harm.standards["cubic"] == pytest.approx([0.5, 0.5])
    assert (loss.verdict, loss.candidate, loss.main) == (NO_WORSE, pytest.approx([1.2, 1.2]), False)
    assert (delay.verdict, delay.candidate) == (INFORMATION, pytest.approx([50, 50]))


def test_the_call_is_the_only_victim_of_its_cell() -> None:
    cell = Call("c", ("5.2.2",), "t")
    setting = Setting("here", lambda _call, other: {"beside": other.label if other else "nobody"})
    for deployed in (False, True):
        roles = cell.roles(setting, Party("mine", "reno"), deployed)
        assert {role: tree["beside"] for role, tree in roles.items()} == {
            Role("", "call"): "nobody",
            Role("candidate", "call"): "mine",
            Role("newreno", "call"): "newreno",
            Role("cubic", "call"): "cubic",
        }
