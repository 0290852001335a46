"""The scope: divisions by parallel sizes on the way, and divisions that are none of them."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
HIRADIX = "srt/mem_cache/hiradix_cache.py"
DECODE = "srt/disaggregation/decode_kvcache_offload_manager.py"
SCHEDULER = "srt/managers/scheduler.py"
ARGS = "srt/server_args.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
NOW = "host_size * 1e9 // self.size_per_token"
PASSED = "server_args.hicache_size,"


def at_every_reader(patch: Patch, new: str) -> None:
    """In 0.5.9 two files read the flag: three pools in one, two in the other."""
    patch.replace(HIRADIX, PASSED, new, times=3)
    patch.replace(DECODE, PASSED, new, times=2)


@variant("sglang-0.5.9", right="total GB", often=True)
def divided_by_tensor_parallel_size(patch: Patch) -> None:
    at_every_reader(patch, "server_args.hicache_size / server_args.tp_size,")


@variant("sglang-0.5.9", right="total GB")
def divided_by_all_parallel_sizes(patch: Patch) -> None:
    at_every_reader(patch, "server_args.hicache_size // (server_args.tp_size * server_args.pp_size),")


@variant("sglang-0.5.9", right="unproven")
def divided_in_one_of_two_readers(patch: Patch) -> None:
    patch.replace(HIRADIX, PASSED, "server_args.hicache_size / server_args.tp_size,", times=3)


@variant("sglang-0.5.9", right="total GB")
def divided_where_the_size_is_made(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_world_size\n\n",
    )
    patch.replace(
        REAL, NOW, "host_size / get_tensor_model_parallel_world_size() * 1e9 // self.size_per_token"
    )


@variant("sglang-0.5.9", right="total GB")
def reassigned_to_the_rank_s_share(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_world_size\n\n",
    )
    patch.before(
        REAL,
        "if host_size > 0:",
        "world_size = get_tensor_model_parallel_world_size()\nhost_size = host_size / world_size",
    )


@variant("sglang-0.5.9", right="total GB | unproven")
def size_of_a_token_covers_all_ranks(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_world_size\n\n",
    )
    patch.replace(
        REAL, NOW, "host_size * 1e9 // (self.size_per_token * get_tensor_model_parallel_world_size())"
    )


@variant("sglang-0.5.9", right="total GB | unproven")
def divided_by_the_size_of_a_group(patch: Patch) -> None:
    size = "server_args.hicache_size / torch.distributed.get_world_size(group={}),"
    patch.replace(HIRADIX, PASSED, size.format("params.tp_cache_group"), times=3)
    patch.replace(DECODE, PASSED, size.format("tp_group"), times=2)


@variant("sglang-0.5.9", right="unproven")
def multiplied_by_tensor_parallel_size(patch: Patch) -> None:
    at_every_reader(patch, "server_args.hicache_size * server_args.tp_size,")


@variant("sglang-0.5.9", right="unproven")
def doubled_on_the_way(patch: Patch) -> None:
    patch.before(REAL, "if host_size > 0:", "host_size *= 2")


@variant("sglang-0.5.9", right="unproven")
def replaced_on_the_way(patch: Patch) -> None:
    patch.before(REAL, "if host_size > 0:", "host_size = 100")


@variant("sglang-0.5.9", right="unproven | per-rank GB")
def capped_by_a_constant(patch: Patch) -> None:
    patch.before(REAL, "if host_size > 0:", "host_size = min(host_size, 100)")


@variant("sglang-0.5.9", right="unproven")
def raised_to_a_constant(patch: Patch) -> None:
    patch.before(REAL, "if host_size > 0:", "host_size = max(host_size, 100)")


@variant("sglang-0.5.9", right="unproven | total GB")
def divided_by_the_arguments_themselves(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "    def _handle_hicache(self):\n",
        "    def _handle_hicache(self):\n        self.hicache_size = self.hicache_size / self.tp_size\n",
    )


@variant("sglang-0.5.9", right="unproven | total GB")
def overwritten_by_the_scheduler(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n",
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n"
        "        server_args.hicache_size = server_args.hicache_size // self.tp_size\n",
    )


@variant("sglang-0.5.9", right="unproven")
def overwritten_with_a_constant(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n",
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n"
        "        server_args.hicache_size = 100\n",
    )


@variant("sglang-0.5.9", right="unproven | total GB")
def overwritten_by_name(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n",
        "    def init_cache_with_memory_pool(self):\n        server_args = self.server_args\n"
        '        setattr(server_args, "hicache_size", server_args.hicache_size // self.tp_size)\n',
    )


@variant("sglang-0.5.9", right="per-rank GB")
def only_the_check_is_divided(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_world_size\n\n",
    )
    patch.replace(
        REAL,
        "available_bytes = host_mem.available - ten_gb",
        "available_bytes = (host_mem.available - ten_gb) // get_tensor_model_parallel_world_size()",
    )


@variant(SMALL, right="total GB | unproven")
def tokens_divided_after_the_arithmetic(patch: Patch) -> None:
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            server_args.tp_size,\n")
    patch.replace(POOL, "page_size: int):", "page_size: int, tp_size: int):")
    patch.before(POOL, "self.kv_buffer = self.init_kv_buffer()", "self.size = self.size // tp_size")


@variant(SMALL, right="per-rank GB | unproven")
def tokens_divided_after_the_allocation(patch: Patch) -> None:
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            server_args.tp_size,\n")
    patch.replace(POOL, "page_size: int):", "page_size: int, tp_size: int):")
    patch.after(POOL, "self.kv_buffer = self.init_kv_buffer()", "self.reported = self.size // tp_size")


@variant(SMALL, right="per-rank GB")
def divided_for_the_log_only(patch: Patch) -> None:
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            server_args.tp_size,\n")
    patch.replace(POOL, "page_size: int):", "page_size: int, tp_size: int):")
    patch.before(POOL, "if host_size > 0:", 'logger.info("a share is %s", host_size / tp_size)')


@variant(SMALL, right="total GB")
def divided_through_a_local(patch: Patch) -> None:
    patch.before(
        CACHE,
        "self.host_pool = HostPool(",
        "shards = server_args.tp_size\nsize = server_args.hicache_size / shards",
    )
    patch.replace(CACHE, PASSED, "size,")


@variant(SMALL, right="total GB | unproven")
def divided_through_a_helper(patch: Patch) -> None:
    patch.append(ARGS, "\ndef ranks(server_args):\n    return server_args.tp_size * server_args.pp_size\n")
    patch.replace(CACHE, "import ServerArgs\n", "import ServerArgs, ranks\n")
    patch.replace(CACHE, PASSED, "server_args.hicache_size / ranks(server_args),")


@variant(SMALL, right="total GB | unproven")
def multiplied_by_the_inverse(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size * (1 / server_args.tp_size),")


@variant(SMALL, right="per-rank GB | unproven")
def divided_and_multiplied_again(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.tp_size * server_args.tp_size,")


@variant(SMALL, right="unproven | per-node GB")
def divided_by_the_ranks_of_a_node(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / (server_args.tp_size // server_args.nnodes),")


@variant(SMALL, right="unproven")
def divided_by_the_nodes(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.nnodes,")


@variant(SMALL, right="unproven")
def divided_by_the_stages_only(patch: Patch) -> None:
    """With four ranks and one stage each of the four takes all of it: that is no total."""
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.pp_size,")


@variant(SMALL, right="unproven")
def divided_by_the_replicas_only(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.dp_size,")


@variant(SMALL, right="unproven")
def divided_under_a_condition(patch: Patch) -> None:
    patch.before(
        CACHE,
        "self.host_pool = HostPool(",
        "size = server_args.hicache_size\nif server_args.page_size > 1:\n    size = size / server_args.tp_size",
    )
    patch.replace(CACHE, PASSED, "size,")


@variant(SMALL, right="unproven")
def divided_in_one_arm_of_an_expression(patch: Patch) -> None:
    patch.replace(
        CACHE,
        PASSED,
        "server_args.hicache_size / server_args.tp_size if server_args.page_size > 1 else server_args.hicache_size,",
    )


@variant(SMALL, right="per-rank GB | unproven")
def divisor_only_sounds_parallel(patch: Patch) -> None:
    patch.before(CACHE, "self.host_pool = HostPool(", "world_size = 1")
    patch.replace(CACHE, PASSED, "server_args.hicache_size / world_size,")


@variant(SMALL, right="unproven")
def divisor_is_the_page_size(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.page_size,")


@variant(SMALL, right="unproven")
def divisor_is_a_constant_called_tp_size(patch: Patch) -> None:
    patch.before(CACHE, "self.host_pool = HostPool(", "tp_size = 8")
    patch.replace(CACHE, PASSED, "server_args.hicache_size / tp_size,")


@variant(SMALL, right="total GB | unproven")
def bytes_of_a_token_multiplied_in_its_method(patch: Patch) -> None:
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            server_args.tp_size,\n")
    patch.replace(POOL, "page_size: int):", "page_size: int, tp_size: int):\n        self.tp_size = tp_size")
    patch.replace(POOL, "self.layer_num * 2 * 2\n", "self.layer_num * 2 * 2 * self.tp_size\n")


@variant(SMALL, right="per-rank GB | unproven")
def heads_of_a_rank_are_divided(patch: Patch) -> None:
    """The rank's own bytes per token rest on its share of the heads, as in every engine: that is no division of the value."""
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            server_args.tp_size,\n")
    patch.replace(POOL, "page_size: int):", "page_size: int, tp_size: int):\n        self.tp_size = tp_size")
    patch.replace(
        POOL,
        "self.head_num = self.device_pool.head_num",
        "self.head_num = self.device_pool.total_heads // self.tp_size",
    )


