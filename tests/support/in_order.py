"""The order of a whole run: files that wait for a lab come first, so that no worker ends up alone with one of them."""

import pytest


def labs_first(items: list[pytest.Item]) -> None:
    """Files with a test of a lab before the others, each in the order in which it was found."""
    of_labs = {item.path for item in items if _waits_for_a_lab(item)}
    items.sort(key=lambda item: item.path not in of_labs)


def _waits_for_a_lab(item: pytest.Item) -> bool:
    named = item.fixturenames if isinstance(item, pytest.Function) else ()
    return item.get_closest_marker("lab") is not None or "lab" in named
