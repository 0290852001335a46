"""What a launch is said to hold: each figure with whose it is, and what is not known without."""

import pytest

from fleetops.model.record import Capacity
from fleetops.steps.record_launch import tokens_held


@pytest.mark.parametrize(
    ("device", "host", "told"),
    [
        (231_120, 683_061, "device tokens 231,120, host tokens 683,061 a rank"),
        (231_120, None, "device tokens 231,120 a rank, host tokens not recorded"),
        (None, 683_061, "device tokens not recorded, host tokens 683,061 a rank"),
        (None, None, "device tokens not recorded, host tokens not recorded"),
    ],
)
def test_only_what_is_known_is_somebodys(device, host, told):
    assert tokens_held(Capacity(device_tokens=device, host_tokens=host), "a rank") == told
