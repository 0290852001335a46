"""docs/checks.md: every check of a sweep, and every threshold with its source, from the checks and the shipped files themselves."""

import importlib
import pkgutil
from collections.abc import Iterator

from document_playbooks import cell

import fleetops.checks
from fleetops.inventory.thresholds import shipped_thresholds

HEAD = """\
# Checks

What `fleetops sweep` judges. A check that lacks a fact says **unknown**, which is never well. Those with `recover` in the
last column are judged by `probe` and `recover` as well, and may be named in a playbook's `when`; one that is *latched* is
believed at its first sighting, any other after two sweeps of three. Each is one file in `fleetops/checks/`.
"""
TOPICS = {
    "host": "The node's machine",
    "service": "The service",
    "gpu": "The GPUs",
    "guest": "The node as a guest",
    "fleet": "The node beside the others",
    "hypervisor": "The Proxmox host",
}
THRESHOLDS = """\
## Thresholds

Each can be set in the inventory, for all hosts, by a word of the GPUs' name, or by group:

```yaml
thresholds:
  all: {disk-used-percent: 85}
  gpu-models: {H200: {gpu-temperature-margin-c: 3}}
  groups: {rack-a: {clock-skew-s: 2}}
```
"""


def checks() -> str:
    """The page."""
    parts = [HEAD]
    for folder, title in TOPICS.items():
        parts += [f"## {title}\n", "| check | all is well when | |", "| --- | --- | --- |"]
        parts += [*_rows(folder), ""]
    parts += [THRESHOLDS, "| threshold | shipped | meaning | from |", "| --- | ---: | --- | --- |"]
    for one in shipped_thresholds():
        by_model = "".join(f"; {word}: {value:g}" for word, value in one.gpu_models.items())
        parts.append(
            f"| `{one.name}` | {one.value:g} {one.unit}{by_model} | {cell(one.meaning)} | {cell(one.source)} |"
        )
    return "\n".join([*parts, ""])


def _rows(folder: str) -> Iterator[str]:
    package = importlib.import_module(f"{fleetops.checks.__name__}.{folder}")
    modules = (
        importlib.import_module(f"{package.__name__}.{one.name}")
        for one in pkgutil.iter_modules(package.__path__)
    )
    for check in sorted((module.CHECK for module in modules), key=lambda check: check.name):
        sweeps_only = getattr(check, "sweeps_only", True)
        said = [*([] if sweeps_only else ["recover"]), *(["latched"] if check.latched else [])]
        yield f"| `{check.name}` | {cell(check.title)} | {', '.join(said)} |"