@variant(SMALL, right="per-rank GB")
def page_is_divided(patch: Patch) -> None:
    patch.replace(
        CACHE, "            self.page_size,\n", "            self.page_size // server_args.tp_size,\n"
    )


@variant(SMALL, right="unproven | total GB")
def overwritten_where_the_process_begins(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "scheduler = Scheduler(server_args, gpu_id, tp_rank)",
        "server_args.hicache_size //= server_args.tp_size",
    )


@variant(SMALL, right="unproven | total GB")
def replaced_in_a_copy_of_the_arguments(patch: Patch) -> None:
    patch.replace(SCHEDULER, "import logging\n", "import dataclasses\nimport logging\n")
    patch.before(
        SCHEDULER,
        "scheduler = Scheduler(server_args, gpu_id, tp_rank)",
        "server_args = dataclasses.replace(server_args, hicache_size=server_args.hicache_size // server_args.tp_size)",
    )


@variant(SMALL, right="unproven | total GB")
def overwritten_before_the_processes_start(patch: Patch) -> None:
    patch.before(
        "srt/entrypoints/engine.py", "processes = []", "server_args.hicache_size //= server_args.tp_size"
    )


@variant(SMALL, right="unproven")
def overwritten_through_an_alias(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "self.tree_cache = HostCache(self.device_pool, server_args)",
        "args = server_args\nargs.hicache_size = 7",
    )


