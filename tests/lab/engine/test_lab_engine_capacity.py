"""How many tokens fit, by the engine's own arithmetic. Golden numbers: those that the real classes gave when run."""

import pytest

from fleetops.lab.engine import capacity
from fleetops.lab.engine.model_folder import EXAMPLE, SMALL

TORCH_BYTES = 96294 * 2**20
MLA = capacity.read_model(EXAMPLE.config, {"weight_bytes_total": EXAMPLE.weight_bytes_total}, ranks=8)


@pytest.mark.parametrize(("fraction", "tokens"), [(0.88, 231120), (0.80, 116171)])
def test_the_example_model_gives_the_incidents_device_tokens(fraction: float, tokens: int) -> None:
    assert capacity.device_tokens(TORCH_BYTES, fraction, MLA) == tokens


def test_device_tokens_are_whole_pages_and_can_be_capped() -> None:
    assert capacity.device_tokens(TORCH_BYTES, 0.88, MLA, page=64) == 231104
    assert capacity.device_tokens(TORCH_BYTES, 0.88, MLA, cap=1000) == 1000


def test_weights_that_do_not_fit_leave_no_tokens() -> None:
    assert capacity.device_tokens(TORCH_BYTES, 0.5, MLA) <= 0


@pytest.mark.parametrize(
    ("size_gb", "page", "tokens", "size_bytes"),
    [(48, 64, 683072, 48000835584), (300, 1, 4269126, 300000022272), (1, 64, 14272, 1002921984)],
)
def test_a_latent_models_host_pool(size_gb: int, page: int, tokens: int, size_bytes: int) -> None:
    assert MLA.cell_bytes == 70272
    assert capacity.host_tokens(size_gb, 2.0, 0, MLA, page=page) == tokens
    assert tokens * MLA.cell_bytes == size_bytes


def heads_model(ranks: int, **config: int) -> capacity.Model:
    return capacity.read_model(SMALL.config | config, {"weight_bytes_total": 0}, ranks)


def test_a_latent_cache_is_whole_on_every_rank_and_heads_are_divided() -> None:
    assert capacity.read_model(EXAMPLE.config, {"weight_bytes_total": 0}, ranks=1).cell_bytes == 70272
    assert heads_model(ranks=1).cell_bytes == 131072
    assert heads_model(ranks=8, num_hidden_layers=80).cell_bytes == 40960
    assert heads_model(ranks=16).cell_bytes == heads_model(ranks=8).cell_bytes


def test_host_pools_of_models_with_heads() -> None:
    assert capacity.host_tokens(2, 2.0, 0, heads_model(ranks=1)) == 15259
    assert capacity.host_tokens(48, 2.0, 0, heads_model(8, num_hidden_layers=80), page=64) == 1171904


def test_without_a_size_the_ratio_decides() -> None:
    assert capacity.host_tokens(0, 2.0, 100, heads_model(ranks=1), page=16) == 208


def test_the_default_fraction_leaves_what_activations_and_graphs_are_expected_to_take() -> None:
    assert capacity.static_fraction(97871, 8, 8192, 512) == 0.848
