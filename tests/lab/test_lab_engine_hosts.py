"""The stand-in in a lab's hosts: it takes the engine's place for the engine's own command lines, and only there."""

from collections.abc import Iterator

import pytest

from fleetops.lab.api import Lab
from fleetops.lab.breakages.base import LOG, BrokenNode, launchers, ranks_of

pytestmark = pytest.mark.lab


@pytest.fixture
def idle(lab: Lab) -> Iterator[BrokenNode]:
    node = BrokenNode(lab.folder, "node-190")
    yield node
    node.clear()


def test_sglang_serve_starts_it_too(idle: BrokenNode) -> None:
    command = "SGLANG_LAB_PACE=0.2 setsid sglang serve --model-path /models/small --tp 2"
    idle.run("sh", "-c", f"{command} > {LOG} 2>&1 < /dev/null &")
    idle.await_ready()
    (launcher,) = launchers(idle.look())
    words = idle.run("cat", f"/proc/{launcher.pid}/cmdline").split("\0")
    assert words[1:4] == ["/opt/fleetops-lab/bin/sglang", "serve", "--model-path"]
    assert len(ranks_of(idle.look())) == 2


def test_every_other_python_program_is_left_alone(idle: BrokenNode) -> None:
    asked = (
        "import sys; print([each.__class__.__name__ for each in sys.meta_path], 'fleetops' in sys.modules)"
    )
    assert idle.run("python3", "-c", asked).split("]")[1].strip() == "False"
    assert "_Redirect" not in idle.run("python3", "-c", asked)


def test_the_source_on_the_node_is_where_an_editable_installation_has_it(idle: BrokenNode) -> None:
    found = idle.run("grep", "-rn", "--include=*.py", "host_size \\* 1e9", "/root/sglang/python/sglang/srt")
    assert "mem_cache/memory_pool_host.py" in found
    assert "Version: 0.5.9" in idle.run("cat", "/root/sglang/python/sglang-0.5.9.dist-info/METADATA")
