"""The pages of docs/ on playbooks and their steps, from the checks, steps, guards and facts themselves."""

import inspect
import re
from pathlib import Path

from fleetops.checks import all_checks
from fleetops.playbook.guards import GUARDS, WAIVABLE
from fleetops.playbook.load import shipped_playbook
from fleetops.resources import resource_folder
from fleetops.steps import shipped_steps
from fleetops.steps.support.base import OptionSpec, Step
from fleetops.steps.support.reclaim import UNTIL_FACTS

EXAMPLE = Path(__file__).resolve().parents[1] / "docs/examples/step-package"
PLAYBOOKS_HEAD = """\
# Playbooks

`fleetops playbook run NAME NODE` runs one as `recover` runs its own: plan, question, journal, guards, locks.
`--dry-run` shows what it would do, command by command. `--from STEP` begins with a step and `--only STEP` takes no other:
what is left out stands in the plan and in the journal, guards hold all the same, and what a step rests on cannot be left
out (a start without its proof).

## Shipped
"""
OWN = """\
## Your own

A file `playbooks/NAME.yaml` in the inventory's folder is a playbook of yours: `fleetops playbook list` shows it,
`fleetops playbook check` says everything that is wrong in it, with file, line and column. One that has a shipped one's
name is taken in its place by `playbook run`, and each time that is said; `fleetops recover`, `kill`, `reset-gpus` and
`launch` always take the shipped ones. One that is called `recover` changes nothing on a node that is well.

```yaml
summary: clear the node, and nothing else
steps:
  - step: keep-evidence
  - step: stop-service
    options: {grace: 1m}
    until: [ranks, holders]
    deadline: 2m
  - step: reset-gpus
    when: [gpu-memory-held]
    until: [gpu-memory]
```

| key | what it says |
| --- | --- |
| `summary` | one line for the list |
| `relaunch` | when `playbook run` takes the steps that start a service: `always` (the default), `with-profile` (where the node has one), `if-asked` (where `--profile` names one) |
| `steps` | what is done, in order |

A step has `step`, its name in [steps.md](steps.md), and, where wanted, `options`, `when` (checks: the step is taken only if
one of them found something), `until` (facts that show it worked), `deadline` (how long they may take) and `on-failure`
(`stop`, or `next` for the next step; a guard's refusal always ends the run).
"""
STEPS_HEAD = """\
# Steps

What a [playbook](playbooks.md) can name. A duration is `20s`, `10m` or `1h`.
"""
PACKAGES = """\
## Steps of your own

A package brings a step by an entry point of the group `fleetops.steps`, whose name is the step's. It is loaded when a
playbook names it, and not before; `fleetops playbook list` shows what is installed. A package that cannot be loaded is
named in the error and disturbs no other command; a name that a shipped step or another package has is refused.

What `plan` gets is what was read of the node a moment ago, and it does nothing. `run` acts through the desk alone: `ask`
for reads; `change` for changes, which checks the step's `guards` again and writes the intent down first; `look` reads the
facts anew. Both say what stands against it with `Refused`, and what went wrong with `StepFailed`. A defect in either is
told as the package's.

A whole one, [`pyproject.toml`](examples/step-package/pyproject.toml) and
[`fleetops_uptime.py`](examples/step-package/fleetops_uptime.py):
"""


def playbooks() -> str:
    """docs/playbooks.md: what there is, and what a playbook may name."""
    names = sorted(path.stem for path in resource_folder("playbooks").glob("*.yaml"))
    shipped = [
        f"| [`{name}`](../playbooks/{name}.yaml) | {shipped_playbook(name).summary} |" for name in names
    ]
    checks = [f"| `{check.name}` | {check.title} |" for check in all_checks() if not check.sweeps_only]
    facts = [f"| `{name}` | {meaning} |" for name, meaning in UNTIL_FACTS.items()]
    guards = [f"| `{name}` | {_first_line(guard)} |" for name, guard in GUARDS.items()]
    return "\n".join(
        [
            PLAYBOOKS_HEAD,
            *_table("| playbook | what it is for |", shipped),
            OWN,
            "## `when`: checks\n",
            *_table("| check | all is well when |", checks),
            "## `until`: facts\n",
            *_table("| fact | it is reached when |", facts),
            "## Guards\n",
            *_table("| guard | it holds when |", guards),
            f"Beside these there are the node's own `lock`, and {', '.join(f'`{name}`' for name in WAIVABLE)}, the only ones",
            'that may be waived: `--waive GUARD="reason"`, journaled.\n',
        ]
    )


def steps() -> str:
    """docs/steps.md: every shipped step with its options, and how a package adds one."""
    parts = [STEPS_HEAD, *(_section(step) for _, step in sorted(shipped_steps().items())), PACKAGES]
    for name, kind in (("pyproject.toml", "toml"), ("fleetops_uptime.py", "python")):
        parts.append(f"```{kind}\n{(EXAMPLE / name).read_text(encoding='utf-8')}```\n")
    return "\n".join(parts)


def _section(step: Step) -> str:
    said = f"## {step.name}\n\n{step.summary[:1].upper()}{step.summary[1:]}.\n"
    if told := _manners(step):
        said += f"\n{told}\n"
    if not step.options:
        return said
    rows = [
        f"| `{name}` | {option.kind} | {_default(option)} | {cell(option.meaning)} |"
        for name, option in step.options.items()
    ]
    return said + "\n" + "\n".join(_table("| option | kind | default | what it is |", rows))


def _manners(step: Step) -> str:
    """What is special about it."""
    named = [f"`{name}`" for name in step.guards]
    also = "the guards of the node's platform" if step.acts_outside else ""
    guards = ", ".join([*named, *([also] if also else [])])
    needs = ", ".join(f"`{name}`" for name in step.needs)
    said = (
        f"Guards: {guards}." if guards else "",
        f"Rests on {needs}: before it in every playbook." if needs else "",
        "It may act on the node's hypervisor." if step.acts_outside else "",
        "It starts a service, or is part of that." if step.relaunches else "",
    )
    return " ".join(filter(None, said))


def _table(head: str, rows: list[str]) -> list[str]:
    return [head, re.sub(r"[^|]+", " --- ", head), *rows, ""]


def _default(option: OptionSpec) -> str:
    if option.kind == "switch":
        return "true" if option.default else "false"
    return f"{option.default:g} s" if option.kind == "duration" else f"{option.default:g}"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].rstrip(".")


def cell(text: str) -> str:
    """Text in a table's cell."""
    return text.replace("|", "\\|")
