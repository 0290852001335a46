"""Segments are looked at once more before they go: one that is mapped, open or owned by a living process stays."""

import mmap
import os
import subprocess
import uuid
from pathlib import Path

import pytest
from local_session import LocalSession
from unheard import unheard

from fleetops.model.machine import Segment
from fleetops.steps.clear_leftovers import _action


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def segment(dead_pid: int):
    path = Path(f"/dev/shm/fleetops-test-{uuid.uuid4().hex}")
    path.write_bytes(b"x" * 4096)
    yield Segment(name=str(path), kind="posix", size_bytes=4096, creator_pid=dead_pid)
    path.unlink(missing_ok=True)


def remove(*segments: Segment) -> str:
    return LocalSession().run(_action("node-174", segments).command).stdout


def test_a_segment_of_a_dead_owner_that_nobody_uses_is_removed(segment: Segment):
    assert remove(segment) == f"{segment.name} removed\n"
    assert not Path(segment.name).exists()


def test_all_are_removed_where_nobody_hears_of_it(segment: Segment, dead_pid: int):
    gone = Segment(name=f"{segment.name}-gone", kind="posix", size_bytes=4096, creator_pid=dead_pid)
    unheard(_action("node-174", (gone, segment)).command.argv)
    assert not Path(segment.name).exists()


def test_a_mapped_segment_is_kept(segment: Segment):
    with Path(segment.name).open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    assert "kept: mapped" in remove(segment)
    mapped.close()


def test_an_open_segment_is_kept(segment: Segment):
    file = os.open(segment.name, os.O_RDONLY)
    assert "kept: open" in remove(segment)
    os.close(file)


def test_a_living_creator_keeps_its_segment(segment: Segment):
    alive = Segment(name=segment.name, kind="posix", size_bytes=4096, creator_pid=os.getpid())
    assert f"kept: process {os.getpid()} lives" in remove(alive)


def test_nothing_outside_shared_memory_is_ever_removed(tmp_path: Path):
    file = tmp_path / "precious"
    file.touch()
    foreign = Segment(name=str(file), kind="posix", size_bytes=1, creator_pid=None)
    assert "kept: not in /dev/shm" in remove(foreign)
    assert file.exists()


def test_one_that_vanished_meanwhile_is_not_an_error(segment: Segment):
    Path(segment.name).unlink()
    assert remove(segment) == f"{segment.name} gone\n"
