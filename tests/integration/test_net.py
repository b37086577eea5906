"""Links of the simulator for whole protocol stacks, called from C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = r"""
#include "fullpipe_net.h"
#include <stdio.h>

int main(int count, char **arguments)
{
	char error[200] = "";
	struct fullpipe_net *net = fullpipe_net_create(arguments[count - 1], error, sizeof error);
	struct fullpipe_delivered packet;
	uint64_t now;
	int direction;

	if (!net)
		return puts(error), 1;
	direction = fullpipe_net_find(net, "l", 0);
	for (int tag = 1; tag <= 3; tag++)
		fullpipe_net_send(net, 0, direction, 1000, 0, tag);
	while ((now = fullpipe_net_next_event(net)) != UINT64_MAX)
		while (fullpipe_net_deliver(net, now, &packet) == 1)
			printf("%d ms: %d\n", (int)(packet.at / 1000000), (int)packet.tag);
	printf("lost %d\n", (int)fullpipe_net_lost(net, direction));
	printf("too late %d\n", fullpipe_net_send(net, 1, direction, 1000, 0, 1));
	fullpipe_net_destroy(net);
	return 0;
}
"""

SCENARIO = """
duration = "10 s"
links = [{ name = "l", rate = "8 Mbit/s", delay = "10 ms", buffer = "2 packets" }]
udp = [{ rate = "1 Mbit/s" }]
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_packets_cross_a_link_in_c(tmp_path: Path, debug_build: Path) -> None:
    source, program = tmp_path / "net.c", tmp_path / "net"
    source.write_text(SOURCE)
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'crates/net/include'}"]
    library = debug_build / "libfullpipe_net.a"
    subprocess.run(["cc", *flags, "-o", program, source, library, "-lm", "-lpthread", "-ldl"], check=True)
    done = subprocess.run([program, SCENARIO], capture_output=True, text=True, check=True)
    # 1000 bytes take 1 ms, and 10 ms on the wire. The third packet finds the buffer full.
    assert done.stdout == "11 ms: 1\n12 ms: 2\nlost 1\ntoo late -1\n"
    wrong = subprocess.run([program, "duration = 3"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert "duration" in wrong.stdout
