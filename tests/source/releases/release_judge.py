"""An explanation held against the truth: what is wrong with it, in words that name the place."""

from collections.abc import Iterator

from release_truth import Places, Row, places

from fleetops.model.proof import Explanation

CHECK_LINES = 40  # from the arithmetic to the comparison with what is free, in each of the pools


def faults(explanation: Explanation, row: Row) -> list[str]:
    """Everything in which the explanation differs from the truth."""
    found = [*_summary(explanation, row)]
    if explanation.verdict == "proven" and "proven" in (row.allowed("verdict") or []):
        found += [*_pools(explanation, row), *_simultaneous(explanation, row), *_check(explanation, row)]
        if row.flag == "hicache_size" and (where := places(explanation.version)):
            found += _lines(explanation, where)
    return found


def _summary(explanation: Explanation, row: Row) -> Iterator[str]:
    verdicts = row.allowed("verdict") or []
    if explanation.verdict not in verdicts:
        because = f" ({explanation.unproven_because})" if explanation.unproven_because else ""
        yield f"verdict is {explanation.verdict}{because}, not {' or '.join(verdicts)}"
        return
    if explanation.verdict == "proven":
        for name, has in (("unit", explanation.unit), ("scope", explanation.scope)):
            wanted = row.allowed(name)
            if wanted and has not in wanted:
                yield f"{name} is {has}, not {' or '.join(wanted)}"
    if explanation.verdict != "no-such-flag":
        defaults = row.allowed("default")
        if defaults is not None and explanation.default not in defaults:
            yield f"default is {explanation.default!r}, not {' or '.join(map(repr, defaults))}"
    if explanation.verdict == "unproven":
        words = row.allowed("because") or []
        if not explanation.unproven_because:
            yield "unproven, without a reason"
        elif words and not any(word in explanation.unproven_because for word in words):
            yield f"unproven because {explanation.unproven_because!r}, which names none of {words}"


def _pools(explanation: Explanation, row: Row) -> Iterator[str]:
    wanted: dict[str, list[str]] = row.said.get("pools", {})
    names = {pool.name.split(".")[0] for pool in explanation.pools}
    for name, shares in wanted.items():
        mine = {pool.share for pool in explanation.pools if pool.name.split(".")[0] == name}
        if not mine:
            yield f"no pool {name} (there are {', '.join(sorted(names)) or 'none'})"
        elif not mine <= set(shares):
            yield f"pool {name} takes {'/'.join(sorted(mine))}, not {'/'.join(shares)}"
    for pool in explanation.pools:
        if any(name in pool.name for name in row.said.get("not-a-pool", [])):
            yield f"{pool.name} ({pool.file}:{pool.line}) allocates nothing"


def _simultaneous(explanation: Explanation, row: Row) -> Iterator[str]:
    wanted = row.allowed("at-once")
    if wanted and explanation.simultaneous not in wanted:
        yield f"{explanation.simultaneous} whole pools at once, not {' or '.join(map(str, wanted))}"


def _check(explanation: Explanation, row: Row) -> Iterator[str]:
    wanted = row.allowed("sound")
    if wanted is None:
        return
    if explanation.check is None:
        yield "the engine's own check is not mentioned"
    elif explanation.check.sound not in wanted:
        yield f"the engine's own check is called sound={explanation.check.sound}, not {wanted}"


def _lines(explanation: Explanation, where: Places) -> Iterator[str]:
    declared = [f"{one.file}:{one.line}" for one in explanation.proof if one.role == "declaration"]
    if where.declared not in declared:
        yield f"declared at {', '.join(declared) or 'nowhere'}, not {where.declared}"
    shown = {f"{one.file}:{one.line}" for one in explanation.proof}
    by_name = {pool.name.split(".")[0]: f"{pool.file}:{pool.line}" for pool in explanation.pools}
    for name, has in by_name.items():
        if name in where.arithmetic and has != where.arithmetic[name]:
            yield f"the arithmetic of {name} is at {has}, not {where.arithmetic[name]}"
    if not shown & set(where.arithmetic.values()):
        yield f"the proof shows no arithmetic ({', '.join(where.arithmetic.values())})"
    if explanation.check and explanation.check.sound is False:
        pools = [place.split(":") for place in where.arithmetic.values()]
        if not any(
            explanation.check.file == file and 0 < explanation.check.line - int(line) <= CHECK_LINES
            for file, line in pools
        ):
            yield f"the check is shown at {explanation.check.file}:{explanation.check.line}, not {where.check}"
