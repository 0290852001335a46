"""Broken recordings: a value or a gap, never another exception, and what was cut short never looks whole."""

import json
import re

import pytest
from hostile_examples import examples
from hostile_text import ESCAPES, SPITEFUL, broken
from hypothesis import given
from hypothesis import strategies as st
from recorded_case import as_json, load_cases

from fleetops.model.command import Outcome
from fleetops.model.fact import Missing
from fleetops.model.gpu import Gpus

RECORDED = [case for case in load_cases() if case.outcome.stdout]
HEALTHY = [case for case in RECORDED if case.name.startswith("healthy-")]
BY_NAME = {"argvalues": RECORDED, "ids": [f"{case.fact}/{case.name}" for case in RECORDED]}

_NUMBER = re.compile(r"\d+")
NUMBERS = (
    "0",
    "-1",
    "9" * 25,
    "9" * 5000,
    "1e400",
    "0x7f",
    "²",
    "٣",
    "NaN",
    "",
    " ",
    "1.5",
    "1,024",
    *ESCAPES[:2],
)
DEEP = ("[" * 100_000, '{"a":' * 100_000, "<a>" * 20_000, "(" * 100_000)


def read(case, stdout, stderr="", status=None):
    """What the fact's reader says; any exception of its own is this test's failure."""
    reading = case.built.read(
        Outcome(status=case.outcome.status if status is None else status, stdout=stdout, stderr=stderr)
    )
    if isinstance(reading, Missing):
        assert reading.why
    else:
        json.dumps(as_json(reading) if not isinstance(reading, Gpus) else reading.driver_version)
    return reading


@st.composite
def number_replaced(draw, case):
    text = case.outcome.stdout
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    place = draw(st.sampled_from(found))
    return text[: place.start()] + draw(st.sampled_from(NUMBERS)) + text[place.end() :]


@st.composite
def lines_moved(draw, case):
    lines = case.outcome.stdout.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        at, to = (draw(st.integers(0, len(lines))) for _ in range(2))
        lines[to:to] = lines[at : at + draw(st.integers(0, 3))]
        del lines[at : at + draw(st.integers(0, 2))]
    return "".join(lines)


@given(data=st.data())
@examples(400)
def test_a_recording_with_another_number_is_read_or_refused(data):
    case = data.draw(st.sampled_from(RECORDED))
    read(case, data.draw(number_replaced(case)))


@given(data=st.data())
@examples(250)
def test_a_recording_whose_lines_are_moved_is_read_or_refused(data):
    case = data.draw(st.sampled_from(RECORDED))
    read(case, data.draw(lines_moved(case)))


@given(data=st.data())
@examples(250)
def test_a_recording_broken_by_spite_is_read_or_refused(data):
    case = data.draw(st.sampled_from(RECORDED))
    text = data.draw(broken((case.outcome.stdout,)))
    read(case, text, data.draw(st.sampled_from(SPITEFUL)), data.draw(st.sampled_from([0, 1, 127, 255, 137])))


@pytest.mark.parametrize("case", **BY_NAME)
@pytest.mark.parametrize("deep", DEEP, ids=["list", "object", "xml", "parentheses"])
def test_what_is_nested_without_end_is_read_or_refused(case, deep):
    text = case.outcome.stdout
    brackets = [at for at in (text.find("["), text.find("{"), text.find("<gpu "), text.find("(")) if at >= 0]
    for at in {0, *brackets}:
        read(case, text[:at] + deep + text[at:])


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: f"{case.fact}/{case.name}")
@pytest.mark.parametrize("status", [0, 137])
def test_a_healthy_recording_that_breaks_off_is_never_whole(case, status):
    """Within a line, or anywhere by a signal: the same value (only blanks were lost), a gap, or problems that are told."""
    text, whole = case.outcome.stdout, read(case, case.outcome.stdout)
    step = max(1, len(text) // 400)
    for at in range(0, len(text), step):
        if status == 0 and text[at - 1 : at] in {"", "\n"}:
            continue
        reading = read(case, text[:at], status=status)
        told = isinstance(reading, Missing) or (isinstance(reading, Gpus) and reading.problems)
        assert told or reading == whole, (at, text[max(0, at - 60) : at], reading)
