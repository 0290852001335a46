"""The launch command line, and flags read back from one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_scenes import profile

from fleetops.engines import engine, engines
from fleetops.engines.support.command_line import program, read_flags, write_flags
from fleetops.model.errors import UsageError
from fleetops.model.fleet import AUTO, Flag

SGLANG = engine("sglang")


def test_the_command_line_of_the_incidents_profile():
    assert SGLANG.argv(profile(), {}) == (
        "python3", "-m", "sglang.launch_server", "--model-path", "/models/example", "--tp", "8", "--port", "30000",
        "--enable-hierarchical-cache", "--hicache-size", "48",
    )  # fmt: skip


def test_the_command_prefix_comes_first_and_values_win_over_the_profile():
    launched = SGLANG.argv(profile(command=("numactl", "-N", "0", "python3")), {"hicache_size": 40})
    assert launched[:5] == ("numactl", "-N", "0", "python3", "-m")
    assert launched[-1] == "40"


def test_a_false_flag_is_left_out_and_a_whole_float_is_written_as_an_integer_takes_it():
    flags = (
        Flag(name="disable_radix_cache", value=False),
        Flag(name="hicache_size", value=48.0),
        Flag(name="mem_fraction_static", value=0.88),
    )
    assert SGLANG.argv(profile(flags=flags), {})[-4:] == (
        "--hicache-size",
        "48",
        "--mem-fraction-static",
        "0.88",
    )


def test_a_size_that_nobody_has_settled_is_not_launched():
    flags = (
        Flag(name="dtype", value=AUTO),
        Flag(name="hicache_size", value=AUTO, unit="GB", scope="per-rank"),
    )
    unsized = profile(flags=flags)
    with pytest.raises(ValueError, match="hicache_size is auto"):
        SGLANG.argv(unsized, {})
    assert SGLANG.argv(unsized, {"hicache_size": 48})[-4:] == ("--dtype", "auto", "--hicache-size", "48")


def test_the_launched_command_line_is_recognised_again():
    argv = SGLANG.argv(profile(), {})
    assert program(argv).name == "sglang.launch_server"
    assert read_flags(program(argv).arguments)["tp"] == "8"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("--port", "1", "--port=2"), {"port": "2"}),
        (("--cuda-graph-bs", "1", "2", "4", "--tp", "8"), {"cuda_graph_bs": "1 2 4", "tp": "8"}),
        (("--random-seed", "-1", "-v", "x"), {"random_seed": "-1"}),
        (("--enable-metrics",), {"enable_metrics": "true"}),
        (("--model-path=", "--tp", "2"), {"model_path": "", "tp": "2"}),
        (("stray", "--tp", "2"), {"tp": "2"}),
    ],
)
def test_flags_are_read_as_argparse_reads_them(words, flags):
    assert read_flags(words) == flags


names = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
texts = st.text(min_size=1).filter(lambda text: not text.startswith("-"))
values = st.one_of(st.just(True), st.integers(min_value=0), texts)


@given(st.dictionaries(names, values))
def test_what_is_written_is_read_back(flags):
    expected = {name: "true" if value is True else str(value) for name, value in flags.items()}
    assert read_flags(write_flags(flags)) == expected


@given(st.lists(st.text()))
def test_no_command_line_breaks_the_reader(words):
    program(words)
    read_flags(words)


def test_host_memory_is_taken_by_the_size_or_by_the_ratio_that_stands_in_for_it():
    enabled = Flag(name="enable_hierarchical_cache", value=True)
    size = Flag(name="hicache_size", value=48, unit="GB", scope="per-rank")
    offload = Flag(name="cpu_offload_gb", value=10, unit="GiB", scope="per-rank")
    assert SGLANG.host_memory_flags(profile(flags=(enabled, size, offload))) == (size, offload)
    assert SGLANG.host_memory_flags(profile(flags=())) == ()
    (default,) = SGLANG.host_memory_flags(profile(flags=(enabled, replace(size, value=0))))
    assert (default.name, default.value, default.unit) == ("hicache_ratio", 2.0, "ratio")


def test_data_parallel_attention_takes_a_neighbouring_port():
    assert SGLANG.ports(30000, {}) == (30000,)
    assert SGLANG.ports(30000, {"enable_dp_attention": "true", "nccl_port": "28888"}) == (30000, 28888, 30233)


def test_engines_are_found_by_their_folder_and_asked_for_by_name():
    assert "sglang" in [one.name for one in engines()]
    with pytest.raises(UsageError, match="no engine 'triton'"):
        engine("triton")
