"""eBPF object files whose claims are far larger than the file: one line, exit status 2, and little memory."""

from __future__ import annotations

import struct
from pathlib import Path

from conftest import ROOT, SMALL
from hostile import ending

OBJECT = (ROOT / "crates/kernel/tests/objects/aimd.bpf.o").read_bytes()

SECTION = struct.Struct("<IIQQQQIIQQ")
"""Section header of ELF64: name, type, flags, address, offset, size, link, info, alignment, entry size (System V)."""

NO_BITS = 8
"""Type SHT_NOBITS: the section has a size and no bytes in the file."""

PROGRAM_BITS = 1
"""Type SHT_PROGBITS."""


def table(file: bytes) -> tuple[int, int]:
    """Offset and length of the section headers: `e_shoff` and `e_shnum` of the file's header."""
    return struct.unpack_from("<Q", file, 40)[0], struct.unpack_from("<H", file, 60)[0]


def with_sections_over_the_same_bytes(count: int, size: int) -> bytes:
    """The object with `count` more sections, each of which covers one part of the file."""
    begin, sections = table(OBJECT)
    headers = OBJECT[begin : begin + sections * SECTION.size]
    file = bytearray(OBJECT) + bytes(-len(OBJECT) % 8)
    filler = len(file)
    file += bytes(size)
    more = SECTION.pack(0, PROGRAM_BITS, 0, 0, filler, size, 0, 0, 1, 0) * count
    struct.pack_into("<Q", file, 40, len(file))
    struct.pack_into("<H", file, 60, sections + count)
    return bytes(file) + headers + more


def with_data_of(size: int) -> bytes:
    """The object with a section of data that claims another size, and takes none in the file."""
    begin, sections = table(OBJECT)
    names = SECTION.unpack_from(OBJECT, begin + struct.unpack_from("<H", OBJECT, 62)[0] * SECTION.size)[4]
    file = bytearray(OBJECT)
    for place in range(begin, begin + sections * SECTION.size, SECTION.size):
        name, _, *middle = SECTION.unpack_from(OBJECT, place)
        text = OBJECT[names + name : OBJECT.index(b"\0", names + name)]
        if text in (b".rodata", b".data"):
            middle[3] = size
            SECTION.pack_into(file, place, name, NO_BITS, *middle)
    assert file != OBJECT
    return bytes(file)


def scenario(folder: Path, content: bytes, count: int) -> None:
    (folder / "own.bpf.o").write_bytes(content)
    text = SMALL.replace('algorithm = "newreno"', 'algorithm = { object = "own.bpf.o" }')
    (folder / "own.toml").write_text(text.replace("count = 2", f"count = {count}"))


def test_sections_over_the_same_bytes_are_limited_together(tmp_path: Path) -> None:
    # 4,000 sections of a megabyte: 4 GB, in a file of 1.3 MB.
    content = with_sections_over_the_same_bytes(4000, 1_000_000)
    assert len(content) < 1_300_000
    scenario(tmp_path, content, 2)
    end = ending(["run", "own.toml"], tmp_path)
    (line,) = end.lines
    assert (end.status, end.output) == (2, b"")
    assert line.startswith("fullpipe: own.toml:11: flows[0].algorithm.object: own.bpf.o: "), line
    assert "must have at most 16 MiB" in line
    assert end.peak_bytes < 200_000_000


def test_state_of_each_connection_counts_against_the_memory_limit(tmp_path: Path) -> None:
    # 200 connections with 15 MB of data each: 3 GB, from a file of some 8 kB.
    content = with_data_of(15_000_000)
    assert len(content) < 10_000
    scenario(tmp_path, content, 200)
    end = ending(["run", "own.toml", "--memory", "100 MB"], tmp_path)
    (line,) = end.lines
    assert (end.status, end.output) == (2, b"")
    assert line.startswith("fullpipe: own.toml: flows[0].count: requires at least "), line
    assert "may hold 100.0 MB" in line
    assert end.peak_bytes < 200_000_000


def test_the_object_itself_is_within_the_limits(tmp_path: Path) -> None:
    """The tests above change a file that runs."""
    for content in (OBJECT, with_sections_over_the_same_bytes(4, 1000)):
        scenario(tmp_path, content, 2)
        end = ending(["run", "own.toml", "--json"], tmp_path)
        assert (end.status, end.lines) == (0, [])
