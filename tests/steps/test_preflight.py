"""What stands against a start is said so that whoever reads it knows whom to ask."""

import pytest
from node_scenes import BYSTANDER, LISTENERS, PORT, listener, observe, profile

from fleetops.steps.preflight import _from_facts


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ((BYSTANDER.pid,), f"port {PORT} is taken by process {BYSTANDER.pid} (python3 /root/bystander.py)"),
        ((), f"port {PORT} is taken"),
    ],
    ids=["a stranger", "nobody that is seen"],
)
def test_a_port_that_is_taken_is_told_with_who_has_it(owner, said):
    observation = observe(facts={LISTENERS: (listener(*owner),)})
    assert _from_facts(observation, profile()) == [said]
