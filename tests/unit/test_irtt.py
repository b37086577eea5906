"""Delays from irtt's JSON, written by hand in its format."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from fullpipe.scenario import irtt_delays

MS = 1_000_000
PAGE = Path(__file__).parents[2] / "docs/reference/scenarios.md"


def trip(at_ms: int, send_ms: float, receive_ms: float, lost: str = "false") -> dict[str, Any]:
    delay = {"send": round(send_ms * MS), "receive": round(receive_ms * MS), "rtt": round((send_ms + receive_ms) * MS)}
    stamps = {"client": {"send": {"wall": 1_700_000_000_000_000_000 + at_ms * MS, "monotonic": at_ms * MS}}}
    return {"seqno": at_ms, "lost": lost, "timestamps": stamps, "delay": {} if lost != "false" else delay}


def written(folder: Path, *trips: dict[str, Any]) -> Path:
    file = folder / "irtt.json"
    file.write_text(json.dumps({"version": {}, "round_trips": list(trips)}), encoding="utf-8")
    return file


def test_each_direction_has_its_own_delays(tmp_path: Path) -> None:
    """The trip at 1 s is lost. Over the link, the RTT of a single packet at 0 s is 20 + 30 ms and its transmissions."""
    file = written(tmp_path, trip(0, 20, 30), trip(1000, 0, 0, "true_up"), trip(2000, 40, 10))
    keys = irtt_delays(file)
    assert keys == {"delay_trace": [[0, 0.02], [2, 0.04]], "reverse": {"delay_trace": [[0, 0.03], [2, 0.01]]}}
    link = {"name": "l", "rate": "1 Gbit/s", "buffer": "9 packets", **keys, "delay_interpolation": "hold"}
    link["reverse"] = {**link["reverse"], "delay_interpolation": "hold"}
    flow = {"algorithm": "reno", "size": "1 packet"}
    result = fullpipe.run(fullpipe.Scenario.from_dict({"duration": "1 s", "links": [link], "flows": [flow]}))
    assert result.flows.to_pylist()[0]["mean_rtt_s"] == pytest.approx(0.05, abs=1e-5)


def test_the_commands_of_the_page_write_traces(tmp_path: Path) -> None:
    """Of the trips at 0 and 2 s, in each direction; TOML reads them."""
    written(tmp_path, trip(0, 20, 30), trip(2000, 40, 10))
    commands = re.findall(r"^ *python -c '(.*)' > (\w+\.csv)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for code, file in commands:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        (tmp_path / file).write_text(done.stdout, encoding="utf-8")
    assert [file for _, file in commands] == ["there.csv", "back.csv"]
    assert (tmp_path / "there.csv").read_text().split() == ["time_s,delay_s", "0.0,0.02", "2.0,0.04"]
    assert (tmp_path / "back.csv").read_text().split() == ["time_s,delay_s", "0.0,0.03", "2.0,0.01"]
    link = 'name = "l", rate = "1 Mbit/s", buffer = "9 packets", delay_trace = "there.csv"'
    link += ', reverse = { delay_trace = "back.csv" }'
    (tmp_path / "irtt.toml").write_text(f'duration = "1 s"\nlinks = [{{ {link} }}]\nflows = [{{ algorithm = "reno" }}]')
    assert fullpipe.run(fullpipe.Scenario.load(tmp_path / "irtt.toml")).flows.num_rows == 1


@pytest.mark.parametrize(
    ("trips", "said"),
    [
        ([], "at least one that was not lost"),
        ([trip(0, -1, 2)], "clocks of the two hosts differ"),
        ([{"seqno": 0}], "is not a file of irtt's JSON format"),
    ],
)
def test_other_files_are_refused(trips: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(fullpipe.InputError, match=said):
        irtt_delays(written(tmp_path, *trips))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fullpipe.InputError, match="No such file"):
        irtt_delays(tmp_path / "none.json")
