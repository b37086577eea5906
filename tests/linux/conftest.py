"""Fixtures of the Linux tests."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fullpipe.linux import host, programs

Claim = Callable[[str], None]


@pytest.fixture
def claim() -> Iterator[Claim]:
    """Call it with an algorithm, or an object file's path, that a test loads into this machine's kernel. Only one test
    at a time may do so, in any process. Algorithms that others have loaded stay; those left by the test are removed.
    Dead registrations do not matter.
    """
    claimed: list[str] = []

    def here(algorithm: str) -> bool:
        ours = programs.OURS.get(algorithm)
        program = programs.own(Path(algorithm).read_bytes()) if ours is None else ours
        return program.kernel_name in host.available()

    with (Path(tempfile.gettempdir()) / "fullpipe-tests-of-this-kernel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def take(algorithm: str) -> None:
            if here(algorithm):
                pytest.skip(f"{algorithm} is in use on this machine")
            claimed.append(algorithm)

        yield take
        for algorithm in claimed:
            if here(algorithm):
                host.unload(algorithm)
