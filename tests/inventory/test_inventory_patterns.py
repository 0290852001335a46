"""Host patterns select what an operator means, and a slip selects nothing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.inventory import select_hosts
from fleetops.inventory.patterns import PatternError, select_names
from fleetops.model.errors import UsageError
from fleetops.model.fleet import Hypervisor, Inventory, Node

NODES = ("node-171", "node-172", "node-174", "node-180", "spare")
HYPERVISORS = ("pve-01", "pve-02")
GROUPS = {
    "rack-a": ("node-[170-179]", "!node-172"),
    "both": ("@rack-a", "spare"),
    "not-spare": ("!spare",),
    "hosts": ("pve-*",),
}
FLEET = Inventory(
    path=Path("inventory"),
    nodes={name: Node(name=name, address=name) for name in NODES},
    hypervisors={name: Hypervisor(name=name, address=name) for name in HYPERVISORS},
    groups=GROUPS,
)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([], "node-171 node-172 node-174 node-180 spare"),
        (["*"], "node-171 node-172 node-174 node-180 spare"),
        (["spare", "node-171"], "node-171 spare"),
        (["spare,node-171", "spare"], "node-171 spare"),
        (["node-[170-174]"], "node-171 node-172 node-174"),
        (["node-[171,180]"], "node-171 node-180"),
        (["node-17?"], "node-171 node-172 node-174"),
        (["node-[17-18]?"], "node-171 node-172 node-174 node-180"),
        (["@rack-a"], "node-171 node-174"),
        (["@both"], "node-171 node-174 spare"),
        (["@both,!node-171"], "node-174 spare"),
        (["!node-171", "@both"], "node-174 spare"),
        (["!@rack-a"], "node-172 node-180 spare"),
        (["@not-spare"], "node-171 node-172 node-174 node-180"),
    ],
)
def test_patterns_select_nodes_in_the_inventorys_order(patterns, names):
    assert [host.name for host in select_hosts(FLEET, patterns)] == names.split()


def test_what_is_selected_from_may_be_hypervisors_or_all():
    assert [host.name for host in select_hosts(FLEET, ["*"], of="hypervisors")] == list(HYPERVISORS)
    assert [host.name for host in select_hosts(FLEET, ["*-0?,spare"], of="all")] == ["spare", *HYPERVISORS]


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("nod-174", "no host is named `nod-174`", "did you mean `node-174`?"),
        ("node-999", "no host is named `node-999`", "there are node-[171-172,174,180]"),
        ("node-0171", "no host is named `node-0171`", "did you mean `node-171`?"),
        ("node-[174,999]", "no host is named `node-999`", "there are node-[171-172,174,180]"),
        ("node-[171-172,9,180]", "no host is named `node-9`", None),
        ("*,!node-[174,999]", "no host is named `node-999`", None),
        ("node-[17,99]?", "no host matches `node-99?`", None),
        ("rack-a", "no host is named `rack-a`", "the group is `@rack-a`"),
        ("@rack", "there is no group `@rack`", "did you mean `@rack-a`?"),
        ("x-*", "no host matches `x-*`", "`fleetops inventory list` shows all hosts"),
        ("node-[1-9]", "no host matches `node-[1-9]`", "`fleetops inventory list` shows all hosts"),
        ("*,!node-199", "no host is named `node-199`", None),
        ("node-[3-1]", "the range 3-1 in 'node-[3-1]' runs backwards", None),
        ("node-171,", "`` is not a host pattern", None),
        ("", "`` is not a host pattern", None),
        ("--all", "`--all` is not a host pattern", None),
        ("$(reboot)", "`$(reboot)` is not a host pattern", None),
        ("a\x1b[m", r"`a\x1b[m` is not a host pattern", None),
        ("spare,!spare", "spare,!spare selects no nodes", None),
        ("pve-01", "pve-01 is a hypervisor; nodes are wanted here", None),
        ("@hosts", "@hosts selects no nodes", None),
    ],
)
def test_what_matches_nothing_is_an_error_that_names_the_nearest(pattern, message, hint):
    with pytest.raises(UsageError) as caught:
        select_hosts(FLEET, [pattern])
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint


def test_a_group_that_contains_itself_is_refused_with_the_chain():
    groups = {"a": ("@b",), "b": ("x", "!@a")}
    with pytest.raises(PatternError, match="the group @a contains itself: @a -> @b -> @a"):
        select_names(["@a"], ["x"], groups)


@given(st.sets(st.sampled_from(NODES)), st.sets(st.sampled_from(NODES)))
def test_a_list_of_names_less_another_is_their_difference(wanted, excluded):
    patterns = [*wanted, *(f"!{name}" for name in excluded)]
    expected = (wanted or set(NODES)) - excluded
    if expected:
        assert {host.name for host in select_hosts(FLEET, patterns, of="all")} - set(HYPERVISORS) == expected


@given(st.text(alphabet="node-[]1724,*?!@ ", max_size=16))
def test_any_pattern_selects_known_hosts_or_is_a_usage_error(pattern):
    try:
        chosen = {host.name for host in select_hosts(FLEET, [pattern], of="all")}
    except UsageError:
        return
    assert chosen
    assert chosen <= {*NODES, *HYPERVISORS}
