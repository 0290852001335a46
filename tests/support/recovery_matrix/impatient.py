"""fleetops, but that its shipped playbooks give up after seconds where they would wait for minutes.

What never comes in the lab (a guest that hangs in its boot, memory that nothing frees) has not come after seconds either.
Run as `python -P impatient.py COMMAND ...`.
"""

from dataclasses import replace

from fleetops.cli.main import entry
from fleetops.playbook import load
from fleetops.playbook.book import Playbook

_PATIENCE = {
    "power-cycle": {"down": 20.0, "settle": 10.0, "back": 40.0},
    "verify-reclaimed": {"within": 40.0},
    "reset-gpus": {"settle": 10.0},
}
_DEADLINE_S = 60.0
_shipped = load.shipped_playbook


def impatient(name: str) -> Playbook:
    """The shipped playbook with other deadlines, and nothing else changed."""
    book = _shipped(name)
    return replace(
        book,
        entries=tuple(
            replace(
                one,
                options={**one.options, **_PATIENCE.get(one.step, {})},
                deadline_s=min(one.deadline_s, _DEADLINE_S),
            )
            for one in book.entries
        ),
    )


if __name__ == "__main__":
    load.shipped_playbook = impatient
    entry()
