"""Programs in this machine's kernel, with a kernel and bpftool that are played here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullpipe.linux import host
from fullpipe.linux.errors import LinuxError


@pytest.mark.parametrize("fails", ["register", "name"])
def test_load_that_fails_leaves_no_registration(monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    registered = {7: "theirs"}

    def bpftool(_program: str, *arguments: str) -> str:
        if "list" in arguments:
            return json.dumps([{"id": number, "name": name} for number, name in registered.items()])
        if "register" in arguments:
            registered.update({8: "adaptive_aimd", 9: "other"})
            if fails == "register":
                raise LinuxError("the kernel rejects the program (register struct_ops): invalid")
        if "unregister" in arguments:
            del registered[int(arguments[-1])]
        return ""

    monkeypatch.setattr(host, "_able", lambda: "bpftool")
    monkeypatch.setattr(host, "_bpftool", bpftool)
    monkeypatch.setattr(host, "available", lambda: ["cubic"])
    program = type("Program", (), {"kernel_name": "adaptive_aimd"})
    monkeypatch.setattr(host, "_compiled", lambda *_: (program, b"object"))
    with pytest.raises(LinuxError, match="rejects" if fails == "register" else "does not list adaptive_aimd"):
        host.load("adaptive-aimd")
    assert registered == {7: "theirs"}


def test_path_of_a_mount_may_have_spaces() -> None:
    # proc(5): a space is \\040, a tab \\011, a line break \\012, a backslash \\134.
    assert host._unescaped(r"/run/my\040name\011\134x") == Path("/run/my name\t\\x")
