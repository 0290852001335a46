"""What says something of the value and does nothing to it: help, comments, names, logs, and code that nothing runs."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
HIRADIX = "srt/mem_cache/hiradix_cache.py"
ARGS = "srt/server_args.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
SCHEDULER = "srt/managers/scheduler.py"
HELP = "The size of host KV cache memory pool in gigabytes, which will override the hicache_ratio if set."
NOW = "int(host_size * 1e9 // self.size_per_token)"


@variant("sglang-0.5.9", right="per-rank GB", often=True)
def help_that_lies(patch: Patch) -> None:
    patch.replace(
        ARGS, HELP, "Total host memory in GiB (2**30), summed over all tensor-parallel ranks of the server."
    )


@variant("sglang-0.5.9", right="per-rank GB")
def comments_that_lie(patch: Patch) -> None:
    patch.before(
        REAL,
        "if host_size > 0:",
        "# host_size / world_size * (1 << 30): the total in GiB, divided between the ranks",
    )
    patch.replace(ARGS, "    hicache_size: int = 0\n", "    hicache_size: int = 0  # total GiB / tp_size\n")


@variant("sglang-0.5.9", right="per-rank GB")
def docstring_and_log_that_lie(patch: Patch) -> None:
    patch.replace(
        REAL,
        "class HostKVCache(abc.ABC):\n",
        'class HostKVCache(abc.ABC):\n    """host_size: total GiB over all ranks; each takes host_size // tp_size * 2**30."""\n\n',
    )
    patch.before(
        REAL, "if host_size > 0:", 'logger.info(f"{host_size} GiB in total, {host_size * (1 << 30)} bytes")'
    )


@variant("sglang-0.5.9", right="per-rank GB", often=True)
def function_that_nothing_calls(patch: Patch) -> None:
    patch.append(
        HIRADIX,
        "\ndef build_shared_pool(kv_cache, server_args, params):\n"
        "    size = server_args.hicache_size / server_args.tp_size\n"
        "    pool = torch.empty(int(size * 1024**3), dtype=torch.uint8, pin_memory=True)\n"
        "    return MHATokenToKVPoolHost(kv_cache, 0, size * 1.07, 1, 'layer_first'), pool\n",
    )


@variant("sglang-0.5.9", right="per-rank GB")
def class_that_nothing_builds(patch: Patch) -> None:
    patch.append(
        REAL,
        "\nclass SharedTokenToKVPoolHost(HostKVCache):\n"
        "    def __init__(self, device_pool, server_args):\n"
        "        self.size = int(server_args.hicache_size / server_args.tp_size * (1 << 30))\n"
        "        self.kv_buffer = torch.empty(self.size, dtype=torch.uint8)\n",
    )


@variant("sglang-0.5.9", right="per-rank GB")
def tests_that_build_it_otherwise(patch: Patch) -> None:
    patch.add(
        "test/test_shared_pool.py",
        "from sglang.srt.mem_cache.memory_pool_host import MHATokenToKVPoolHost\n\n\n"
        "def test_it(server_args):\n"
        "    MHATokenToKVPoolHost(None, 0, server_args.hicache_size / server_args.tp_size * 2, 1, 'x')\n",
    )


@variant(SMALL, right="per-rank GB")
def dead_functions_that_call_each_other(patch: Patch) -> None:
    patch.append(
        CACHE,
        "\ndef first(server_args):\n    return second(server_args)\n\n\n"
        "def second(server_args):\n"
        "    first(server_args)\n"
        "    return HostPool(None, 1.0, server_args.hicache_size / server_args.tp_size, 1)\n",
    )


@variant(SMALL, right="per-rank GB")
def method_that_nothing_calls(patch: Patch) -> None:
    patch.append(
        CACHE,
        "\n    def rebuild_as_total(self, server_args):\n"
        "        self.host_pool = HostPool(None, 1.0, server_args.hicache_size // server_args.tp_size, 1)\n",
    )


@variant(SMALL, right="per-rank GB")
def branch_that_is_never_taken(patch: Patch) -> None:
    patch.before(
        POOL,
        "if host_size > 0:",
        "if False:\n    host_size = host_size / 8\n    host_size = host_size * 1.07",
    )


@variant(SMALL, right="per-rank GB")
def branch_for_type_checkers(patch: Patch) -> None:
    patch.replace(POOL, "import logging\n", "import logging\nfrom typing import TYPE_CHECKING\n")
    patch.before(POOL, "if host_size > 0:", "if TYPE_CHECKING:\n    host_size = host_size / 8")


@variant(SMALL, right="per-rank GB | unproven")
def code_after_a_return(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "HostCache(self.device_pool, server_args)\n",
        "HostCache(self.device_pool, server_args)\n        return\n        server_args.hicache_size = 7\n",
    )


@variant(SMALL, right="per-rank GB")
def a_string_that_looks_like_code(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nEXAMPLE = '''\nhost_size = host_size / tp_size * (1 << 30)\nserver_args.hicache_size = 7\n'''\n",
    )


@variant(SMALL, right="per-rank GiB")
def names_that_lie(patch: Patch) -> None:
    patch.word(POOL, "host_size", "total_gigabytes_over_all_ranks")
    patch.replace(POOL, "total_gigabytes_over_all_ranks * 1e9", "total_gigabytes_over_all_ranks * (1 << 30)")


@variant(SMALL, right="per-rank GB")
def helper_whose_name_lies(patch: Patch) -> None:
    patch.replace(
        POOL,
        "\n\nclass HostPool:",
        "\n\ndef divide_by_world_size(size):\n    return size\n\n\nclass HostPool:",
    )
    patch.before(POOL, "if host_size > 0:", "host_size = divide_by_world_size(host_size)")


@variant(SMALL, right="total GB | unproven")
def helper_that_divides_under_a_plain_name(patch: Patch) -> None:
    patch.replace(
        POOL,
        "\n\nclass HostPool:",
        "\n\ndef checked(size):\n    return size / torch.distributed.get_world_size()\n\n\nclass HostPool:",
    )
    patch.before(POOL, "if host_size > 0:", "host_size = checked(host_size)")


@variant(SMALL, right="per-rank GB")
def helper_that_only_checks(patch: Patch) -> None:
    patch.replace(
        POOL,
        "\n\nclass HostPool:",
        "\n\ndef check(size, world_size):\n    if size / world_size > 100:\n        raise ValueError(size)\n\n\nclass HostPool:",
    )
    patch.before(POOL, "if host_size > 0:", "check(host_size, 8)")


@variant(SMALL, right="per-rank GB")
def another_field_of_that_name(patch: Patch) -> None:
    patch.add(
        "srt/entrypoints/protocol.py",
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass DeploymentInfo:\n    hicache_size: float = 1.5\n",
    )


@variant(SMALL, right="per-rank GB")
def its_name_in_strings_and_reports(patch: Patch) -> None:
    patch.add(
        "srt/entrypoints/report.py",
        "def report(server_args):\n"
        '    return {"hicache_size": server_args.hicache_size, "order": ("tp_size", "hicache_size")}\n',
    )


@variant(SMALL, right="per-rank GB")
def reported_by_the_server_in_another_unit(patch: Patch) -> None:
    patch.replace(
        "srt/entrypoints/engine.py",
        "import multiprocessing as mp\n",
        "import logging\nimport multiprocessing as mp\n",
    )
    patch.replace(
        "srt/entrypoints/engine.py",
        "        self.processes = ",
        '        logging.info("%s GiB in total", server_args.hicache_size * server_args.tp_size / 1.073741824)\n'
        "        self.processes = ",
    )
