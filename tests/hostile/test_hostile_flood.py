"""A host that says too much, or never stops: what is kept is bounded, deadlines hold, the operator is told."""

import json

import pytest
from hostile_examples import TIMES
from hostile_server import says, talks_for_ever
from hostile_terminal import piped

KEPT_MIB = 8
FLOOD_MIB = 100 if TIMES > 1 else 24
FLOOD_S = "600" if TIMES > 1 else "120"
BASE_MIB = 80
"""What the program takes with its libraries, and a little room."""


def assert_bounded(measured, times: int) -> None:
    assert 0 < measured.most_mib < BASE_MIB + times * KEPT_MIB, measured.most_mib


@pytest.mark.parametrize(
    ("byte", "times"), [(b"x" * 63 + b"\n", 12), (bytes(range(256)), 30)], ids=["text", "binary"]
)
def test_a_flood_is_kept_to_its_limit(against, byte, times):
    fleetops = against(says(byte * (FLOOD_MIB * 2**20 // len(byte))))
    measured = piped(fleetops, "run", "--timeout", FLOOD_S, "node-1", "--", "cat", "x")
    assert measured.status == 0
    assert f"only the first {KEPT_MIB * 2**20:,} bytes kept" in measured.written
    assert_bounded(measured, times)


def test_a_flood_in_json_is_kept_to_its_limit(against):
    fleetops = against(says(bytes(range(256)) * (FLOOD_MIB * 2**20 // 256)))
    measured = piped(fleetops, "run", "--json", "--timeout", FLOOD_S, "node-1", "--", "cat", "x")
    [answer] = json.loads(measured.written)["answers"]
    assert answer["truncated"]
    assert_bounded(measured, 60)


@pytest.mark.parametrize("stderr", [False, True], ids=["stdout", "stderr"])
def test_a_host_that_talks_for_ever_is_left_after_its_deadline(against, stderr):
    fleetops = against(talks_for_ever(b"y\n" * 4096, stderr=stderr))
    measured = piped(fleetops, "run", "--timeout", "1", "node-1", "--", "yes")
    assert measured.status == 3
    assert measured.took_s < 1 + 2 + 3 + 6
    assert_bounded(measured, 20)


def test_a_host_that_talks_without_beginning_is_left_soon(against):
    measured = piped(against(talks_for_ever(b"motd " * 1000, begins=False)), "run", "node-1", "--", "true")
    assert measured.status == 3
    assert "no sign of life" in measured.written
    assert measured.took_s < 10 + 6
    assert_bounded(measured, 4)


@pytest.mark.parametrize("size", [1, 100])
def test_half_a_line_and_half_a_character_are_shown_as_they_came(against, size):
    text = "é".encode()[:1] * size
    measured = piped(against(says(b"whole\nhalf" + text)), "run", "node-1", "--", "true")
    assert measured.status == 0
    assert "half" + "\\xc3" * size in measured.written
