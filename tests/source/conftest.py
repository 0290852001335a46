"""What reads engine source: tests of every release there is are run by `make test-releases` alone."""

import pytest
from left_out import leave_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, "releases")
