"""Streams are cut at their markers however the network cuts them, and cost what they measure."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetops.ssh.streams import Sections, Text

NONCE = "0123456789abcdef" * 2
MARK = NONCE.encode() + b":"


def chunks(data, cuts):
    edges = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def near_marker():
    """Content that looks like the beginning of a marker."""
    return st.binary(max_size=30) | st.integers(0, len(MARK) - 1).map(lambda size: MARK[:size])


@settings(deadline=None)
@given(
    noise=near_marker(),
    parts=st.lists(st.tuples(near_marker(), st.integers(0, 255)), max_size=5),
    cuts=st.lists(st.integers(0, 400), max_size=30),
)
def test_parts_are_found_whatever_the_chunks(noise, parts, cuts):
    data = noise + MARK + b"\n" + b"".join(content + MARK + b"%d\n" % status for content, status in parts)
    sections = Sections(NONCE, [1000] * len(parts), closed=True)
    for chunk in chunks(data, cuts):
        sections.feed(chunk)
    sections.finish()
    assert sections.complete
    assert sections.preamble == noise
    assert [sections.part(n).content for n in range(len(parts))] == [content for content, _ in parts]
    assert sections.statuses == ["", *(str(status) for _, status in parts)]


def test_a_single_part_runs_to_the_end_and_may_hold_anything():
    sections = Sections(NONCE, [1000], closed=False)
    for chunk in (b"noise" + MARK, b"\n", b"a" + MARK + b"7\n", MARK):
        sections.feed(chunk)
    sections.finish()
    assert sections.part(0).content == b"a" + MARK + b"7\n" + MARK


def test_what_never_became_a_marker_is_content():
    sections = Sections(NONCE, [1000], closed=True)
    sections.feed(MARK + b"\nhalf" + MARK[:20])
    sections.finish()
    assert sections.part(0).content == b"half" + MARK[:20]
    assert not sections.complete


def test_what_is_kept_is_limited_and_the_rest_is_only_counted():
    sections = Sections(NONCE, [10, 10], closed=True)
    sections.feed(MARK + b"\n" + b"x" * 10 + MARK + b"0\n" + b"y" * 11 + MARK + b"0\n")
    first, second = sections.part(0), sections.part(1)
    assert (first.content, first.truncated) == (b"x" * 10, False)
    assert (second.content, second.truncated) == (b"y" * 10, True)


def test_the_bytes_held_back_never_grow_with_the_stream():
    sections = Sections(NONCE, [0], closed=True)
    sections.feed(MARK + b"\n")
    for _ in range(2000):
        sections.feed(b"0123456789abcdef" * 10)
        assert len(sections._tail) < len(MARK)


def test_each_byte_is_looked_at_once():
    """Linear: what is scanned, tails included, stays in proportion to what came."""
    scanned = []

    class Counted(Sections):
        def _take(self, data):
            scanned.append(len(data))
            super()._take(data)

    sections = Counted(NONCE, [1 << 20], closed=True)
    sections.feed(MARK + b"\n")
    for _ in range(1000):
        sections.feed(b"z" * 1000)
    assert sum(scanned) <= 1_000_000


def test_text_waits_for_the_other_half_of_a_character():
    heard = []
    text = Text(heard.append)
    for data in (b"a\xe2\x82", b"\xac", b"\xff."):
        text(data)
    assert heard == ["a", "€", "\udcff."]
