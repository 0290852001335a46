"""What the engine's own check will say: it differs by release, and passing it may mean nothing."""

import pytest
from sizing_cases import ALONE, SHARED, THERE, proof

from fleetops.model.kv import KvCache
from fleetops.sizing.window import window_of

KV = KvCache(bytes_per_token=70272, layers=61, detail="")


def window(explanation, *, ranks=8, available=THERE, kv=KV, device_tokens=None):
    return window_of(explanation, ranks=ranks, available_bytes=available, kv=kv, device_tokens=device_tokens)


def test_up_to_0_5_18_each_rank_alone_is_let_pass_with_all_that_the_node_has():
    """The incident: eight ranks of 300 GB each passed a check on a node with 445."""
    found = window(proof())
    assert found.sound is False
    assert found.lets_pass(300)
    assert found.up_to == pytest.approx((THERE - 10 * 2**30) / 1e9)
    assert not found.lets_pass(435)


def test_from_0_5_19_each_rank_has_its_part():
    """Seen with the real class of 0.5.23: of 449e9 and 8 ranks 300 was refused, with 54.78 GB free; 48 and 54 passed."""
    found = window(proof(version="0.5.23", check=SHARED), available=449 * 10**9)
    assert round(found.up_to, 2) == 54.78
    assert [found.lets_pass(value) for value in (48, 54, 55, 300)] == [True, True, False, False]


@pytest.mark.parametrize(("version", "above"), [("0.4.5.post3", 8.16), ("0.5.14", 8.16), ("0.5.15", None)])
def test_up_to_0_5_14_a_pool_no_larger_than_the_devices_fails_as_well(version, above):
    found = window(proof(version=version), device_tokens=116171)
    assert found.above == (pytest.approx(above, abs=0.01) if above else None)
    assert found.lets_pass(8) is (above is None)
    assert found.lets_pass(9)


def test_the_number_that_the_least_size_needs_is_named():
    assert window(proof()).missing == "device tokens"
    assert window(proof(), kv=None, device_tokens=9).missing == "bytes of a token"
    assert window(proof(version="0.5.15")).missing == ""


def test_without_a_check_or_the_nodes_memory_nothing_is_foreseen():
    assert window(proof(check=None)) is None
    assert window(proof(unit="ratio")) is None
    assert window(proof(scope="total")) is None
    assert window(proof(), available=None).lets_pass(48) is None


def test_a_check_that_cannot_be_judged_has_no_upper_bound():
    found = window(proof(check=ALONE.__class__(file="a.py", line=1, text="", sound=None, why="")))
    assert found.up_to is None
    assert found.lets_pass(48) is None


def test_more_ranks_than_memory_let_nothing_pass():
    assert window(proof(check=SHARED), available=10**9).up_to == 0
