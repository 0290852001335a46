"""A check of the operator's own: a few lines of YAML, read on a real host, judged and followed like any other."""

import pytest
from hostile_server import truly_but

from fleetops.checks.support.own import judge_own
from fleetops.cli._findings import must_exist
from fleetops.fleet import own_fact
from fleetops.inventory.load import InventoryInvalid, load_inventory
from fleetops.model.command import Outcome
from fleetops.model.errors import UsageError
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Severity
from fleetops.model.own_check import Line, OwnCheck

WELL = truly_but(lambda text: text)
CHECKS = """\
checks:
  scratch:
    command: [test, -d, /nowhere/scratch]
    says: scratch is not there
    severity: critical
    next: fleetops run {host} -- mount /scratch
  uptime:
    command: [cat, /proc/uptime]
    read: number
    pattern: '^([0-9.]+)'
    warning: {above: 0}
    critical: {below: 0}
  release:
    command: [uname, -s]
    read: text
    pattern: ^Linux$
  gone:
    command: [fleetops-no-such-program]
    read: number
    warning: {above: 1}
"""


def judged(stdout="", status=0, **fields):
    check = OwnCheck(name="mine", command=("x",), **fields)
    told = own_fact.fact(check).read(Outcome(status=status, stdout=stdout, stderr=""))
    return judge_own(check, Facts("node-1", 0.0, {check.key.name: told}))


def test_a_status_of_0_is_well_and_another_is_what_he_says_it_is():
    assert judged() == []
    (one,) = judged(status=3, stdout="not mounted\nmore\n", says="scratch gone", severity="critical")
    assert (one.check, one.subject, one.severity) == ("own:mine", "scratch gone", Severity.CRITICAL)
    assert one.evidence == "its command ended with status 3: not mounted"


@pytest.mark.parametrize(
    ("printed", "severity", "says"),
    [
        ("50\n", None, ""),
        ("80\n", Severity.WARNING, "80, above 70"),
        ("95.5\n", Severity.CRITICAL, "95.5, above 90"),
        ("hot\n", Severity.UNKNOWN, "not a number: 'hot'"),
        ("", Severity.UNKNOWN, "not a number"),
    ],
)
def test_a_number_is_judged_by_its_lines(printed, severity, says):
    found = judged(printed, read="number", warning=Line(above=70), critical=Line(above=90))
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all(says in one.evidence for one in found)


def test_a_number_may_be_found_in_what_is_printed():
    hot = {"read": "number", "pattern": r"temp: ([0-9]+)", "warning": Line(below=30)}
    assert judged("fan: 9\ntemp: 40 C\n", **hot) == []
    assert judged("fan: 9\ntemp: 20 C\n", **hot)[0].evidence == "20, below 30"
    assert "no match" in judged("fan: 9\n", **hot)[0].evidence


def test_a_text_must_have_its_pattern_and_a_command_that_fails_is_unknown():
    assert judged("a\nactive\n", read="text", pattern="^active$") == []
    assert judged("inactive\n", read="text", pattern="^active$")[0].severity is Severity.WARNING
    assert judged("active\n", status=1, read="text", pattern="^active$")[0].severity is Severity.UNKNOWN


def test_what_was_not_read_is_unknown_and_a_secret_is_masked():
    check = OwnCheck(name="mine", command=("x",))
    facts = Facts("node-1", 0.0, {"own:mine": Missing(Gap.TIMED_OUT, "no answer in 10 s")})
    assert judge_own(check, facts)[0].severity is Severity.UNKNOWN
    assert "hunter2" not in judged("--api-key hunter2hunter2\n", status=1)[0].evidence


def test_they_are_read_on_the_host_in_the_same_round_trip(fleet_of, sweeper):
    fleet = fleet_of(well=WELL)
    path = fleet.path / "fleet.yaml"
    path.write_text(path.read_text() + CHECKS)
    sweep = sweeper(load_inventory(fleet.path)).once()
    found = {one.finding.check: one.finding for one in sweep.tracked if one.finding.check.startswith("own:")}
    assert found["own:scratch"].severity is Severity.CRITICAL
    assert found["own:scratch"].next == "fleetops run well -- mount /scratch"
    assert found["own:uptime"].severity is Severity.WARNING
    assert found["own:gone"].severity is Severity.UNKNOWN
    assert "own:release" not in found
    assert sweep.hosts[0].remembered.numbers["own:uptime"] > 0


def test_one_is_acknowledged_and_silenced_by_its_full_name(tmp_path):
    (tmp_path / "fleet.yaml").write_text("nodes:\n  node-1: {address: 127.0.0.1}\n" + CHECKS)
    inventory = load_inventory(tmp_path)
    must_exist(inventory, "node-1", "own:scratch")
    with pytest.raises(UsageError, match="there is no check own:scrtch") as error:
        must_exist(inventory, "node-1", "own:scrtch")
    assert error.value.hint == "did you mean `own:scratch`?"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("command: []", "a list of words"),
        ("read: status", "`command`"),
        ("{command: [x], read: number}", "a number needs `warning` or `critical`"),
        ("{command: [x], warning: {above: 1}}", "is for `read: number`"),
        ("{command: [x], read: text}", "a text needs a `pattern`"),
        ("{command: [x], read: text, pattern: '('}", "not a regular expression"),
        ("{command: [x], hosts: [nobody]}", "nobody"),
        ("{command: [x], severity: bad}", "expected one of warning, critical"),
    ],
)
def test_what_is_wrong_with_one_is_said_with_its_place(tmp_path, lines, says):
    fleet = "nodes:\n  node-1: {address: 127.0.0.1}\nchecks:\n"
    body = f"  mine: {lines}\n" if lines.startswith("{") else f"  mine:\n    {lines}\n"
    (tmp_path / "fleet.yaml").write_text(fleet + body)
    with pytest.raises(InventoryInvalid) as invalid:
        load_inventory(tmp_path)
    assert says in "\n".join(map(str, invalid.value.problems))
