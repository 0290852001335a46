"""The one screen: counts, what is wrong by host, since when, what to type; nothing said twice."""

import json
from dataclasses import replace

from fleetops.model.finding import Finding, Severity
from fleetops.model.past import Remembered
from fleetops.model.sweep import HostSweep, Sweep, Tracked
from fleetops.render.sweep import has_news, sweep_json, sweep_line, sweep_news, sweep_screen

AT = 1_800_000_000.0
RECOVER = "fleetops recover node-174 --dry-run"


def tracked(host="node-174", check="ranks-dead", severity=Severity.CRITICAL, **more):
    fields = {"subject": check.replace("-", " "), "evidence": "5 of 8", "next": RECOVER}
    finding = Finding(host=host, check=check, severity=severity, **{**fields, **more.pop("said", {})})
    settled = {"first_seen": AT, "last_seen": AT, "sightings": "1", **more}
    return Tracked(finding=finding, **settled)


def sweep(*found, cleared=()):
    names = ["node-173", "node-174", "pve-01"]
    hosts = [
        HostSweep(
            name=name,
            kind="hypervisor" if name == "pve-01" else "node",
            at=AT,
            seconds=0.5,
            findings=tuple(one.finding for one in found if one.finding.host == name and one.is_seen),
            remembered=Remembered(numbers={"mem-available-bytes": 445e9}),
        )
        for name in names
    ]
    return Sweep(at=AT, seconds=1.42, hosts=tuple(hosts), tracked=found, cleared=tuple(cleared), number=7)


def lines(one, width=110):
    return sweep_screen(one, width).plain.splitlines()


def test_a_fleet_that_is_well_is_one_line():
    assert lines(sweep()) == ["3 hosts in 1.4 s: 3 well"]


def test_findings_stand_under_their_host_worst_first_and_each_command_once():
    found = (
        tracked(),
        tracked(check="memory-low", said={"evidence": "9 of 449 GB"}),
        tracked(
            check="persistence-off",
            severity=Severity.WARNING,
            said={"evidence": "8 GPUs", "next": "fleetops probe node-174"},
        ),
    )
    assert lines(sweep(*found)) == [
        "3 hosts in 1.4 s: 2 well, 1 critical",
        "",
        "node-174                                          new",
        "  critical    ranks dead                          5 of 8",
        "              memory low                          9 of 449 GB",
        "  warning     persistence off                     8 GPUs",
        f"  {RECOVER}",
        "  fleetops probe node-174",
    ]


def test_since_when_is_said_of_each_where_it_differs():
    older = tracked(check="memory-low", count=3, sightings="111", first_seen=AT - 600)
    shown = lines(sweep(tracked(), older))
    assert shown[2] == "node-174"
    assert shown[3].endswith("5 of 8 (new)")
    assert "(3rd sweep, since " in shown[4]


def test_ordinals_are_english():
    said = [lines(sweep(tracked(count=number, sightings="11")))[2] for number in (2, 3, 11, 12, 13, 21, 112)]
    assert [text.split()[1] for text in said] == ["2nd", "3rd", "11th", "12th", "13th", "21st", "112th"]


def test_one_that_was_not_seen_now_or_cannot_be_told_says_so_and_one_that_flaps():
    assert "not seen now" in lines(sweep(tracked(count=2, sightings="110")))[2]
    assert "cannot be told now" in lines(sweep(tracked(count=2, sightings="11?")))[2]
    assert "flapping: seen in 3 of 5 sweeps" in lines(sweep(tracked(count=2, sightings="10101")))[2]


def test_acknowledged_and_silenced():
    assert "acknowledged by ada: on it" in lines(sweep(tracked(acknowledged="ada: on it")))[2]
    silenced = lines(sweep(tracked(silenced_until=AT + 60)))
    assert silenced == ["3 hosts in 1.4 s: 3 well", "", "1 silenced: fleetops silence"]


def test_what_several_checks_could_not_tell_is_gone_once():
    said = {"subject": "gpus not known", "evidence": "timed out"}
    gone = [tracked(check=check, cleared_at=AT, said=said) for check in ("gpu-hot", "gpu-xid")]
    assert [line for line in lines(sweep(cleared=gone)) if "gpus not known" in line] == [
        "  cleared     node-174   gpus not known           seen in 1 sweep"
    ]


def test_what_has_cleared_is_told_once():
    gone = tracked(count=3, first_seen=AT - 720, sightings="11100", cleared_at=AT)
    shown = lines(sweep(cleared=[gone]))
    assert shown[2].split() == [
        "cleared",
        "node-174",
        "ranks",
        "dead",
        "seen",
        "in",
        "3",
        "sweeps,",
        "for",
        "12",
        "min",
    ]


def test_unknown_is_counted_as_its_own():
    silent = tracked(check="unreachable", severity=Severity.UNKNOWN)
    assert lines(sweep(silent))[0] == "3 hosts in 1.4 s: 2 well, 1 unknown"


def test_of_many_sweeps_one_without_news_is_a_line():
    steady = sweep(tracked(count=5, sightings="11111"))
    assert not has_news(steady)
    assert sweep_line(steady).plain.endswith("  3 hosts in 1.4 s: 2 well, 1 critical")
    assert all(has_news(one) for one in (sweep(tracked()), sweep(tracked(count=2, sightings="110"))))
    assert has_news(sweep(cleared=[tracked()]))
    news = sweep_news(sweep(tracked()), 110).plain
    assert news.count("1 critical") == 1
    assert news.splitlines()[2].startswith("node-174")


def test_a_program_gets_hosts_and_findings_with_their_history():
    body = json.loads(json.dumps(sweep_json(sweep(tracked(count=2, sightings="11", firm=True)))))
    assert (body["schema"], body["sweep"]) == ("fleetops.sweep/1", 7)
    assert [(host["host"], host["severity"]) for host in body["hosts"]] == [
        ("node-173", "ok"),
        ("node-174", "critical"),
        ("pve-01", "ok"),
    ]
    found = body["findings"][0]
    assert {key: found[key] for key in ("host", "check", "severity", "subject", "evidence", "next")} == {
        "host": "node-174",
        "check": "ranks-dead",
        "severity": "critical",
        "subject": "ranks dead",
        "evidence": "5 of 8",
        "next": RECOVER,
    }
    assert (found["firm"], found["new"], found["sweeps"], found["silenced_until"]) == (True, False, 2, None)


def test_text_from_a_host_cannot_act_on_the_terminal():
    evil = tracked(said={"evidence": "\x1b[2J\x1b]0;owned\x07", "subject": "a\nb"})
    text = sweep_screen(sweep(evil), 110).plain
    assert "\x1b" not in text
    assert "\x07" not in text


def test_narrow_terminals_get_the_evidence_below():
    shown = lines(sweep(replace(tracked(), count=2, sightings="11")), width=60)
    assert all(len(line) <= 60 for line in shown)
