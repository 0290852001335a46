"""A launch beside the last one: delays where they were recorded, and a comparison only of what can be compared."""

from dataclasses import asdict, replace

from fleetops.model.duration import show_delay
from fleetops.model.load import SHORT, STANDARD
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.render.launched import incomparable, launched

NOW = Capacity(
    device_tokens=231120,
    host_tokens=683061,
    ranks=8,
    tokens_per_s=912.4,
    ready_s=312,
    available_after_bytes=52 * 10**9,
    ttft_s=0.0421,
    ttft_p99_s=0.0653,
    itl_s=0.00871,
    itl_p99_s=1.2,
    **asdict(SHORT),
)


def record(capacity, profile="hicache48"):
    return LaunchRecord(node="node-174", profile=profile, at=1.0, run_id="r", capacity=capacity)


def rows(now, then=None):
    """label -> (now, last)."""
    text = launched(record(now), record(then, "before") if then else None).plain
    found = {}
    for line in text.splitlines():
        label, *cells = [cell.strip() for cell in line.strip().split("   ") if cell.strip()]
        found[label] = cells
    return found


def test_rates_of_the_same_load_stand_beside_each_other():
    shown = rows(NOW, replace(NOW, tokens_per_s=850.0, ttft_s=0.04, ttft_p99_s=0.05))
    assert shown["tokens/s"] == ["912", "850"]
    assert shown["first token"] == ["42 ms (p99 65 ms)", "40 ms (p99 50 ms)"]
    assert shown["between tokens"] == ["8.7 ms (p99 1.20 s)"] * 2
    assert "rates under 8 streams, 24 requests, prompts of 32 tokens, answers of 64" in shown


def test_rates_of_another_load_are_not_shown_as_if():
    then = replace(NOW, concurrency=4, tokens_per_s=470.0)
    shown = rows(NOW, then)
    assert shown["tokens/s"] == ["912", "not comparable (concurrency 4)"]
    assert shown["first token"] == ["42 ms (p99 65 ms)"]
    assert "470" not in launched(record(NOW), record(then)).plain


def test_every_setting_that_differs_is_named():
    told = incomparable(NOW, replace(NOW, **asdict(STANDARD)))
    assert told == "not comparable (prompts of 512, answers of 256, requests 48)"
    assert incomparable(NOW, NOW) == ""


def test_a_record_from_before_settings_were_recorded_is_not_compared():
    shown = rows(NOW, Capacity(device_tokens=116171, tokens_per_s=850.0))
    assert shown["tokens/s"] == ["912", "not comparable (settings not recorded)"]
    assert shown["device tokens"] == ["231,120", "116,171"]


def test_what_was_not_measured_is_not_recorded_and_takes_no_rows():
    bare = Capacity(device_tokens=5)
    assert rows(bare, bare)["tokens/s"] == ["not recorded", "not recorded"]
    assert "first token" not in rows(bare, bare)
    assert rows(NOW, replace(NOW, ttft_s=None))["first token"] == ["42 ms (p99 65 ms)", "not recorded"]


def test_the_first_launch_stands_alone():
    assert rows(NOW)["tokens/s"] == ["912"]


def test_delays_in_the_unit_that_matters():
    spoken = [
        show_delay(each) for each in (0.0004, 0.00871, 0.00994, 0.00996, 0.042, 0.9994, 0.9996, 59.9, 61)
    ]
    assert spoken == [
        "0.4 ms",
        "8.7 ms",
        "9.9 ms",
        "10 ms",
        "42 ms",
        "999 ms",
        "1.00 s",
        "59.90 s",
        "1 min 1 s",
    ]


def test_what_was_taken_stands_beside_what_was_asked():
    taken = replace(NOW, host_taken_bytes=412 * 10**9, host_asked_bytes=215 * 10**9)
    assert rows(taken, NOW)["host memory"] == ["412 GB taken, 215 GB asked", "not recorded"]
    assert "host memory" not in rows(NOW, NOW)
