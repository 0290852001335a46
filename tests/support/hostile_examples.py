"""How many examples the tests of hostile input try: few in `make test`, many times that in `make fuzz`."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

TIMES = int(os.environ.get("FLEETOPS_FUZZ", "1"))
"""How many times more than `make test`; above one the examples are others each time."""


def examples(count: int) -> Callable[[Any], Any]:
    """Hypothesis settings for a property that is tried `count` times in `make test`."""
    return settings(
        max_examples=count * TIMES,
        deadline=None,
        derandomize=TIMES == 1,
        database=None,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.large_base_example,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
