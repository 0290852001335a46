"""The matrix that `make deep-matrix` prints: no cell vanishes from it, whatever came of it."""

import pytest
from deep_cells import table, title

CELLS = {
    "t.py::test_good": "good",
    "t.py::test_bad": "bad",
    "t.py::test_no_lab": "no lab",
    "t.py::test_left_dirty": "left dirty",
    "t.py::test_late": "late",
}


def report(test, when="call", outcome="passed", longrepr=None, **told):
    return pytest.TestReport(
        nodeid=test,
        location=("t.py", 1, test),
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        duration=4.4,
        user_properties=list(told.items()),
    )


def test_what_held_what_failed_and_what_did_not_run_are_all_there():
    skipped = ("t.py", 1, "Skipped: the deep lab needs root")
    rows = table(
        CELLS,
        [
            report("t.py::test_good", found="orphans", by="rung 1, 2 changes", verified="no process"),
            report(
                "t.py::test_bad",
                outcome="failed",
                longrepr="    assert 1 == 2\nE   assert 1 == 2",
                found="zombies",
            ),
            report("t.py::test_no_lab", when="setup", outcome="skipped", longrepr=skipped),
            report("t.py::test_left_dirty", by="rung 1", verified="no process"),
            report(
                "t.py::test_left_dirty", when="teardown", outcome="failed", longrepr="E   the VM is still up"
            ),
        ],
    )
    assert rows == [
        "broken       probe finds   healed by           s   verified",
        "good         orphans       rung 1, 2 changes   4   no process",
        "bad          zombies       -                   4   DOES NOT HOLD: assert 1 == 2",
        "no lab       -             -                       skipped: the deep lab needs root",
        "left dirty   -             rung 1              4   DOES NOT HOLD: the VM is still up",
        "late         -             -                       was not run",
        "1 of 5 cells hold",
    ]


def test_a_test_is_named_by_what_is_broken():
    assert title("test_orphans_under_pid_1") == "orphans under pid 1"
    assert title("test_a_rank_grows[320]") == "a rank grows (320 MB/s)"
