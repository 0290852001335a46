"""The port in the table of what came back: held by the service or by who knows whom it is not back, by a stranger it is his."""

import pytest
from node_scenes import BYSTANDER, LISTENERS, ghost, launcher, listener, missing, observe, rank

from fleetops.steps.support.reclaim import reclaim_rows


def port_row(before, after):
    (row,) = (row for row in reclaim_rows(before, after) if row.fact == "port")
    return row


WEDGED = observe(launcher(), rank(0), facts={LISTENERS: (listener(launcher().pid),)})


def test_a_free_port_is_back():
    row = port_row(WEDGED, observe())
    assert (row.before, row.after, row.ok) == ("held", "free", True)


def test_a_stranger_may_keep_it_and_is_named():
    row = port_row(WEDGED, observe(facts={LISTENERS: (listener(BYSTANDER.pid),)}))
    assert (row.after, row.ok) == (f"held by pid {BYSTANDER.pid}, not the service's", True)


@pytest.mark.parametrize(
    ("processes", "listeners"),
    [
        ((launcher(),), (listener(launcher().pid),)),
        ((ghost(rank(0)),), (listener(rank(0).pid),)),
        ((), (listener(),)),
        ((), (listener(BYSTANDER.pid), listener())),
    ],
    ids=["the service", "a ghost of it", "nobody that is seen", "not only the stranger"],
)
def test_whatever_may_be_the_services_is_not_back(processes, listeners):
    row = port_row(WEDGED, observe(*processes, facts={LISTENERS: listeners}))
    assert (row.after, row.ok) == ("held", False)


def test_what_was_not_read_is_unknown():
    row = port_row(WEDGED, observe(facts={LISTENERS: missing()}))
    assert (row.after, row.ok) == ("unknown", None)
