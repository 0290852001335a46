"""What only a sweep judges of a service: whether it generates, is the same, is the profile's, and holds what it held."""

from dataclasses import replace

import pytest
from node_scenes import COMMAND, launcher, observe, process, profile, rank, service_processes

from fleetops.checks import all_checks
from fleetops.model.engine import (
    GENERATED,
    SERVICE_METRICS,
    SERVICE_RECORDS,
    Generated,
    ServiceMetrics,
    ServiceRecord,
)
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Severity
from fleetops.model.machine import IDENTITY, Identity
from fleetops.model.past import Past, Sample
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.model.size import DOES_NOT_FIT, FIT, FITS, UNPROVEN, Fit

CHECKS = {check.name: check for check in all_checks()}
CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING
OLD = Identity(hostname="node-174", machine_id="", boot_id="b1", uptime_s=1e6)
LAUNCHER = f"{launcher().pid}:{launcher().start_ticks}"


def sweeping(*processes, past=None, last_launch=None, facts=None, **fields):
    observation = observe(
        *(processes or service_processes()), facts={IDENTITY: OLD, **(facts or {})}, **fields
    )
    return replace(observation, sweeping=True, past=past or Past(), last_launch=last_launch)


def judged(name, observation):
    return CHECKS[name].judge(observation)


def metrics(**fields):
    return {SERVICE_METRICS: ServiceMetrics(**fields)}


def test_all_of_them_are_sweeps_only():
    names = (
        "not-generating",
        "service-drifted",
        "service-restarted",
        "queue-stuck",
        "capacity-less",
        "does-not-fit",
    )
    assert all(CHECKS[name].sweeps_only for name in names)


def test_a_service_that_generates_is_well_and_one_that_was_not_asked_says_nothing():
    assert judged("not-generating", sweeping(facts={GENERATED: Generated(tokens=1, seconds=0.1)})) == []
    assert judged("not-generating", sweeping()) == []


def test_one_that_gives_no_token_is_critical_however_alive_it_looks():
    silent = {GENERATED: Missing(Gap.TIMED_OUT, "2 requests for a token: no answer in 10 s")}
    (one,) = judged("not-generating", sweeping(facts=silent))
    assert (one.severity, one.subject) == (CRITICAL, "not generating")
    assert one.next == "fleetops recover node-174 --dry-run"


def test_one_that_is_still_coming_up_is_given_its_profiles_time():
    young = replace(OLD, uptime_s=launcher().start_ticks / 100 + 60)
    silent = {GENERATED: Missing(Gap.TIMED_OUT, "2 requests for a token: no answer in 10 s"), IDENTITY: young}
    (one,) = judged("not-generating", sweeping(facts=silent))
    assert (one.severity, one.subject) == (WARNING, "not generating yet")
    assert "60 s old, and its profile gives it 900 s" in one.evidence


@pytest.mark.parametrize("gap", [Gap.UNREACHABLE, Gap.UNPARSABLE])
def test_what_could_not_be_asked_is_unknown(gap):
    (one,) = judged("not-generating", sweeping(facts={GENERATED: Missing(gap, "why")}))
    assert one.severity is UNKNOWN


def test_a_service_as_its_profile_says_has_not_drifted():
    assert judged("service-drifted", sweeping()) == []


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--hicache-size", "300"), "--hicache-size 300 where the profile has 48"),
        (
            ("--hicache-size", "48", "--chunked-prefill-size", "4096"),
            "--chunked-prefill-size 4096, which the profile has not",
        ),
        ((), "no --hicache-size where the profile has 48"),
    ],
)
def test_other_flags_than_the_profiles_are_named(argv, says):
    by_hand = replace(launcher(), cmdline=(*COMMAND[:-2], *argv))
    (one,) = judged("service-drifted", sweeping(by_hand, *(rank(number) for number in range(8))))
    assert one.severity is WARNING
    assert says in one.evidence


def test_another_model_is_named_and_a_secret_is_not_shown():
    words = [word.replace("/models/example", "/models/other") for word in COMMAND]
    by_hand = replace(launcher(), cmdline=(*words, "--api-key", "hunter2hunter2"))
    (one,) = judged("service-drifted", sweeping(by_hand, *(rank(number) for number in range(8))))
    assert "it serves /models/other, not /models/example" in one.evidence
    assert "hunter2" not in one.evidence


def test_the_same_process_has_not_restarted_and_at_first_sight_nothing_has():
    assert judged("service-restarted", sweeping(past=Past(words={"launcher": LAUNCHER}))) == []
    assert judged("service-restarted", sweeping()) == []


def test_another_process_than_the_last_sweep_saw_has():
    (one,) = judged("service-restarted", sweeping(past=Past(words={"launcher": "99:500", "boot-id": "b1"})))
    assert (one.severity, one.check) == (WARNING, "service-restarted")
    assert "the last sweep saw pid 99" in one.evidence


def test_a_reboot_and_a_launch_on_record_explain_it():
    rebooted = Past(words={"launcher": "99:500", "boot-id": "b0"})
    assert judged("service-restarted", sweeping(past=rebooted)) == []
    own = launcher()
    record = ServiceRecord(
        profile="hicache48", run_id="r", pid=own.pid, start_ticks=own.start_ticks, port=30000, log="/l"
    )
    told = {SERVICE_RECORDS: (record,)}
    past = Past(words={"launcher": "99:500", "boot-id": "b1"})
    assert judged("service-restarted", sweeping(past=past, facts=told)) == []


