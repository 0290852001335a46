"""Which source a launch would run on a node, and what the profile's flags mean in it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from fleetops.facts import engine_source, model_config
from fleetops.model.command import Command, Outcome, shell
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.errors import FleetopsError
from fleetops.model.fact import Missing
from fleetops.model.fleet import Node, Profile
from fleetops.model.proof import Explanation
from fleetops.sizing.shape import profile_shape
from fleetops.source.packages import package
from fleetops.source.transport import Ask, Files, ProofCache, explain_remotely, read_digest
from fleetops.steps.support.base import Situation
from fleetops.steps.support.launching import profile_of
from fleetops.steps.support.proof import flags_to_prove

# What a node's source shows of some flags; raises FleetopsError where it cannot be read.
Explain = Callable[[Ask, EngineSource, Sequence[str]], Mapping[str, Explanation]]

# stdin: the service's own environment, as a start gives it; then the service's own interpreter, with its own options.
_ASK = 'while IFS= read -r line; do export "$line"; done; exec "$@" < /dev/null'
# Where `-m PACKAGE` would find the package, without importing it; and the folder that was found before, spelled alike.
_WHERE = """\
import importlib.util, json, os, sys
package, found = sys.argv[1:]
spec = importlib.util.find_spec(package)
folder = os.path.realpath(os.path.dirname(spec.origin)) if spec and spec.origin else ""
print("fleetops-imports", json.dumps([folder, os.path.realpath(found) if found else ""]))
"""
_ANSWER = "fleetops-imports "
# Programs that start another one and change nothing else: asking through them is asking the interpreter.
_TRANSPARENT = frozenset({"env", "nice", "ionice", "numactl", "taskset", "chrt", "stdbuf", "setarch"})
_PYTHON = re.compile(r"python[0-9.]*t?")
_HARMLESS = re.compile(r"-.*|[A-Za-z_][A-Za-z0-9_]*=.*|[0-9,:x-]+|all", re.DOTALL)
_ASK_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Running:
    """The source that would run. `doubt`: why that is not known, "" where it is; `note`: how it was found."""

    source: EngineSource | None = None
    doubt: str = ""
    note: str = ""


def prove(situation: Situation, ask: Ask, explain: Explain) -> Situation:
    """The situation with what its profile's flags mean; a node that cannot be read leaves them unproven, with the reason.

    Args:
        situation: what is launched, and where.
        ask: runs a command on the node.
        explain: what the source shows of one flag.
    """
    profile = profile_of(situation)
    wanted = flags_to_prove(profile)
    if not wanted:
        return replace(situation, proofs={}, proof_note="")
    try:
        running = source_to_run(situation, profile, ask)
        config = situation.model_config or read_model_config(profile, ask)
        draft = situation.draft_config or read_draft_config(profile, ask)
    except FleetopsError as error:
        running = Running(doubt=error.message)
        config, draft = situation.model_config, situation.draft_config
    proofs = explained([flag.name for flag in wanted], profile, running, ask, explain)
    return replace(situation, proofs=proofs, proof_note=running.note, model_config=config, draft_config=draft)


def explained(
    flags: Sequence[str], profile: Profile, running: Running, ask: Ask, explain: Explain
) -> Mapping[str, Explanation]:
    """What the source that would run shows of the flags; where that cannot be said, unproven, with the reason."""
    why = running.doubt
    if running.source and not why:
        try:
            return explain(ask, running.source, flags)
        except FleetopsError as error:
            why = error.message
    lost = Explanation(flag="", engine=profile.engine, version="", verdict="unproven", unproven_because=why)
    return {flag: replace(lost, flag=flag) for flag in flags}


def explain_with(cache: ProofCache) -> Explain:
    """Read the source on the node; what was proven of the very same source before costs one round trip for all flags.

    It is read as root, as whom the service is started.
    """

    def explain(ask_plainly: Ask, source: EngineSource, flags: Sequence[str]) -> Mapping[str, Explanation]:
        files: Files = {}
        ask = as_root(ask_plainly)
        now = read_digest(ask, source.folder)
        of = package(source.engine)
        return {
            flag: explain_remotely(
                ask, source.folder, of, flag, version=source.version, cache=cache, files=files, before=now
            )
            for flag in flags
        }

    return explain


def as_root(ask: Ask) -> Ask:
    """The same, asked as root, as whom a service is started."""
    return lambda command: ask(replace(command, root=True))


def source_to_run(situation: Situation, profile: Profile, ask: Ask) -> Running:
    """The package that the profile's command would import, as its own interpreter says, where that can be asked.

    What the inventory names and the interpreter would not import proves nothing. Raises FleetopsError where the
    node cannot be asked.
    """
    return source_of_start(situation.observation.node, profile, _found(situation, profile, ask), ask)


def source_of_start(node: Node, profile: Profile, found: EngineSource | None, ask: Ask) -> Running:
    """The same where `found` is what the node's facts, or a look at its usual places, have shown."""
    named = node.source if node.engine == profile.engine else ""
    told = " ".join(profile.command)
    if not is_interpreter(profile.command):
        note = f"`{told}` is a wrapper that cannot be asked what it imports"
        if found is None:
            return Running(doubt=f"{note}, and no package {profile.engine} was found")
        return Running(source=found, note=f"{note}: read in {found.folder}")
    outcome = ask(interpreter_command(profile, found.folder if found else ""))
    answer = _answer(outcome)
    if answer is None:
        return Running(doubt=f"`{told}` could not be asked which {profile.engine} it imports: {outcome.said}")
    imported, same = answer
    if found and imported == same:
        return Running(source=found)
    return _otherwise(profile, ask, imported=imported, found=found, named=named)


