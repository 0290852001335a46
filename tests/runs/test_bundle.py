"""The evidence of a run in one file: private, bounded, the same each time, with what is missing said, and without secrets."""

import json
import os
import stat
import tarfile
from pathlib import Path

import pytest

from fleetops.playbook import bundle

PLANTED = (
    "planted-flag-value",
    "planted-site-value",
    "planted-environment-value",
    "planted-argv-value",
    "planted-url-value",
    "planted-header-value",
    "planted-setting, planted too",
    "planted-json-value",
    "hf_PlantedPlantedPlanted",
)
# What a host may print, and a journal or a piece of evidence hold.
LEAKS = (
    "python3 -m sglang.launch_server --api-key planted-argv-value --port 30000",
    "HF_TOKEN=planted-environment-value",
    "cannot log in as planted-site-value, nor with planted-flag-value",
    "proxy http://bob:planted-url-value@proxy:3128",
    "Authorization: Bearer planted-header-value",
    "ServerArgs(api_key='planted-setting, planted too', port=30000)",
    '{"hf_token": "planted-json-value"}',
    "downloading with hf_PlantedPlantedPlanted",
)


def unpacked(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        files = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        return {
            name.partition("/")[2]: file.read().decode("utf-8", "surrogateescape")
            for name, file in files.items()
        }


@pytest.fixture
def healed(runs):
    """A recorded run with all of its evidence."""
    run_id = runs.recorded("healed")
    for name in (
        "engine.log",
        "kernel.log",
        "processes.txt",
        "stacks.txt",
        "facts-before.json",
        "facts-after.json",
    ):
        (runs.of(run_id) / name).write_text("{}" if name.endswith(".json") else "text\n")
    return run_id


def test_all_of_the_evidence_is_packed_and_only_its_owner_can_read_it(runs, healed):
    said = runs.call("show", healed, "--bundle")
    path = runs.folder / f"{healed}.tar.gz"
    assert (said.code, stat.S_IMODE(path.stat().st_mode)) == (0, 0o600)
    with tarfile.open(path) as tar:
        members = tar.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert names == {path.name for path in runs.of(healed).iterdir()} | {
        "CONTENTS.txt",
        "run.json",
        "story.txt",
    }
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert all(
        member.isreg() and member.mode == 0o600 and member.name.startswith(f"{healed}/") for member in members
    )
    inside = unpacked(path)
    assert "verify reclaimed" in inside["story.txt"]
    assert json.loads(inside["run.json"])["schema"] == "fleetops.run/1"
    assert "missing\n  nothing" in inside["CONTENTS.txt"]
    assert "SGLang 0.5.9" in inside["CONTENTS.txt"]
    assert all(name in said.stdout for name in names)


def test_what_is_missing_is_said_with_its_reason(runs):
    run_id = runs.recorded("healed")
    (runs.of(run_id) / "not-kept.txt").write_text("kernel.log: dmesg: Operation not permitted\n")
    body = runs.call("show", run_id, "--bundle", "--json").json
    missing = body["bundle"]["missing"]
    assert missing["kernel log"] == "kernel.log: dmesg: Operation not permitted"
    assert missing["stacks"] == "nothing of it was found on the hosts"
    assert missing["facts before"] == "not kept by this run"
    assert "kernel log: kernel.log: dmesg" in unpacked(Path(body["bundle"]["path"]))["CONTENTS.txt"]


def test_no_secret_is_in_the_story_the_json_or_the_bundle(runs):
    run_id = "20261130-205536-node-174-ffffff"
    text = "\n".join(LEAKS)
    runs.made(
        run_id,
        [
            {
                "at": 1.0,
                "event": "begin",
                "playbook": "recover",
                "node": "node-174",
                "waived": {"size": text},
                "findings": [{"severity": "critical", "subject": "x", "evidence": one} for one in LEAKS],
                "planned": [{"step": "start-service", "title": "start", "detail": text}],
                "facts": [{"name": "port", "before": text, "idle": text, "ok": None}],
            },
            {"at": 2.0, "event": "proofs", "step": "prove", "flags": {"x": "cannot use planted-site-value"}, "note": ""},
            {"at": 2.0, "event": "step", "step": "start-service"},
            {"at": 3.0, "event": "intent", "step": "start-service", "why": text, "host": "node-174", "argv": ["sh", "-c", "x", "start", "--api-key", "planted-argv-value", *LEAKS]},
            {"at": 4.0, "event": "outcome", "step": "start-service", "status": 1, "stdout": text, "stderr": text},
            {"at": 5.0, "event": "step-end", "step": "start-service", "status": "failed", "detail": LEAKS[0]},
            {"at": 6.0, "event": "end", "status": "failed", "why": text, "hint": text},
        ],
    )  # fmt: skip
    folder = runs.of(run_id)
    (folder / "engine.log").write_text(text)
    (folder / "facts-before.json").write_text(json.dumps({"hf_token": "planted-json-value", "lines": LEAKS}))
    shown = [
        runs.screen(run_id),
        runs.screen(run_id, columns=400),
        runs.call("show", run_id, "--json").stdout,
    ]
    shown += [runs.call().stdout, runs.call("--json").stdout]
    body = runs.call("show", run_id, "--bundle", "--json")
    inside = unpacked(Path(body.json["bundle"]["path"]))
    assert {"engine.log", "facts-before.json", "journal.jsonl"} < set(inside)
    json.loads(inside["facts-before.json"])
    assert {json.loads(line)["at"] for line in inside["journal.jsonl"].splitlines()} == {1, 2, 3, 4, 5, 6}
    for secret in PLANTED:
        for where in (*shown, body.stdout, *inside.values()):
            assert secret not in where
    assert "cannot use" in inside["journal.jsonl"]


def test_no_link_is_followed_and_nothing_else_is_waited_for(runs, healed, tmp_path):
    (tmp_path / "elsewhere").write_text("of somebody else")
    (runs.of(healed) / "link.log").symlink_to(tmp_path / "elsewhere")
    (runs.of(healed) / "folder").mkdir()
    os.mkfifo(runs.of(healed) / "fifo.log")
    body = runs.call("show", healed, "--bundle", "--json").json
    inside = unpacked(Path(body["bundle"]["path"]))
    assert not {"link.log", "folder", "fifo.log"} & set(inside)
    assert "of somebody else" not in "".join(inside.values())
    notes = {member["name"]: member["note"] for member in body["bundle"]["members"]}
    assert all(notes[name].startswith("left out") for name in ("link.log", "folder", "fifo.log"))
    assert "link.log   left out" in inside["CONTENTS.txt"]


def test_of_a_large_file_its_end_is_packed_and_all_together_are_bounded(runs, healed, monkeypatch):
    monkeypatch.setattr(bundle, "_MOST_OF_ONE", 2**20)
    monkeypatch.setattr(bundle, "_MOST_OF_ALL", 2**20 + 2**19)
    (runs.of(healed) / "a.log").write_text("z" * 3 * 2**20)
    (runs.of(healed) / "b.log").write_text("x" * 2**20 + "y" * 2**20)
    body = runs.call("show", healed, "--bundle", "--json").json
    inside = unpacked(Path(body["bundle"]["path"]))
    assert set(inside["b.log"]) == {"y"}
    assert "a.log" not in inside
    assert "journal.jsonl" in inside
    assert "engine.log" in inside
    notes = {member["name"]: member["note"] for member in body["bundle"]["members"]}
    assert notes["b.log"] == "the last 1 of 2.0 MiB"
    assert notes["a.log"].startswith("left out: the bundle holds")


def test_a_file_that_is_there_is_never_overwritten(runs, healed):
    for name in (f"{healed}.tar.gz", "named.tar.gz"):
        (runs.folder / name).write_text("of somebody else")
    assert runs.call("show", healed, "--bundle").stdout.startswith(str(runs.folder / f"{healed}-2.tar.gz"))
    said = runs.call("show", healed, "--bundle", "named.tar.gz")
    assert said.code == 2
    assert "is not overwritten" in said.stderr
    assert (runs.folder / "named.tar.gz").read_text() == "of somebody else"


def test_a_named_file_a_folder_and_a_place_that_is_not_there(runs, healed):
    (runs.folder / "out").mkdir()
    assert runs.call("show", healed, "--bundle", "mine.tar.gz").code == 0
    assert runs.call("show", healed, "--bundle", "out").code == 0
    assert (runs.folder / "mine.tar.gz").exists()
    assert (runs.folder / "out" / f"{healed}.tar.gz").exists()
    said = runs.call("show", healed, "--bundle", "nowhere/x.tar.gz")
    assert said.code == 4
    assert "cannot write" in said.stderr


def test_the_same_evidence_gives_the_same_bytes(runs, healed):
    runs.call("show", healed, "--bundle", "one.tar.gz")
    runs.call("show", healed, "--bundle", "two.tar.gz")
    assert (runs.folder / "one.tar.gz").read_bytes() == (runs.folder / "two.tar.gz").read_bytes()


def test_what_is_no_text_does_not_break_it(runs, healed):
    (runs.of(healed) / "kernel.log").write_bytes(b"\xff\xfe\x00 HF_TOKEN=planted-x\n")
    with (runs.of(healed) / "journal.jsonl").open("a") as file:
        file.write('{"at": 2, "event": "int')
    runs.call("show", healed, "--bundle", "x.tar.gz")
    inside = unpacked(runs.folder / "x.tar.gz")
    assert inside["kernel.log"].encode("utf-8", "surrogateescape").startswith(b"\xff\xfe\x00 HF_TOKEN=")
    assert "planted-x" not in inside["kernel.log"]
