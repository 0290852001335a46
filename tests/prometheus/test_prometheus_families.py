"""What Prometheus reads of a sweep: names, units, labels; what is gone is gone; and it stays bounded."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sweep_scenes import AT, GPU, NUMBERS, host, latest_of, read, scraped, sweep, tracked

from fleetops import __version__
from fleetops.cli._publishing import registry_of, textfile
from fleetops.model.finding import Severity
from fleetops.render.prometheus import STATES, Bounds, families

ROOT = Path(__file__).resolve().parents[2]
NODE = {"host": "node-174", "kind": "node"}


def names(series):
    return {name for name, _ in series}


def test_the_sweep_itself():
    found = scraped(latest_of(sweep(), every_s=300.0))
    assert found["fleetops_build_info", (("version", __version__),)] == 1
    assert found["fleetops_sweep_timestamp_seconds", ()] == AT
    assert found["fleetops_sweep_duration_seconds", ()] == 1.42
    assert found["fleetops_sweep_interval_seconds", ()] == 300


def test_its_age_grows_from_scrape_to_scrape_while_no_other_comes():
    now = [AT + 10]
    latest = latest_of(sweep(), every_s=300.0, clock=lambda: now[0])
    assert scraped(latest)["fleetops_sweep_age_seconds", ()] == 10
    now[0] = AT + 5000
    assert scraped(latest)["fleetops_sweep_age_seconds", ()] == 5000


def test_a_file_tells_no_age_which_would_stand_still():
    assert b"sweep_age" not in textfile(sweep())
    assert b"fleetops_sweep_timestamp_seconds 1.8e+09\n" in textfile(sweep())


def test_before_the_first_sweep_nothing_is_told_of_any_host():
    assert names(scraped(latest_of(None, every_s=60.0, clock=lambda: AT))) == {
        "fleetops_build_info",
        "fleetops_sweep_interval_seconds",
    }


def test_each_host_says_whether_it_answered_how_fast_and_when():
    assert read(sweep(), "host_up", **NODE) == 1
    assert read(sweep(), "host_up", host="pve-01", kind="hypervisor") == 1
    assert read(sweep(), "host_answer_seconds", **NODE) == 0.5
    assert read(sweep(), "host_swept_timestamp_seconds", **NODE) == AT


@pytest.mark.parametrize("check", ["unreachable", "no-banner"])
def test_a_silent_host_is_not_up_and_has_no_answer_and_no_numbers(check):
    silent = tracked(check=check, severity=Severity.UNKNOWN)
    one = sweep(silent, hosts=[host("node-174", [silent])])
    assert read(one, "host_up", **NODE) == 0
    assert read(one, "host_answer_seconds", **NODE) is None
    assert read(one, "mem_available_bytes", **NODE) is None
    assert read(one, "host_severity", **NODE, severity="unknown") == 1


def test_the_worst_of_a_host_is_one_of_four_as_on_the_screen():
    found = (tracked(check="memory-low", severity=Severity.WARNING), tracked())
    values = {
        word: read(sweep(*found), "host_severity", **NODE, severity=word)
        for word in ("ok", "warning", "critical", "unknown")
    }
    assert values == {"ok": 0, "warning": 0, "critical": 1, "unknown": 0}
    assert read(sweep(*found), "host_severity", host="node-173", kind="node", severity="ok") == 1


def test_what_is_silenced_does_not_make_a_host_ill():
    silenced = tracked(silenced_until=AT + 60)
    assert read(sweep(silenced), "host_severity", **NODE, severity="ok") == 1
    assert read(sweep(silenced), "host_severity", **NODE, severity="critical") == 0


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "firm"),
        ({"firm": False}, "unconfirmed"),
        ({"acknowledged": "ada: on it"}, "acknowledged"),
        ({"acknowledged": "ada: on it", "silenced_until": AT + 60}, "silenced"),
    ],
)
def test_a_finding_is_in_one_state(more, state):
    told = {
        one: read(
            sweep(tracked(**more)), "findings", **NODE, check="ranks-dead", severity="critical", state=one
        )
        for one in STATES
    }
    assert told == {**dict.fromkeys(STATES), state: 1}


def test_findings_that_differ_by_their_subject_alone_are_counted_in_one_series():
    found = (
        tracked(check="disk-full", subject="/ full", first_seen=AT - 60),
        tracked(check="disk-full", subject="/var full", first_seen=AT - 900),
    )
    labels = {**NODE, "check": "disk-full", "severity": "critical", "state": "firm"}
    assert read(sweep(*found), "findings", **labels) == 2
    assert read(sweep(*found), "finding_first_seen_timestamp_seconds", **labels) == AT - 900


def test_a_finding_that_clears_leaves_nothing_behind():
    latest = latest_of(sweep(tracked()))
    assert "ranks-dead" in generate_latest(registry_of(latest)).decode()
    latest.sweep = sweep(cleared=[replace(tracked(), cleared_at=AT)])
    assert "ranks-dead" not in generate_latest(registry_of(latest)).decode()


def test_a_host_that_is_no_longer_swept_leaves_nothing_behind():
    latest = latest_of(sweep(tracked()))
    latest.sweep = sweep(hosts=[host("node-173")])
    assert "node-174" not in generate_latest(registry_of(latest)).decode()


def test_numbers_are_in_base_units_under_names_of_their_own():
    one = sweep()
    assert read(one, "mem_available_bytes", **NODE) == 445e9
    assert read(one, "device_tokens", **NODE) == 231_120
    assert read(one, "requests_waiting", **NODE) == 2
    assert read(one, "gpu_ecc_uncorrected_total", **NODE, gpu=GPU) == 3
    assert read(one, "gpu_hw_slowdown_seconds_total", **NODE, gpu=GPU) == 2.5
    assert read(one, "gpu_hw_slowdown_seen", **NODE, gpu=GPU) == 1


@pytest.mark.parametrize(
    ("fact", "name", "value"),
    [
        ("nvme-wear-percent", "nvme_wear_ratio", 0.5),
        ("gpu-temperature-c", "gpu_temperature_celsius", 50),
        ("boot-ms", "boot_seconds", 0.05),
        ("uptime-s", "uptime_seconds", 50),
        ("psu-w", "psu_watts", 50),
    ],
)
def test_a_number_that_a_new_check_remembers_needs_nothing_here(fact, name, value):
    one = sweep(hosts=[host("node-174", numbers={fact: 50.0})])
    assert read(one, name, **NODE) == pytest.approx(value)
    assert read(one, "left_out", of="facts") == 0


@pytest.mark.parametrize(
    "fact",
    [
        "mem available bytes",
        "mem-available-furlongs",
        "Mem-bytes",
        'x"}-bytes',
        "gpu-GPU-1-ecc-count",  # no UUID
        "sweep-duration-s",  # a sweep's own
        "host-up-count",
    ],
)
def test_a_number_whose_name_is_none_of_a_metric_is_left_out_and_counted(fact):
    one = sweep(hosts=[host("node-174", numbers={fact: 1.0, "mem-available-bytes": 1.0})])
    assert read(one, "left_out", of="facts") == 1
    assert read(one, "mem_available_bytes", **NODE) == 1
    assert read(one, "sweep_duration_seconds") == 1.42


def test_one_name_is_not_told_of_hosts_and_of_gpus():
    numbers = {"gpu-memory-used-bytes": 8.0, f"gpu-{GPU}-memory-used-bytes": 1.0}
    one = sweep(hosts=[host("node-174", numbers=numbers)])
    assert sum(name == "fleetops_gpu_memory_used_bytes" for name, _ in scraped(latest_of(one))) == 1
    assert read(one, "left_out", of="facts") == 1


def test_no_word_of_a_host_becomes_a_label():
    evil = tracked(subject="\x1b]0;owned\x07 of /mnt/some", acknowledged='ada: "} 1\nup 0')
    text = generate_latest(registry_of(latest_of(sweep(evil)))).decode()
    assert not any(word in text for word in ("owned", "/mnt", "5 of 8", "ada", "\x1b"))


def uuid(number):
    return f"GPU-00000000-0000-0000-0000-{number:012x}"


def test_hosts_gpus_and_names_are_bounded_and_what_is_left_out_is_counted():
    many = {f"gpu-{uuid(number)}-ecc-uncorrected-count": 1.0 for number in range(5)}
    names = {f"number-{number}-count": 1.0 for number in range(4)}
    one = sweep(
        tracked(host="node-009"),
        hosts=[host(f"node-{number:03}", numbers=many | names) for number in range(10)],
    )
    bounds = Bounds(hosts=3, gpus=2, facts=3)
    samples = [sample for family in families(one, version="1", bounds=bounds) for sample in family.samples]
    assert len({sample.labels.get("host") for sample in samples} - {None}) == 3
    assert len({sample.labels.get("gpu") for sample in samples} - {None}) == 2
    left_out = {sample.labels["of"]: sample.value for sample in samples if sample.name == "fleetops_left_out"}
    # Of each of three hosts three GPUs and two of the four names: the third family is that of the GPUs.
    assert left_out == {"hosts": 7, "gpus": 9, "facts": 6}
    assert not [sample for sample in samples if sample.labels.get("check")]


def test_a_great_fleet_is_told_quickly():
    numbers = {f"gpu-{uuid(number)}-ecc-uncorrected-count": 1.0 for number in range(8)} | NUMBERS
    one = sweep(hosts=[host(f"node-{number}", numbers=numbers) for number in range(500)])
    assert len(scraped(latest_of(one))) > 500 * 20


def test_every_family_has_its_meaning_and_stands_in_the_documentation():
    page = (ROOT / "docs/prometheus.md").read_text()
    text = generate_latest(registry_of(latest_of(sweep(tracked()), every_s=60.0, clock=lambda: AT))).decode()
    told = list(text_string_to_metric_families(text))
    assert not [family.name for family in told if not family.documentation]
    samples = {sample.name for family in told for sample in family.samples}
    assert not {name for name in samples if name not in page}
    # And nothing stands there that is not told.
    assert set(re.findall(r"`(fleetops_\w+)", page)) <= samples


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool, from Debian's package prometheus")
def test_prometheus_own_linter_has_nothing_to_say():
    latest = latest_of(sweep(tracked()), every_s=60.0, clock=lambda: AT)
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=generate_latest(registry_of(latest)),
        capture_output=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
