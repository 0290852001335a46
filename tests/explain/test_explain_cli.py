"""`fleetops explain` as it is typed: without inventory and SSH on a folder or a release, exit codes, JSON, misuse."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from explain_scenes import write_wheel
from pytest_mock import MockerFixture

from fleetops.cli.explain import reword
from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.fleet import releases
from fleetops.model.exit import Exit
from fleetops.source import trace


@dataclass
class Desk:
    """Where commands are typed: no inventory, no SSH, a cache of its own."""

    folder: Path
    environ: dict[str, str]
    out: str = field(default="", init=False)
    err: str = field(default="", init=False)

    def __call__(self, *words: str) -> Exit:
        world = World(
            stdin=io.StringIO(),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            environ=self.environ,
            cwd=self.folder,
        )
        code = run(["explain", *words], world)
        self.out, self.err = world.stdout.getvalue(), world.stderr.getvalue()  # type: ignore[attr-defined]
        return code

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


@pytest.fixture
def explain(tmp_path: Path) -> Desk:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FLEETOPS_CACHE": str(tmp_path / "cache")}
    return Desk(tmp_path, environ)


@pytest.mark.parametrize("flag", ["hicache_size", "hicache-size", "--hicache-size"])
def test_a_flag_is_written_as_one_likes(explain: Desk, site: Path, flag: str) -> None:
    assert explain(flag, "--source", str(site)) is Exit.FINE
    assert explain.out.startswith("hicache_size    GB per rank    proven")
    assert explain.err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--hicache-size", "--source", "DIR"),
        ("--source", "DIR", "--hicache-size"),
        ("--source=DIR", "--hicache-size", "--json"),
        ("--json", "--source", "DIR", "--no-cache", "--hicache-size"),
        ("--sour", "DIR", "--hicache-size"),
        ("--source", "DIR", "--", "--hicache-size"),
    ],
    ids=" ".join,
)
def test_the_engines_spelling_stands_anywhere(explain: Desk, site: Path, words: tuple[str, ...]) -> None:
    assert explain(*(word.replace("DIR", str(site)) for word in words)) is Exit.FINE


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (("--hicache-size", "node-174"), ["hicache-size", "node-174"]),
        (("hicache_size", "--sorce", "DIR"), ["hicache_size", "--sorce", "DIR"]),
        (("--inventory", "PATH", "--hicache-size"), ["--inventory", "PATH", "hicache-size"]),
        (("--inv", "PATH", "x", "--hicache-size"), ["--inv", "PATH", "x", "--hicache-size"]),
        (("--help",), ["--help"]),
        (("-h",), ["-h"]),
        ((), []),
    ],
)
def test_only_the_first_word_can_be_the_flag(typed: tuple[str, ...], read: list[str]) -> None:
    assert reword(typed) == read


def test_no_such_flag_is_1_and_names_the_nearest(explain: Desk, site: Path) -> None:
    assert explain("hicache_sise", "--source", str(site)) is Exit.FINDINGS
    assert "no such flag" in explain.out
    assert "did you mean hicache_size" in explain.out


def test_unproven_is_3_and_names_the_place(explain: Desk, package: Path) -> None:
    pool = package / "srt/mem_cache/memory_pool_host.py"
    pool.write_text(pool.read_text() + "\n\ndef broken(:\n")
    assert explain("hicache_size", "--source", str(package), "--json") is Exit.UNKNOWN
    assert explain.body["verdict"] == "unproven"
    assert re.search(r"srt/mem_cache/\w+\.py:\d+", explain.body["unproven_because"])


def test_json_is_one_object_with_everything(explain: Desk, site: Path) -> None:
    assert explain("hicache_size", "--source", str(site), "--json") is Exit.FINE
    body = explain.body
    assert {
        name: body[name] for name in ("schema", "flag", "engine", "version", "verdict", "unit", "scope")
    } == {
        "schema": "fleetops.explain/1",
        "flag": "hicache_size",
        "engine": "sglang",
        "version": "0.5.9",
        "verdict": "proven",
        "unit": "GB",
        "scope": "per-rank",
    }
    assert (body["default"], body["unproven_because"]) == (0, None)
    assert isinstance(body["notes"], list)
    assert set(body["pools"][0]) == {"file", "line", "name", "share", "when"}
    assert {"file", "line", "text", "role", "sha256"} <= set(body["proof"][0])
    assert body["proof"][0]["role"] == "declaration"
    for place in body["proof"]:
        source = (site / "sglang" / place["file"]).read_text().splitlines()
        assert place["text"].split()[0] in source[place["line"] - 1]


def test_a_relative_folder_is_relative_to_where_one_stands(explain: Desk, site: Path) -> None:
    assert explain("hicache_size", "--source", site.name) is Exit.FINE
    assert f"in {site.name}" in explain.out


def test_a_proof_that_was_made_before_is_shown_and_not_made_again(
    explain: Desk, site: Path, mocker: MockerFixture
) -> None:
    explain("hicache_size", "--source", str(site))
    before, tracer = explain.out, mocker.spy(trace, "explain")
    assert explain("hicache_size", "--source", str(site)) is Exit.FINE
    assert explain.out == before
    tracer.assert_not_called()
    explain("hicache_size", "--source", str(site), "--no-cache")
    tracer.assert_called_once()


def test_a_changed_source_is_proven_anew(explain: Desk, package: Path) -> None:
    explain("hicache_size", "--source", str(package), "--json")
    pool = package / "srt/mem_cache/memory_pool_host.py"
    pool.write_text(pool.read_text().replace("1e9", "(1 << 30)"))
    explain("hicache_size", "--source", str(package), "--json")
    assert explain.body["unit"] == "GiB"


def test_without_a_cache_nothing_is_kept(explain: Desk, site: Path, tmp_path: Path) -> None:
    assert explain("hicache_size", "--source", str(site), "--no-cache") is Exit.FINE
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_no_error(explain: Desk, site: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert explain("hicache_size", "--source", str(site)) is Exit.FINE
    assert explain.err == ""


def test_a_release_is_fetched_kept_and_explained(
    explain: Desk, tmp_path: Path, mocker: MockerFixture
) -> None:
    (tmp_path / "index").mkdir()
    write_wheel(tmp_path / "index", version="0.5.9")
    explain.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    assert explain("hicache_size", "--release", "sglang==0.5.9") is Exit.FINE
    assert explain.out.startswith(
        "hicache_size    GB per rank    proven             SGLang 0.5.9 as released\n"
    )
    run_pip = mocker.spy(releases.subprocess, "run")
    assert explain("hicache_size", "--release", "sglang==0.5.9", "--json") is Exit.FINE
    assert explain.body["version"] == "0.5.9"
    run_pip.assert_not_called()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hicache_size", "--source", "{site}", "node-174"), "--source goes without nodes"),
        (("hicache_size", "node-174", "--release", "sglang==0.5.9"), "--release goes without nodes"),
        (("hicache_size", "--source", "{site}", "--release", "sglang==0.5.9"), "not allowed with"),
        (("hicache_size", "--release", "sglang"), "is no release"),
        (("hicache_size", "--release", "torch==2.0"), "torch"),
        (("hicache_size", "--release", "sglang==0.5.9", "--engine", "vllm"), "contradict"),
        (("hicache_size", "--source", "{site}/nowhere"), "there is no folder"),
        (("hicache_size", "--source", "{site}/sglang/srt"), "looked for lmcache, sglang, vllm"),
        (("hicache_size", "--source", "{site}", "--engine", "torch"), "torch"),
        (("hicache size", "--source", "{site}"), "names no flag"),
        (("--", "--", "--source", "{site}"), "names no flag"),
        (("", "--source", "{site}"), "names no flag"),
        (("--source", "{site}"), "FLAG"),
        (("hicache_size", "--sorce", "{site}"), "--sorce"),
        (("--hicache-size",), "or read a folder: --source DIR"),
        (("--hicache-size=300", "--source", "{site}"), "names no flag"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_misuse_is_one_error_and_2(explain: Desk, site: Path, words: tuple[str, ...], said: str) -> None:
    assert explain(*(word.format(site=site) for word in words)) is Exit.USAGE
    assert explain.out == ""
    assert said in explain.err
    assert explain.err.startswith("error: ")
    assert "Traceback" not in explain.err


def test_a_folder_with_several_packages_asks_which(explain: Desk, site: Path) -> None:
    (site / "vllm").mkdir()
    (site / "vllm/__init__.py").touch()
    assert explain("hicache_size", "--source", str(site)) is Exit.USAGE
    assert "--engine" in explain.err
    assert explain("hicache_size", "--source", str(site), "--engine", "sglang") is Exit.FINE
    assert explain("hicache_size", "--source", str(site), "--engine", "vllm") is Exit.FINDINGS


def imported(words: tuple[str, ...], environ: Mapping[str, str]) -> set[str]:
    code = "import sys; sys.argv[0] = 'fleetops'; from fleetops.cli.main import entry; entry()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *words],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}


def test_a_folder_is_read_without_ssh_and_without_an_inventory(explain: Desk, site: Path) -> None:
    words = ("explain", "hicache_size", "--source", str(site))
    assert not imported(words, explain.environ) & {
        "fabric",
        "paramiko",
        "invoke",
        "yaml",
        "cryptography",
        "sqlite3",
    }


def test_an_interrupt_while_a_node_is_asked_is_130(explain: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (explain.folder / "fleet.yaml").write_text(
            f"nodes:\n  node-174: {{address: 127.0.0.1, port: {port}}}\n"
        )
        argv = [sys.executable, "-m", "fleetops", "explain", "hicache_size", "--inventory", "fleet.yaml"]
        with subprocess.Popen(
            argv,
            cwd=explain.folder,
            env=explain.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            silent.settimeout(30)
            try:
                connection, _ = silent.accept()
                with connection:
                    process.send_signal(signal.SIGINT)
                    stdout, stderr = process.communicate(timeout=60)
            finally:
                process.kill()
    assert (process.returncode, stdout, stderr) == (Exit.INTERRUPTED, "", "error: interrupted\n")


@pytest.mark.parametrize("flag", ["HICACHE_SIZE", "hicachesize", "--HiCache-Size", "hicacheSize"])
def test_a_flag_that_is_only_written_otherwise_is_the_one_that_is_meant(
    explain: Desk, site: Path, flag: str
) -> None:
    assert explain(flag, "--source", str(site)) is Exit.FINDINGS
    assert explain.out.splitlines()[-1] == "  did you mean hicache_size?"


def test_a_release_without_the_flag_offers_the_one_of_its_family(explain: Desk, package: Path) -> None:
    for file in package.rglob("*.py"):
        file.write_text(re.sub(r"\bhicache_size\b", "image_size", file.read_text()))
    assert explain("hicache_size", "--source", str(package)) is Exit.FINDINGS
    assert "did you mean hicache_ratio" in explain.out


def test_a_name_of_thousands_of_characters_is_not_echoed(explain: Desk, site: Path) -> None:
    assert explain("x" * 5000, "--source", str(site)) is Exit.USAGE
    assert "(5,000 characters) names no flag" in explain.err
    assert len(explain.err) < 300
