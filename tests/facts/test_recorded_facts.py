"""Every fact reads its recorded outputs as the values that stand beside them."""

import pytest
from recorded_case import as_json, load_cases

from fleetops.facts import build, names

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.fact}/{case.name}")
def test_a_recorded_output_is_read_as_its_expected_value(case):
    assert as_json(case.built.read(case.outcome)) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.fact}/{case.name}")
def test_a_case_says_where_it_was_recorded(case):
    assert len(case.source) > 20


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("kind", ["healthy", "failing"])
def test_each_fact_has_recorded_cases(name, kind):
    recorded = [case.name for case in CASES if case.fact == name]
    assert [case for case in recorded if case.startswith(f"{kind}-")], (
        f"{name} has no {kind} case, only {recorded}"
    )


def test_every_case_belongs_to_a_fact():
    assert {case.fact for case in CASES} <= set(names())


@pytest.mark.parametrize("name", names())
def test_a_fact_that_ran_out_of_time_has_no_value(name):
    case = next(case for case in CASES if case.fact == name)
    fact = build(name, *case.arguments)
    late = type(case.outcome)(status=None, stdout=case.outcome.stdout, timed_out=True)
    assert as_json(fact.read(late))["missing"] == "timed out"


@pytest.mark.parametrize("name", sorted(set(names()) - {"gpus"}))
def test_output_cut_at_the_limit_has_no_value(name):
    case = next(case for case in CASES if case.fact == name and case.name.startswith("healthy-"))
    cut = type(case.outcome)(status=0, stdout=case.outcome.stdout, truncated=True)
    assert as_json(case.built.read(cut))["missing"] == "unparsable"
