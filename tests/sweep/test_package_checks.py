"""Checks of packages: found by their entry point, asked by sweeps; what one cannot say is unknown and ends no sweep."""

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile_server import truly_but
from package_site import install

from fleetops.cli._findings import must_exist
from fleetops.fleet.package_checks import package_checks
from fleetops.model.errors import UsageError
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.fleet import Node
from fleetops.model.machine import IDENTITY

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/check-package"
POINTS = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["fleetops.checks"]
WELL = truly_but(lambda text: text)
MODULE = """
from dataclasses import replace
from fleetops.model.command import Command
from fleetops.model.fact import Fact, Key
from fleetops.model.finding import Check, Finding, FleetCheck, Severity
from fleetops.model.package_check import PackageCheck

def said(host, check="mine"):
    return Finding(host=host, check=check, severity=Severity.WARNING, subject="s", evidence="e")

def odd(**changes):
    return replace(said("node-1"), **changes)

def broken(seen):
    return 1 / 0

"""
READ = "Fact(Key('own'), Command(argv={}, deadline_s=5.0), parse=str)"
NUL = "('a' + chr(0),)"
Installer = Callable[..., None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Installs packages for this test alone."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    package_checks.cache_clear()
    before = set(sys.modules)

    def put(check: str, source: str, *, package: str = "fleetops-mine", modules: bool = True) -> None:
        module = package.replace("-", "_")
        points = f"[fleetops.checks]\n{check} = {module}:CHECK\n"
        install(site, package, points, {module: MODULE + source} if modules else {})

    yield put
    package_checks.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("fleetops_"):
            del sys.modules[name]


def of_nodes(judge: str, more: str = "") -> str:
    return f"CHECK = PackageCheck(check=Check(name='mine', title='x', judge={judge}){more})\n"


def judged() -> list[Finding]:
    """What the installed checks say of a node that has answered."""
    facts = Facts("node-1", 0.0, {IDENTITY.name: Missing(Gap.UNPARSABLE, "of no interest here")})
    return package_checks().judge(
        Observation(node=Node(name="node-1", address="192.0.2.1"), node_facts=facts)
    )


@pytest.fixture
def swept(fleet_of, sweeper) -> Callable[..., list[Finding]]:
    """The findings of packages' checks in one sweep of a real host."""

    def once(**answers: object) -> list[Finding]:
        sweep = sweeper(fleet_of(**(answers or {"well": WELL}))).once()
        names = {one.name for one in package_checks().checks}
        return [one.finding for one in sweep.tracked if one.finding.check in names]

    return once


def test_the_documented_one_finds_nothing_where_all_is_well(installed, swept):
    (module,) = {value.partition(":")[0] for value in POINTS.values()}
    source = (EXAMPLE / f"{module}.py").read_text()
    installed("file-handles", source, package=module.replace("_", "-"))
    assert swept() == []
    assert package_checks().checks[0].title == "the kernel has file handles left"


def test_its_finding_is_that_of_the_node(installed, swept):
    source = (EXAMPLE / "fleetops_file_handles.py").read_text().replace("MOST = 0.8", "MOST = 0.0")
    installed("file-handles", source, package="fleetops-file-handles")
    (found,) = swept()
    assert (found.host, found.check, found.severity) == ("well", "file-handles", Severity.WARNING)
    assert found.next == "fleetops run well -- lsof -n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (of_nodes("broken"), "check mine of package fleetops-mine 1.0 has failed: ZeroDivisionError"),
        (of_nodes("lambda seen: 3"), "'int' object is not iterable"),
        (of_nodes("lambda seen: ['x']"), "it gives str, which is no Finding"),
        (of_nodes("lambda seen: [said('node-2')]"), "it speaks of 'node-2', which it was not shown"),
        (of_nodes("lambda seen: exit(0)"), "SystemExit: 0"),
        (of_nodes("lambda seen: [odd(severity='warning')]"), "a severity is 'warning'"),
        (of_nodes("lambda seen: [odd(evidence=b'x')]"), "a text of a finding is bytes"),
        (of_nodes("lambda seen: [odd(next=None)]"), "a text of a finding is NoneType"),
        (of_nodes("lambda seen: [odd(subject='\\udc80')]"), "UnicodeEncodeError"),
    ],
)
def test_one_that_fails_is_unknown_and_named(installed, source, says):
    installed("mine", source)
    (found,) = judged()
    assert (found.check, found.severity, found.subject) == ("mine", Severity.UNKNOWN, "mine not known")
    assert says in found.evidence
    assert found.next == "mend or remove the package fleetops-mine"


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("mine", "CHECK = 3", "is no fleetops.model.package_check.PackageCheck, but int"),
        ("mine", "CHECK = PackageCheck(check=3)", "has as its check int"),
        ("other", of_nodes("broken"), "calls itself mine"),
        ("mine", "raise SystemExit(3)", "could not be loaded from fleetops_mine:CHECK: SystemExit: 3"),
        ("mine", "import fleetops_nowhere", "No module named 'fleetops_nowhere'"),
        ("mine", of_nodes("broken", ", reads=(3,)"), "reads what is no Fact, but int"),
        ("mine", of_nodes("broken", ", reads=None"), "has as its reads NoneType, and no tuple"),
        ("mine", of_nodes("broken", f", reads=({READ.format('()')},)"), "there is no command to run"),
        (
            "mine",
            of_nodes("broken", f", reads=({READ.format('(3,)')},)"),
            "by an argv that is no tuple of words",
        ),
        ("mine", of_nodes("broken", f", reads=({READ.format(NUL)},)"), "by a command that nobody can run"),
        (
            "mine",
            "class Odd(BaseException): pass\nraise Odd('x')",
            "could not be loaded from fleetops_mine:CHECK: Odd: x",
        ),
        ("disk-full", of_nodes("broken"), "is refused: a shipped check has that name"),
    ],
)
def test_one_that_cannot_be_used_is_unknown_on_the_nodes_it_was_for(installed, name, source, says):
    installed(name, source)
    (found,) = judged()
    assert (found.host, found.check) == ("node-1", "package:fleetops-mine")
    assert found.severity is Severity.UNKNOWN
    assert says in found.evidence


