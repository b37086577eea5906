"""One-way delays that irtt has measured, for ``delay_trace``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fullpipe.errors import InputError

__all__ = ["irtt_delays"]

NANOSECONDS = 1e9
DIRECTIONS = ("send", "receive")


def irtt_delays(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Keys of a link with the delays of a measurement by irtt (``irtt client -o FILE.json``).

    The delay of the link is that from client to server, in reverse that from server to client. Round trips that were
    lost are left out. Time 0 is the first round trip. The clocks of both hosts have to agree, as irtt's own one-way
    delays require.

    Args:
        file: File in irtt's JSON format.

    Raises:
        InputError: The file is not of this format, or has a delay below 0.

    Example:
        ``Scenario(links=[{"name": "leo", "rate": "100 Mbit/s", "buffer": "1 BDP", **irtt_delays("leo.json")}], ...)``
    """
    name = os.fspath(file)
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        trips = [trip for trip in content["round_trips"] if str(trip["lost"]) in ("false", "False")]
        sent = [trip["timestamps"]["client"]["send"]["wall"] for trip in trips]
        rows = {way: [trip["delay"][way] / NANOSECONDS for trip in trips] for way in DIRECTIONS}
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{name} is not a file of irtt's JSON format ({error})") from None
    if not trips:
        raise InputError(f"{name}: round_trips must have at least one that was not lost")
    least = min(min(delays) for delays in rows.values())
    if least < 0:
        raise InputError(f"{name}: delays must be at least 0 s, got {least:g} s; the clocks of the two hosts differ")
    times = [(at - sent[0]) / NANOSECONDS for at in sent]
    there, back = ([list(row) for row in zip(times, rows[way], strict=True)] for way in DIRECTIONS)
    return {"delay_trace": there, "reverse": {"delay_trace": back}}