def _otherwise(
    profile: Profile, ask: Ask, *, imported: str, found: EngineSource | None, named: str
) -> Running:
    """The interpreter imports something else than what was found, or nothing."""
    told, package = " ".join(profile.command), profile.engine
    if imported and not named:
        located = _located(package, imported, ask)
        return Running(source=located, doubt="" if located else f"{imported} holds no package {package}")
    if imported:
        return Running(
            doubt=f"the inventory's source is {named}, and `{told}` would import {package} from {imported}"
        )
    if found and named:
        # What the inventory names is taken at its word: the start may set up what a mere question does not.
        return Running(source=found, note=f"`{told}` by itself finds no {package}: read in {found.folder}")
    where = f", though one lies in {found.folder}" if found else ""
    return Running(doubt=f"`{told}` finds no package {package}{where}")


def _found(situation: Situation, profile: Profile, ask: Ask) -> EngineSource | None:
    """The package as the facts have it; looked for as root where they are about another engine's, or have none."""
    node = situation.observation.node
    if node.engine != profile.engine:
        return _located(profile.engine, "", ask)
    found = situation.observation.node_facts.value(ENGINE_SOURCE)
    return found or _located(profile.engine, node.source, ask)


def _located(package: str, folder: str, ask: Ask) -> EngineSource | None:
    fact = engine_source.fact(package, folder)
    found = fact.read(as_root(ask)(fact.command))
    return None if isinstance(found, Missing) else found


def is_interpreter(command: tuple[str, ...]) -> bool:
    """Whether this is a Python with nothing but options, perhaps behind programs that only start it.

    `[numactl, --interleave=all, python3, -u]` is one; `[python3, serve.py]` is not: asking it would run serve.py.
    """
    at = next(
        (place for place, word in enumerate(command) if _PYTHON.fullmatch(PurePosixPath(word).name)), None
    )
    if at is None:
        return False
    before, after = command[:at], command[at + 1 :]
    return all(
        PurePosixPath(word).name in _TRANSPARENT if place == 0 else _HARMLESS.fullmatch(word)
        for place, word in enumerate(before)
    ) and all(word.startswith("-") and not word.startswith(("-c", "-m")) for word in after)


def interpreter_command(profile: Profile, found: str) -> Command:
    """Ask the profile's interpreter, in the environment of a start, where it would import the package from."""
    argv = (*profile.command, "-c", _WHERE, profile.engine, found)
    environment = "".join(f"{name}={value}\n" for name, value in profile.environment.items())
    return shell(_ASK, *argv, name="fleetops-imports", stdin=environment, root=True, deadline_s=_ASK_S)


def _answer(outcome: Outcome) -> tuple[str, str] | None:
    """The folder it imports ("": none) and the found folder, both without links."""
    lines = [line for line in outcome.stdout.splitlines() if line.startswith(_ANSWER)]
    if not outcome.ok or not lines:
        return None
    try:
        imported, found = json.loads(lines[-1].removeprefix(_ANSWER))
    except ValueError:
        return None
    return str(imported), str(found)


def read_model_config(profile: Profile, ask: Ask) -> Mapping[str, Any] | None:
    """The model's config.json as the service will find it on the node; None where it cannot be read."""
    given = profile.environment
    home = given.get("HF_HOME")
    fact = model_config.fact(profile.model, given.get("HF_HUB_CACHE") or (f"{home}/hub" if home else ""))
    found = fact.read(as_root(ask)(fact.command))
    return None if isinstance(found, Missing) else found.config


def read_draft_config(profile: Profile, ask: Ask) -> Mapping[str, Any] | None:
    """The same of the draft model that the profile's flags name; None where they name none."""
    draft = profile_shape(profile).draft
    return read_model_config(replace(profile, model=draft), ask) if draft else None
