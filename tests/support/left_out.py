"""Tests that run only when they are asked for by their marker."""

import pytest


def leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    """Deselect the tests with that marker, unless `-m` names it."""
    if marker in config.option.markexpr:
        return
    many = [item for item in items if item.get_closest_marker(marker)]
    if many:
        config.hook.pytest_deselected(items=many)
        items[:] = [item for item in items if item not in many]