def test_two_packages_with_one_name_are_both_refused(installed):
    installed("mine", of_nodes("lambda seen: []"))
    installed("mine", of_nodes("lambda seen: []"), package="fleetops-theirs")
    assert {one.check for one in judged()} == {"package:fleetops-mine", "package:fleetops-theirs"}


def test_what_one_prints_is_no_part_of_what_fleetops_says(installed, capsys):
    installed("mine", "print('loud')\n" + of_nodes("lambda seen: print('louder') or []"))
    assert judged() == []
    assert capsys.readouterr().out == ""


def test_a_parser_that_breaks_is_a_fact_that_is_missing(installed, swept):
    reads = "Fact(Key('own'), Command(argv=('true',), deadline_s=5.0), parse=lambda outcome: broken(1))"
    judge = "lambda seen: [Finding(host=seen.node.name, check='x', severity=Severity.UNKNOWN, subject='s', evidence=str(seen.node_facts.get(Key('own'))))]"
    installed("mine", of_nodes(judge, f", reads=({reads},)"))
    (found,) = swept()
    assert (found.check, "ZeroDivisionError" in found.evidence) == ("mine", True)


def test_what_a_sweep_reads_anyway_is_not_read_otherwise(installed, swept):
    reads = (
        "Fact(Key('memory'), Command(argv=('echo', 'lies'), deadline_s=5.0), parse=lambda outcome: 'lies')"
    )
    judge = "lambda seen: [said(seen.node.name)] if seen.node_facts.get(Key('memory')) == 'lies' else []"
    installed("mine", of_nodes(judge, f", reads=({reads},)"))
    assert swept() == []


def test_one_of_all_nodes_sees_them_beside_each_other(installed, swept):
    judge = "lambda seen: [said(one.node.name, check='x') for one in seen]"
    installed("mine", f"CHECK = PackageCheck(check=FleetCheck(name='mine', title='x', judge={judge}))\n")
    found = swept(first=WELL, second=WELL)
    assert [(one.host, one.check) for one in found] == [("first", "mine"), ("second", "mine")]


def test_a_silent_host_is_said_once(installed, swept):
    installed("mine", of_nodes("broken"))
    assert swept(gone=1) == []


def test_it_is_acknowledged_by_its_name(installed, fleet_of):
    installed("mine", of_nodes("lambda seen: []"))
    inventory = fleet_of(well=1)
    must_exist(inventory, "well", "mine")
    with pytest.raises(UsageError, match="there is no check min"):
        must_exist(inventory, "well", "min")


def test_the_page_shows_the_example_as_it_is():
    page = (EXAMPLE.parents[1] / "sweep.md").read_text()
    for name in ("pyproject.toml", "fleetops_file_handles.py"):
        assert (EXAMPLE / name).read_text() in page
