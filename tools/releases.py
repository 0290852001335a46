"""Explains the flags of every engine release there is, holds them against the truth, and writes docs/releases.md.

`make test-releases`. The truth is tests/source/releases/truth.yaml, which a person wrote by reading the wheels.
"""

import argparse
import datetime as dt
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/source/releases"))

from packaging.version import Version  # noqa: E402 - the tests' own helpers come first
from release_judge import faults  # noqa: E402
from release_truth import flags_of, row  # noqa: E402
from release_wheels import release_tree  # noqa: E402

from fleetops.model.proof import Explanation  # noqa: E402
from fleetops.source.packages import package  # noqa: E402
from fleetops.source.trace import explain  # noqa: E402

PAGE = ROOT / "docs/releases.md"
FIRST = {"sglang": "0.4.5.post2"}
READ = {
    "vllm": ("0.8.5", "0.11.0", "0.14.0", "0.17.1", "0.20.0", "0.27.1", "0.33.0"),
    "lmcache": ("0.3.1", "0.3.9", "0.4.4", "0.5.6"),
}
# The newest SGLang releases are wheels of a platform; without these pip does not list them everywhere.
ELSEWHERE = ("--python-version", "3.12", "--platform", "manylinux_2_34_x86_64", "--only-binary", ":all:")
COLUMNS = (
    "release",
    "verdict",
    "unit",
    "scope",
    "default",
    "pools",
    "at once",
    "declared",
    "size made of it",
    "own check",
    "s",
)
HEAD = """\
# What the flags mean, release by release

Written by `make test-releases` on {date}: `fleetops explain` on every release that the package index had on that day, each
answer held against a reading by hand ([`truth.yaml`](../tests/source/releases/truth.yaml), which also says why). Nothing in
the program knows of these rows: it reads the source anew each time, so a release that is missing here, or one that was
patched, is no worse off.

*At once*: how many times one rank may take the whole value (hybrid models). *Own check*: whether passing the engine's own
comparison means that the node can hold what all ranks take. *s*: seconds of CPU for the whole tree.
"""


@dataclass(frozen=True)
class Result:
    """One flag of one release."""

    package: str
    version: str
    flag: str
    cells: tuple[str, ...]
    faults: tuple[str, ...]


def results_of(release: str) -> list[Result]:
    """Every flag of one release. Runs in a process of its own."""
    tree = release_tree(release)
    return [_result(release, flag) for flag in flags_of(tree.package, tree.version) if flag != ABSENT]


ABSENT = "no_such_flag_anywhere"
NO_FLAG = "no such flag"


def _result(release: str, flag: str) -> Result:
    tree = release_tree(release)
    truth = row(tree.package, flag, tree.version)
    assert truth  # noqa: S101 - flags_of has asked
    begun = time.process_time()
    explanation = explain(flag, tree, package(tree.package))
    cells = _cells(explanation, time.process_time() - begun)
    return Result(tree.package, tree.version, flag, cells, tuple(faults(explanation, truth)))


def _cells(explanation: Explanation, seconds: float) -> tuple[str, ...]:
    """One row of the page."""
    if explanation.verdict == "no-such-flag":
        return (explanation.version, NO_FLAG, *[""] * (len(COLUMNS) - 3), f"{seconds:.1f}")
    declared = [f"{one.file}:{one.line}" for one in explanation.proof if one.role == "declaration"]
    pools = dict.fromkeys(f"{pool.name} ({pool.share})" for pool in explanation.pools)
    made = dict.fromkeys(f"{pool.file}:{pool.line}" for pool in explanation.pools)
    proven = explanation.is_proven
    return (
        explanation.version,
        explanation.verdict,
        explanation.unit if proven else "",
        explanation.scope if proven else "",
        "" if explanation.default is None else str(explanation.default),
        "<br>".join(pools),
        str(explanation.simultaneous or ""),
        declared[0] if declared else "",
        "<br>".join(made),
        _soundness(explanation),
        f"{seconds:.1f}",
    )


def _soundness(explanation: Explanation) -> str:
    if explanation.check is None:
        return ""
    word = {True: "sound", False: "unsound", None: "unclear"}[explanation.check.sound]
    return f"{word} ({explanation.check.file}:{explanation.check.line})"


def listed(name: str) -> list[str]:
    """The versions that the package index has, from FIRST on, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", name, *ELSEWHERE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"the package index does not say which versions of {name} there are:\n{done.stderr}")
    versions = (one.strip() for one in found[1].split(","))
    return sorted((one for one in versions if Version(one) >= Version(FIRST[name])), key=Version)


def page(results: Iterable[Result], date: str) -> str:
    """docs/releases.md."""
    parts = [HEAD.format(date=date)]
    ordered = sorted(
        results, key=lambda one: (PACKAGES.index(one.package), one.flag != "hicache_size", one.flag)
    )
    for (name, flag), group in groupby(ordered, key=lambda one: (one.package, one.flag)):
        rows = sorted(group, key=lambda one: Version(one.version))
        if all(one.cells[1] == NO_FLAG for one in rows):
            continue
        head = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"
        lines = [f"| {' | '.join(cell.replace('|', '/') for cell in one.cells)} |" for one in rows]
        parts.append("\n".join([f"## {package(name).title} `{flag}`\n", head, *lines]) + "\n")
    return "\n".join(parts)


PACKAGES = ("sglang", "vllm", "lmcache")


def report(results: Iterable[Result]) -> Iterator[str]:
    """What goes to the terminal: a line for each, and what is wrong beneath it."""
    for one in results:
        cells = [cell.replace("<br>", ", ") for cell in one.cells]
        yield f"{'FAIL' if one.faults else 'ok':4} {one.package} {cells[0]:12} {one.flag:20} {' '.join(cells[1:4]):24} {cells[-1]}s"
        yield from (f"       {fault}" for fault in one.faults)


def main() -> int:
    """Exit status 1 where an answer differs from the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "releases", nargs="*", metavar="NAME-VERSION", help="these alone; the page is left alone"
    )
    chosen = parser.parse_args().releases
    wanted = chosen or [
        *(f"sglang-{one}" for one in listed("sglang")),
        *(f"{name}-{one}" for name, versions in READ.items() for one in versions),
    ]
    results: list[Result] = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        for some in pool.map(results_of, wanted):
            print("\n".join(report(some)), flush=True)
            results += some
    if not chosen:
        date = dt.datetime.now(tz=dt.UTC).date().isoformat()
        PAGE.write_text(page(results, date))
    wrong = sum(bool(one.faults) for one in results)
    print(f"{len(results)} flags of {len(wanted)} releases, {wrong} of them not as they are")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
