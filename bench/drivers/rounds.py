"""A driver whose connections stay open: one round for every line on standard input, told in a line of JSON."""

import json
import resource
import sys
from collections.abc import Callable, Sequence


def answer_rounds(once: Callable[[], Sequence[str]]) -> None:
    """Until standard input ends. `once` gives what each host printed; the CPU is this process's own."""
    for _ in sys.stdin:
        before = _cpu_s()
        answers = once()
        print(json.dumps({"answers": list(answers), "cpu_s": _cpu_s() - before}), flush=True)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
