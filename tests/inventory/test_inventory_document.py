"""The YAML reader: everything has its place, nothing is hidden or said twice."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.inventory.document import Entry, Listing, Mapping, Scalar, parse_document, read_document
from fleetops.inventory.problems import DocumentInvalid, Problems, nearest, quote
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit


def parse(text: str | bytes) -> tuple[Entry | None, list[str]]:
    problems = Problems()
    content = text if isinstance(text, bytes) else text.encode()
    entry = parse_document(content, "f.yaml", problems)
    return entry, [str(problem) for problem in problems]


def test_every_entry_knows_its_place_and_path():
    entry, problems = parse("a:\n  b: [x, {c: y}]\n")
    assert problems == []
    assert isinstance(entry, Mapping)
    inner = entry.entries["a"]
    assert isinstance(inner, Mapping)
    listing = inner.entries["b"]
    assert isinstance(listing, Listing)
    second = listing.items[1]
    assert isinstance(second, Mapping)
    leaf = second.entries["c"]
    assert (str(leaf.mark), leaf.path, str(leaf.key_mark)) == ("f.yaml:2:14", "a.b[1].c", "f.yaml:2:11")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key `a` (it stands on line 1 already)"),
        ("a: &x {b: 1}\nc: *x\n", "f.yaml:2:4: alias `*x`: aliases are not used here (write the value out)"),
        ("a: {<<: {b: 1}}", "f.yaml:1:5: merge key `<<`: merging is not used here (write the keys out)"),
        ("a: !x\n", "f.yaml:1:4: tag `!x`: tags are not used here (put text that starts with ! in quotes)"),
        (
            "a: !!python/object:os.system {}\n",
            "f.yaml:1:4: tag `tag:yaml.org,2002:python/object:os.system`: tags",
        ),
        ("? [a]\n: b\n", "f.yaml:1:3: a key must be plain text"),
        ("a: @x\n", "f.yaml:1:4: not valid YAML: while scanning for the next token, found character '@'"),
        ("a:\n\t- b\n", "(indent with spaces, not tabs)"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: not valid YAML: expected a single document in the stream"),
        ("", "f.yaml:1:1: the file is empty"),
        ("# nothing but a comment\n", "f.yaml:1:1: the file is empty"),
        ("a: b\nc: \x01\n", "f.yaml:2:4: character #x01 does not belong in a YAML file"),
        (b"a: b\nc: \xff\n", "f.yaml:2:4: not UTF-8 text (save the file as UTF-8)"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_what_hides_or_repeats_a_value_is_refused_by_name(text, problem):
    _, problems = parse(text)
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize("depth", range(100, 1000, 75))
def test_nesting_is_read_or_refused_at_any_depth(depth):
    entry, problems = parse("[" * depth + "]" * depth)
    assert isinstance(entry, Listing) or "nested too deeply" in problems[0]


def test_an_alias_to_itself_does_not_loop():
    _, problems = parse("a: &x [*x, *x]\n")
    assert len(problems) == 2


def test_all_structural_problems_are_told_at_once():
    _, problems = parse("a: &x 1\na: 2\nb: *x\nc: {<<: *x}\nd: !e f\n")
    assert [problem.split(":")[1] for problem in problems] == ["2", "3", "4", "4", "5"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no", "text"),
        ("on", "text"),
        ("'1'", "text"),
        ("1:30", "text"),
        ("2026-11-29", "text"),
        ("true", "boolean"),
        ("12", "integer"),
        ("0x1f", "integer"),
        ("1.5", "number"),
        ("1e3", "number"),
        (".inf", "number"),
        ("~", "null"),
        ("", "null"),
        ("''", "text"),
    ],
)
def test_scalars_are_typed_as_yaml_1_2_does(text, kind):
    entry, _ = parse(f"a: {text}\n")
    assert isinstance(entry, Mapping)
    scalar = entry.entries["a"]
    assert isinstance(scalar, Scalar)
    assert scalar.type == kind


def test_a_byte_order_mark_is_not_part_of_the_first_key():
    entry, problems = parse(b"\xef\xbb\xbfa: b\n")
    assert (problems, isinstance(entry, Mapping) and list(entry.entries)) == ([], ["a"])


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_no_content_whatever_breaks_the_reader(content):
    text = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    entry, problems = parse(text)
    assert entry is not None or problems


def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path):
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        read_document(tmp_path / "none.yaml", Problems())


def test_problems_are_raised_together_in_the_order_of_the_file():
    problems = Problems()
    entry = parse_document(b"a: 1\nb: 2\n", "f.yaml", problems)
    assert isinstance(entry, Mapping)
    for key in ("b", "a", "b"):
        problems.add(entry.entries[key].mark, f"{key} is wrong")
    with pytest.raises(DocumentInvalid, match="the file has 2 problems; no host was contacted") as caught:
        problems.raise_if_any("the file")
    assert [problem.line for problem in caught.value.problems] == [1, 2]
    assert caught.value.exit_code is Exit.USAGE


def test_a_value_from_a_file_is_shown_on_one_line_with_its_control_characters_spelled_out():
    assert quote("a\x1b[31m\nb\u202e") == r"`a\x1b[31m\nb\u202e`"
    assert len(quote("x" * 1000)) < 70


@pytest.mark.parametrize(("word", "close"), [("hypervsior", "hypervisor"), ("GUEST", "guest"), ("zzz", "")])
def test_the_nearest_key_is_found_whatever_its_case(word, close):
    assert nearest(word, ["hypervisor", "guest", "port"]) == close
