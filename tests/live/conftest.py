"""A real vLLM server is a matter of 3.5 GB and minutes: `make test-live` alone runs these."""

import pytest
from left_out import leave_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, "live")
