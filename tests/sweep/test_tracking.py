"""Findings over several sweeps: firm, clear, flapping, and never gone because nobody could look."""

import pytest

from fleetops.fleet.tracking import track
from fleetops.model.finding import Finding, Severity
from fleetops.model.sweep import HostSweep

MEMORY, XID = "memory-low", "xid"


def finding(check=MEMORY, severity=Severity.CRITICAL, subject="", evidence="9 GB"):
    return Finding(
        host="node-174", check=check, severity=severity, subject=subject or check, evidence=evidence
    )


def sweeps(*each, latched=()):
    """What is known after sweeps that found these findings, a minute apart."""
    known = ()
    for number, found in enumerate(each):
        host = HostSweep(name="node-174", kind="node", at=60.0 * number, seconds=1, findings=tuple(found))
        known = track(known, [host], latched=frozenset(latched))
    return {one.finding.check: one for one in known}


THERE, NOT = [finding()], []
SILENT = [finding("unreachable")]


def test_one_sighting_is_new_and_not_firm_and_the_second_makes_it_firm():
    once = sweeps(THERE)[MEMORY]
    assert (once.is_new, once.firm, once.count) == (True, False, 1)
    twice = sweeps(THERE, THERE)[MEMORY]
    assert (twice.is_new, twice.firm, twice.count, twice.first_seen, twice.last_seen) == (
        False,
        True,
        2,
        0,
        60,
    )


def test_two_sightings_of_three_suffice_and_two_of_four_do_not():
    assert sweeps(THERE, THERE, NOT)[MEMORY].firm
    assert not sweeps(THERE, NOT, NOT, THERE)[MEMORY].firm


def test_a_latched_one_is_firm_at_once():
    assert sweeps([finding(XID)], latched=[XID])[XID].firm


def test_not_knowing_is_not_latched():
    unknown = finding(XID, severity=Severity.UNKNOWN, subject="kernel log not known")
    assert not sweeps([unknown], latched=[XID])[XID].firm


def test_a_firm_one_is_clear_after_two_sweeps_without_it_and_one_that_was_never_firm_after_one():
    assert sweeps(THERE, THERE, NOT)[MEMORY].cleared_at is None
    assert sweeps(THERE, THERE, NOT, NOT)[MEMORY].cleared_at == 180
    assert sweeps(THERE, NOT)[MEMORY].cleared_at == 60


def test_what_comes_again_after_it_was_clear_is_new_and_keeps_its_sightings():
    again = sweeps(THERE, NOT, NOT, NOT, THERE)[MEMORY]
    assert (again.is_new, again.count, again.first_seen, again.cleared_at) == (True, 1, 240, None)
    assert again.sightings == "10001"


def test_what_comes_and_goes_flaps():
    assert sweeps(THERE, NOT, THERE, NOT, THERE)[MEMORY].is_flapping
    assert not sweeps(THERE, THERE, THERE, NOT, THERE)[MEMORY].is_flapping


@pytest.mark.parametrize("blind", ["unreachable", "no-banner", "wrong-machine"])
def test_a_host_that_tells_nothing_of_itself_clears_nothing(blind):
    after = sweeps(THERE, THERE, *[[finding(blind)]] * 5)
    assert after[MEMORY].cleared_at is None
    assert after[MEMORY].sightings == "11?????"
    assert after[MEMORY].firm


def test_a_check_that_lacks_its_fact_clears_nothing_that_it_found_before():
    unknown = [finding(severity=Severity.UNKNOWN, subject="memory not known")]
    host = [HostSweep(name="node-174", kind="node", at=0, seconds=1, findings=tuple(THERE))]
    known = track((), host, latched=frozenset())
    for _ in range(4):
        blind = HostSweep(name="node-174", kind="node", at=9, seconds=1, findings=tuple(unknown))
        known = track(known, [blind], latched=frozenset())
    before = next(one for one in known if one.finding.severity is Severity.CRITICAL)
    assert before.cleared_at is None
    assert before.sightings == "1????"


def test_an_unknown_that_is_known_again_is_clear():
    unknown = [finding(severity=Severity.UNKNOWN, subject="memory not known")]
    assert sweeps(unknown, NOT)[MEMORY].cleared_at == 60


def test_silence_itself_is_gone_when_the_host_answers():
    after = sweeps(SILENT, SILENT, NOT, NOT)
    assert after["unreachable"].cleared_at == 180


def test_a_host_that_this_sweep_did_not_ask_stays_as_it_was():
    known = tuple(sweeps(THERE, THERE).values())
    other = HostSweep(name="node-175", kind="node", at=999, seconds=1)
    assert track(known, [other], latched=frozenset()) == known


def test_the_latest_evidence_is_kept_and_only_so_many_sightings():
    after = sweeps(*[[finding(evidence=str(number))] for number in range(40)])[MEMORY]
    assert after.finding.evidence == "39"
    assert after.count == 40
    assert len(after.sightings) == 12
