"""Record what a fact's command prints on a host as a case of tests/facts, scrubbed.

    tools/record.py FACT CASE [ARGUMENT ...] [--via 'ssh root@pve-01'] [--source TEXT] [--replace OLD=NEW ...]

Without --via the command runs here. What tells whose machine it was is replaced, the same thing always by the same
stand-in: GPU UUIDs and serials, machine and boot ids, MAC and IP addresses, the host's name, and what --replace
names. `expected.json` is what the parser makes of it today: check it by hand before committing the case.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "facts")]

from recorded_case import FOLDER, TIMED_OUT, as_json  # noqa: E402 - found through the path set above

from fleetops.facts import build, names  # noqa: E402
from fleetops.model.command import Command, Outcome  # noqa: E402
from fleetops.ssh.quote import quote  # noqa: E402

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
STAND_INS: tuple[tuple[str, Callable[[int], str]], ...] = (
    (UUID, lambda number: f"00000000-0000-0000-0000-{number:012x}"),
    (r"(?<![0-9a-f:])[0-9a-f]{32}(?![0-9a-f:])", lambda number: f"{number:032x}"),
    (r"(?<=<serial>)[^<]+", lambda number: f"SERIAL-{number}"),
    (r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b", lambda number: f"02:00:00:00:00:{number % 256:02x}"),
    (r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b", lambda number: f"192.0.2.{number % 256}"),
)


def main() -> None:
    """Run the command, scrub what came, write the case."""
    arguments = _arguments()
    values = [int(word) if word.isdecimal() else word for word in arguments.argument]
    fact = build(arguments.fact, *values)
    outcome = scrubbed(
        _run(fact.command, arguments.via), dict(word.split("=", 1) for word in arguments.replace)
    )
    folder = FOLDER / arguments.fact / arguments.case
    folder.mkdir(parents=True)
    (folder / "stdout").write_bytes(outcome.stdout.encode("utf-8", "surrogateescape"))
    (folder / "stderr").write_bytes(outcome.stderr.encode("utf-8", "surrogateescape"))
    (folder / "status").write_text(TIMED_OUT if outcome.timed_out else str(outcome.status))
    (folder / "source").write_text(f"{arguments.source}\n")
    if values:
        (folder / "arguments.json").write_text(json.dumps(values) + "\n")
    expected = as_json(build(arguments.fact, *values).read(outcome))
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")
    print(f"{folder}: check expected.json")


def scrubbed(outcome: Outcome, replacements: dict[str, str]) -> Outcome:
    """The outcome with everything that identifies the machine replaced."""
    seen: dict[str, str] = {}
    texts = []
    for text in (outcome.stdout, outcome.stderr):
        for old, new in replacements.items():
            text = text.replace(old, new)  # noqa: PLW2901 - the text is scrubbed step by step
        for pattern, stand_in in STAND_INS:
            text = re.sub(pattern, lambda match, make=stand_in: _known(seen, match[0], make), text)  # noqa: PLW2901
        texts.append(text)
    return Outcome(status=outcome.status, stdout=texts[0], stderr=texts[1], timed_out=outcome.timed_out)


def _known(seen: dict[str, str], found: str, make: Callable[[int], str]) -> str:
    if found in seen.values():
        return found
    return seen.setdefault(found, make(len(seen) + 1))


def _run(command: Command, via: str) -> Outcome:
    argv = [*shlex.split(via), " ".join(map(quote, command.argv))] if via else list(command.argv)
    try:
        done = subprocess.run(
            argv, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=command.deadline_s
        )
    except FileNotFoundError:
        return Outcome(status=127, stderr=f"sh: 1: {argv[0]}: not found\n")
    except subprocess.TimeoutExpired:
        return Outcome(status=None, timed_out=True)
    stdout, stderr = (data.decode("utf-8", "surrogateescape") for data in (done.stdout, done.stderr))
    return Outcome(status=done.returncode, stdout=stdout, stderr=stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("fact", choices=names())
    parser.add_argument("case", help="healthy-NAME or failing-NAME")
    parser.add_argument("argument", nargs="*", help="what the fact is built with, where it needs any")
    parser.add_argument(
        "--via", default="", metavar="COMMAND", help="ssh and the host; without it, this machine"
    )
    parser.add_argument(
        "--source", required=True, help="which machine, distribution and releases this is from"
    )
    parser.add_argument("--replace", action="append", default=[], metavar="OLD=NEW")
    return parser.parse_args()


if __name__ == "__main__":
    main()
