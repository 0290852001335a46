"""Which NVLinks of each GPU are up, as `nvidia-smi nvlink -s` reports them; the long report does not tell.

After each GPU's line come its links, with their rate or `<inactive>`; in their place stands that all of them are inactive,
or that the GPU has none (`Not Supported`). Of some cards a part is inactive by design: two that share a bridge use only
the links that it joins.
"""

import re

from fleetops.facts.gpus import ask, late
from fleetops.facts.output import lines, require_ok
from fleetops.model.command import Outcome
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.gpu import NVLINKS, NvLinks

_GPU = re.compile(r"GPU (\d+): .*\(UUID: ([^)]+)\)")
_LINK = re.compile(r"\s+Link (\d+): (?:([0-9.]+) GB/s|<?inactive>?)", re.IGNORECASE)
_ALL_INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)
_NONE = re.compile(r"not supported", re.IGNORECASE)


def parse(outcome: Outcome) -> tuple[NvLinks, ...]:
    """One for each GPU that has NVLink, by index. Raises Unanswered, Absent, Unparsable as the report of the GPUs does."""
    late(outcome)
    require_ok(outcome, "nvidia-smi")
    found: dict[str, NvLinks] = {}
    gpu: re.Match[str] | None = None
    for line in filter(str.strip, lines(outcome)):
        if match := _GPU.match(line):
            gpu = match
        elif gpu is None or not _is_known(line):
            raise Unparsable(f"not a line about NVLink: {line.strip()[:80]}")
        elif not _NONE.search(line):
            link = _LINK.match(line)
            before = found.get(gpu[2], NvLinks(uuid=gpu[2], index=int(gpu[1])))
            rates = (*before.rates, float(link[2] or 0)) if link else ()
            found[gpu[2]] = NvLinks(uuid=gpu[2], index=int(gpu[1]), rates=rates)
    if gpu is None:
        raise Unparsable("nvidia-smi named no GPU")
    return tuple(sorted(found.values(), key=lambda one: one.index))


def _is_known(line: str) -> bool:
    return any(pattern.search(line) for pattern in (_LINK, _ALL_INACTIVE, _NONE))


FACT: Fact[tuple[NvLinks, ...]] = Fact(NVLINKS, ask("nvlink", "-s"), parse, late)
