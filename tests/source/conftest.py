"""What reads engine source: tests of every release there is are run by `make test-releases` alone."""

import pytest

EVERY_RELEASE = "releases"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out, unless `-m` asks for them by name."""
    if EVERY_RELEASE in config.option.markexpr:
        return
    many = [item for item in items if item.get_closest_marker(EVERY_RELEASE)]
    if many:
        config.hook.pytest_deselected(items=many)
        items[:] = [item for item in items if item not in many]