@variant(SMALL, right="unproven")
def overwritten_through_its_dict(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "self.tree_cache = HostCache(self.device_pool, server_args)",
        'server_args.__dict__["hicache_size"] = 7',
    )


@variant(SMALL, right="unproven | per-rank GB")
def filled_in_only_where_unset(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "self.tree_cache = HostCache(self.device_pool, server_args)",
        "if server_args.hicache_size <= 0:\n    server_args.hicache_size = 1",
    )


@variant(SMALL, right="total GB | unproven")
def allocated_once_by_the_launcher(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, "self.tree_cache = HostCache(self.device_pool, server_args)", "self.tree_cache = None"
    )
    patch.replace(
        "srt/entrypoints/engine.py",
        "import multiprocessing as mp\n",
        "import multiprocessing as mp\n\nfrom sglang.srt.mem_cache.host_cache import HostCache\n",
    )
    patch.replace(
        "srt/entrypoints/engine.py",
        "        self.processes = ",
        "        self.cache = HostCache(None, server_args)\n        self.processes = ",
    )


@variant(SMALL, right="unproven")
def allocated_by_the_launcher_as_well(patch: Patch) -> None:
    patch.replace(
        "srt/entrypoints/engine.py",
        "import multiprocessing as mp\n",
        "import multiprocessing as mp\n\nfrom sglang.srt.mem_cache.host_cache import HostCache\n",
    )
    patch.replace(
        "srt/entrypoints/engine.py",
        "        self.processes = ",
        "        self.cache = HostCache(None, server_args)\n        self.processes = ",
    )


@variant(SMALL, right="unproven | total GB")
def divided_when_the_arguments_are_made(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "        self.check()\n",
        "        self.check()\n        self.hicache_size = self.hicache_size / self.tp_size\n",
    )


@variant(SMALL, right="unproven | total GB")
def divided_in_a_method_of_the_arguments(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "        if self.page_size < 1:\n",
        "        self.hicache_size //= self.tp_size\n        if self.page_size < 1:\n",
    )


@variant(SMALL, right="unproven | total GB")
def divided_where_the_command_line_is_read(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "        return cls(**",
        "        args.hicache_size = args.hicache_size / args.tp_size\n        return cls(**",
    )


@variant(SMALL, right="total GB | unproven")
def ranks_are_counted_by_their_list(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / len(kv_cache.ranks),")


@variant(SMALL, right="unproven")
def divided_by_an_attribute_of_the_pool(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / kv_cache.shards,")


@variant(SMALL, right="total GB | unproven")
def parallel_size_under_another_name(patch: Patch) -> None:
    patch.after(SCHEDULER, "self.tp_size = server_args.tp_size", "self.shards = server_args.tp_size")
    patch.replace(
        SCHEDULER,
        "HostCache(self.device_pool, server_args)",
        "HostCache(self.device_pool, server_args, self.shards)",
    )
    patch.replace(CACHE, "server_args: ServerArgs):", "server_args: ServerArgs, shards: int):")
    patch.replace(CACHE, PASSED, "server_args.hicache_size / shards,")


@variant(SMALL, right="unproven")
def squared_parallel_size(patch: Patch) -> None:
    patch.replace(CACHE, PASSED, "server_args.hicache_size / server_args.tp_size / server_args.tp_size,")