def queue(waiting, running):
    series = {
        "requests-waiting-count": (Sample(at=0, value=waiting),),
        "requests-running-count": (Sample(at=0, value=running),),
    }
    return Past(series=series)


def test_a_queue_that_nothing_works_on_in_two_sweeps_is_stuck():
    (one,) = judged("queue-stuck", sweeping(facts=metrics(waiting=12, running=0), past=queue(3, 0)))
    assert (one.severity, one.subject) == (CRITICAL, "queue stuck")
    assert "12 requests wait and none is running, as in the sweep before (3)" in one.evidence


@pytest.mark.parametrize(
    ("now", "before"), [((12, 4), (3, 0)), ((12, 0), (3, 2)), ((0, 0), (3, 0)), ((12, 0), (0, 0))]
)
def test_a_queue_that_moves_is_well(now, before):
    waiting, running = now
    told = metrics(waiting=waiting, running=running)
    assert judged("queue-stuck", sweeping(facts=told, past=queue(*before))) == []


def test_without_metrics_nothing_is_concluded_and_silent_ones_are_unknown():
    assert judged("queue-stuck", sweeping(facts={SERVICE_METRICS: Missing(Gap.ABSENT, "404")})) == []
    (one,) = judged("queue-stuck", sweeping(facts={SERVICE_METRICS: Missing(Gap.TIMED_OUT, "5 s")}))
    assert one.severity is UNKNOWN


def launched(device=231_120, host=1_171_904, of="hicache48"):
    capacity = Capacity(device_tokens=device, host_tokens=host)
    return LaunchRecord(node="node-174", profile=of, at=0, run_id="run-1", capacity=capacity)


def test_a_cache_that_holds_less_than_was_recorded_is_told_with_both_numbers():
    told = metrics(device_tokens=116_171, host_tokens=1_171_904)
    (one,) = judged("capacity-less", sweeping(facts=told, last_launch=launched()))
    assert one.evidence == "116,171 device tokens where 231,120 were recorded (run run-1)"
    assert one.severity is WARNING


@pytest.mark.parametrize(
    ("device", "last"), [(231_120, launched()), (230_000, launched()), (1, launched(of="other")), (1, None)]
)
def test_the_same_cache_another_profiles_and_none_on_record_say_nothing(device, last):
    assert judged("capacity-less", sweeping(facts=metrics(device_tokens=device), last_launch=last)) == []


def fits(verdict, **fields):
    return {FIT: Fit(of="x", verdict=verdict, says="8 x 300 GB = 2,400 GB asked, 445 GB available", **fields)}


def test_a_profile_that_does_not_fit_is_named_before_it_is_launched():
    asked = fits(DOES_NOT_FIT, next="fleetops size --profile hicache48 --set hicache_size=48 node-174")
    (one,) = judged("does-not-fit", sweeping(process(1, "init"), facts=asked))
    assert (one.severity, one.subject) == (WARNING, "profile does not fit")
    assert one.evidence == "hicache48: 8 x 300 GB = 2,400 GB asked, 445 GB available"
    assert one.next == "fleetops size --profile hicache48 --set hicache_size=48 node-174"


def test_what_fits_says_nothing_and_what_is_not_proven_is_unknown():
    assert judged("does-not-fit", sweeping(facts=fits(FITS))) == []
    assert judged("does-not-fit", sweeping()) == []
    (one,) = judged("does-not-fit", sweeping(facts=fits(UNPROVEN)))
    assert one.severity is UNKNOWN
    (one,) = judged("does-not-fit", sweeping(facts={FIT: Missing(Gap.UNPARSABLE, "why")}))
    assert one.severity is UNKNOWN


def test_a_profile_that_the_source_contradicts_is_told():
    (one,) = judged("does-not-fit", sweeping(facts=fits(UNPROVEN, contradicted=("hicache_size",))))
    assert (one.severity, one.subject) == (WARNING, "profile contradicted")


def test_an_answer_is_kept_for_the_next_sweep_and_another_form_is_none():
    one = Fit(of="x", verdict=FITS, says="y", next="z", contradicted=("a",))
    assert Fit.remembered(one.as_text) == one
    assert all(Fit.remembered(text) is None for text in ("", "[]", "{}", '{"of": 1}', "null"))


def test_in_a_sweep_a_whole_services_d_state_counts_from_the_second_sighting():
    stuck = [*service_processes()]
    stuck[3] = replace(stuck[3], state="D")
    assert judged("ranks-in-d-state", sweeping(*stuck)) == []
    seen = f"{stuck[3].pid}:{stuck[3].start_ticks}"
    (one,) = judged("ranks-in-d-state", sweeping(*stuck, past=Past(words={"ranks-in-d": seen})))
    assert one.severity is WARNING
    assert "as in the sweep before" in one.evidence


def test_another_profile_is_none_of_these_checks_business():
    other = profile(port=30001)
    for name in ("service-drifted", "service-restarted", "capacity-less"):
        assert judged(name, sweeping(profile=other, past=Past(words={"launcher": "99:500"}))) == []
