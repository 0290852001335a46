"""Whatever an inventory or a playbook holds, it is read, or refused with every problem at its place; never more."""

import tempfile
from pathlib import Path

import pytest
import yaml
from hostile_examples import examples
from hostile_text import RAW, SPITEFUL, broken, word_replaced
from hypothesis import given
from hypothesis import strategies as st

from fleetops.inventory import definitions as keys
from fleetops.inventory.load import load_inventory
from fleetops.inventory.problems import DocumentInvalid
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.exit import Exit
from fleetops.playbook.load import load_playbook
from fleetops.render.plain import error_lines
from fleetops.resources import resource_folder

INVENTORIES = tuple(path.read_text() for path in sorted(resource_folder("inventory").glob("fleet.yaml")))
PROFILES = tuple(path.read_text() for path in sorted(resource_folder("inventory").glob("profiles.yaml")))
PLAYBOOKS = tuple(path.read_text() for path in sorted(resource_folder("playbooks").glob("*.yaml")))

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([word for word in SPITEFUL if "\ud800" not in word]),
)
KEYS = sorted(
    {
        name
        for record in (keys.NODE, keys.PROFILE, keys.GUEST, keys.FLEET_FILE, keys.SETTINGS, keys.HOST_MEMORY)
        for name in record.keys
    }
)
names = st.one_of(st.sampled_from(KEYS), st.text(max_size=5))
structures = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=5)),
    max_leaves=25,
)


def judged(load, text: str, beside: str = "") -> None:
    """It is read, or refused as a usage error whose problems lie in the file, and nothing raw reaches a terminal."""
    content = text.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.yaml"
        path.write_bytes(content)
        if beside:
            (path.parent / "profiles.yaml").write_bytes(beside.encode("utf-8", "surrogatepass"))
        try:
            load(path)
        except FleetopsError as error:
            _well_told(error, max(content.count(b"\n"), beside.count("\n")) * 3 + 3)


def _well_told(error: FleetopsError, most_lines: int) -> None:
    assert isinstance(error, UsageError | DocumentInvalid), repr(error)
    assert error.exit_code is Exit.USAGE
    assert not RAW.search(error_lines(error.message, error.hint, colour=False))
    for problem in getattr(error, "problems", ()):
        assert 1 <= problem.line <= most_lines
        assert problem.column >= 1
        assert problem.message
        assert len(problem.message) < 2000


@given(text=st.one_of(broken(INVENTORIES), word_replaced(INVENTORIES)))
@examples(120)
def test_a_broken_inventory_is_read_or_refused_at_its_places(text):
    judged(load_inventory, text, PROFILES[0])


@given(text=st.one_of(broken(PROFILES), word_replaced(PROFILES)))
@examples(100)
def test_broken_profiles_are_read_or_refused_at_their_places(text):
    judged(load_inventory, INVENTORIES[0], text)


@given(text=st.one_of(broken(PLAYBOOKS), word_replaced(PLAYBOOKS)))
@examples(120)
def test_a_broken_playbook_is_read_or_refused_at_its_places(text):
    judged(load_playbook, text)


@given(top=structures)
@examples(120)
def test_any_structure_is_read_or_refused_at_its_places(top):
    text = yaml.safe_dump(top, allow_unicode=True)
    judged(load_inventory, text)
    judged(load_playbook, text)


@given(
    where=st.sampled_from(["nodes", "profiles", "groups", "hypervisors", "settings"]),
    name=st.sampled_from(["node-1", "-", "", "a b", "$(x)"]),
    inner=structures,
)
@examples(120)
def test_any_structure_where_hosts_and_profiles_belong_is_read_or_refused(where, name, inner):
    judged(load_inventory, yaml.safe_dump({where: {name: inner}}, allow_unicode=True))


@given(content=st.binary(max_size=60))
@examples(60)
def test_any_bytes_are_read_or_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.yaml"
        path.write_bytes(content)
        for load in (load_inventory, load_playbook):
            try:
                load(path)
            except FleetopsError as error:
                _well_told(error, 200)


NODE = "nodes: {n: {address: 10.0.0.1}}\n"
PROFILE = """\
profiles:
  p: {engine: sglang, model: /m, ranks: 1, port: 30000, environment: {A: %s}, flags: {served-model-name: %s}}
"""


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\udcff"', '"a\\0b"'])
@pytest.mark.parametrize("place", [0, 1])
def test_text_that_no_program_can_be_given_is_refused_where_it_stands(tmp_path, text, place):
    values = ["x", "x"]
    values[place] = text
    (tmp_path / "fleet.yaml").write_text(NODE + PROFILE % tuple(values))
    with pytest.raises(DocumentInvalid) as refused:
        load_inventory(tmp_path)
    assert [problem.line for problem in refused.value.problems] == [3]
