"""How often the value is taken: pools beside each other, pools instead of each other, parts."""

from release_trees import Patch
from release_variants import SMALL, variant

HIRADIX = "srt/mem_cache/hiradix_cache.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
ARGS = "srt/server_args.py"
ASSEMBLER = "srt/mem_cache/hybrid_cache/hybrid_pool_assembler.py"
MAKE = "self.host_pool = HostPool("
SECOND = "self.second_pool = HostPool(self.kv_cache, 1.0, server_args.hicache_size, 1)"


@variant("sglang-0.5.9", right="per-rank GB x2")
def a_second_pool_in_real(patch: Patch) -> None:
    patch.before(
        HIRADIX,
        "self.tp_group = params.tp_cache_group",
        "self.index_pool_host = MLATokenToKVPoolHost(\n"
        "    self.kv_cache, server_args.hicache_ratio, server_args.hicache_size, self.page_size, 'layer_first'\n"
        ")\n",
    )


@variant("sglang-0.5.20", right="per-rank GB x2 | per-rank GB x3 | unproven")
def parts_become_wholes(patch: Patch) -> None:
    patch.replace(ASSEMBLER, "hicache_size * size_bytes / total_device_pool_size\n", "hicache_size\n")


@variant("sglang-0.5.16", right="per-rank GB x2")
def three_pools_become_two(patch: Patch) -> None:
    """Without the stack that has all three; two of the others still have two."""
    text = patch.text(ASSEMBLER)
    start = text.index(
        "    mamba_host_pool = MambaPoolHost(", text.index("def build_hybrid_mamba_swa_stack(")
    )
    patch.edits[ASSEMBLER] = text[:start] + text[start:].replace("server_args.hicache_size", "0", 1)


@variant(SMALL, right="per-rank GB x2")
def two_pools_beside_each_other(patch: Patch) -> None:
    patch.before(CACHE, MAKE, SECOND)


@variant(SMALL, right="per-rank GB x3")
def three_pools_beside_each_other(patch: Patch) -> None:
    patch.before(CACHE, MAKE, f"{SECOND}\n{SECOND.replace('second', 'third')}")


@variant(SMALL, right="per-rank GB x2")
def two_pools_in_one_list(patch: Patch) -> None:
    patch.before(CACHE, MAKE, "self.more = [HostPool(self.kv_cache, 1.0, server_args.hicache_size, 1)]")


@variant(SMALL, right="per-rank GB")
def one_pool_or_the_other(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"        {MAKE}\n",
        f"        if self.page_size > 1:\n            {SECOND}\n            return\n        {MAKE}\n",
    )


@variant(SMALL, right="per-rank GB x2")
def one_pool_or_two_others(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"        {MAKE}\n",
        f"        if self.page_size > 1:\n            {SECOND}\n            return\n"
        f"        {SECOND.replace('second', 'third')}\n        {MAKE}\n",
    )


@variant(SMALL, right="per-rank GB")
def a_pool_in_each_arm(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"        {MAKE}\n",
        f"        if self.page_size > 1:\n            {SECOND}\n        elif self.page_size > 0:\n            {SECOND}\n"
        f"        else:\n            {SECOND}\n        self.host_pool = dict(\n",
    )
    patch.replace(
        CACHE,
        "            self.kv_cache,\n            server_args.hicache_ratio,\n            server_args.hicache_size,\n            self.page_size,\n",
        "",
    )


@variant(SMALL, right="per-rank GB x2 | unproven")
def a_second_pool_sometimes(patch: Patch) -> None:
    patch.before(CACHE, MAKE, f"if self.page_size > 1:\n    {SECOND}")


@variant(SMALL, right="unproven | per-rank GB x2")
def pools_in_a_loop_of_two(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"        {MAKE}\n",
        f"        for _ in range(2):\n            {SECOND}\n        self.host_pool = dict(\n",
    )
    patch.replace(
        CACHE,
        "            self.kv_cache,\n            server_args.hicache_ratio,\n            server_args.hicache_size,\n            self.page_size,\n",
        "",
    )


@variant(SMALL, right="unproven")
def a_pool_for_each_layer(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "for layer in range(kv_cache.layer_num):\n    self.extra = HostPool(kv_cache, 1.0, server_args.hicache_size, 1)",
    )


@variant(SMALL, right="unproven")
def a_pool_for_each_layer_in_a_comprehension(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "self.extra = [HostPool(kv_cache, 1.0, server_args.hicache_size, 1) for _ in range(kv_cache.layer_num)]",
    )


@variant(SMALL, right="unproven")
def a_buffer_for_each_layer(patch: Patch) -> None:
    patch.before(
        POOL,
        "self.kv_buffer = self.init_kv_buffer()",
        "self.layers = [torch.empty(int(host_size * 1e9), dtype=torch.uint8) for _ in range(device_pool.layer_num)]",
    )


@variant(SMALL, right="per-rank GB x2 | unproven")
def two_buffers_in_one_pool(patch: Patch) -> None:
    patch.after(
        POOL,
        "self.kv_buffer = self.init_kv_buffer()",
        "self.copy = torch.empty(int(host_size * 1e9), dtype=torch.uint8)",
    )


@variant(SMALL, right="per-rank GB | unproven")
def split_in_proportion(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "\n\nclass HostCache:",
        "\n\ndef split(size, pools):\n"
        "    sizes = [pool.nbytes for pool in pools]\n"
        "    total = sum(sizes)\n"
        "    return tuple(size * one / total for one in sizes)\n\n\nclass HostCache:",
    )
    patch.before(CACHE, MAKE, "mine, other = split(server_args.hicache_size, (kv_cache, kv_cache.other))")
    patch.replace(CACHE, "            server_args.hicache_size,\n", "            mine,\n")
    patch.before(CACHE, MAKE, "self.second_pool = HostPool(kv_cache.other, 1.0, other, 1)")


@variant(SMALL, right="unproven")
def split_that_does_not_add_up(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "self.second_pool = HostPool(kv_cache.other, 1.0, server_args.hicache_size * kv_cache.weight, 1)",
    )


@variant(SMALL, right="per-rank GB | per-rank GB x2 | unproven")
def built_twice_by_the_scheduler(patch: Patch) -> None:
    patch.after(
        "srt/managers/scheduler.py",
        "self.tree_cache = HostCache(self.device_pool, server_args)",
        "if server_args.page_size > 1:\n    self.tree_cache = HostCache(self.device_pool, server_args)",
    )


@variant(SMALL, right="per-rank GB")
def the_rest_of_its_shape_is_the_device_pools(patch: Patch) -> None:
    patch.replace(
        POOL,
        "            (2, self.layer_num, self.size, self.head_num, self.head_dim),\n",
        "            (self.size,) + self.device_pool.shape[1:],\n",
    )


@variant(SMALL, right="unproven")
def one_of_two_readers_of_the_bytes_divides(patch: Patch) -> None:
    """The configuration holds bytes; of the two that read them, one takes all of them."""
    patch.replace(
        ARGS,
        "    def check(self):\n",
        "    def check(self):\n        self.extra_config.update({'host_bytes': self.hicache_size * 1e9})\n",
    )
    patch.replace(
        CACHE,
        "            server_args.hicache_size,\n",
        "            server_args.extra_config.get('host_bytes'),\n",
    )
    patch.replace(
        POOL, "int(host_size * 1e9 // self.size_per_token)", "int(host_size // self.size_per_token)"
    )
    patch.append(
        POOL,
        "\nclass Staging:\n    def __init__(self, server_args):\n"
        "        size = server_args.extra_config.get('host_bytes') // server_args.tp_size\n"
        "        self.buffer = torch.empty(int(size), dtype=torch.uint8)\n",
    )
    patch.replace(
        "srt/managers/scheduler.py",
        "from sglang.srt.mem_cache.host_cache import HostCache\n",
        "from sglang.srt.mem_cache.host_cache import HostCache\nfrom sglang.srt.mem_cache.host_pool import Staging\n",
    )
    patch.after(
        "srt/managers/scheduler.py",
        "self.tree_cache = HostCache(self.device_pool, server_args)",
        "self.staging = Staging(server_args)",
    )


@variant(SMALL, right="unproven", names="overwritten")
def a_hook_that_is_handed_on_overwrites_it(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "    def check(self):\n",
        "    def check(self):\n        if getattr(self, '_checked', False):\n            return\n"
        "        run_hook(handle_size, self)\n        self._checked = True\n",
    )
    patch.append(
        ARGS,
        "\nHOOKS = {}\n\n\ndef run_hook(hook, *given):\n    return HOOKS.get(hook.__name__, hook)(*given)\n"
        "\n\ndef declare(args, source, **fields):\n    args.declared.append((source, dict(fields)))\n"
        "\n\ndef handle_size(args):\n    if args.hicache_size > 0:\n        declare(args, 'size', hicache_size=16)\n",
    )


@variant(SMALL, right="unproven", names="staging.py")
def a_reader_of_the_bytes_does_not_parse(patch: Patch) -> None:
    one_of_two_readers_of_the_bytes_divides(patch)
    patch.replace(
        "srt/managers/scheduler.py",
        "from sglang.srt.mem_cache.host_pool import Staging\n",
        "from sglang.srt.mem_cache.staging import Staging\n",
    )
    patch.replace(POOL, ".get('host_bytes') // server_args.tp_size", ".get('others')")
    patch.add("srt/mem_cache/staging.py", "class Staging:\n    def __init__(self, args: 'host_bytes':\n")


@variant(SMALL, right="total GB")
def what_all_ranks_take_each_may_be_nothing(patch: Patch) -> None:
    patch.replace(
        POOL,
        "            self.size = int(host_size * 1e9 // self.size_per_token)\n",
        "            if device_pool.layer_num > 0:\n"
        "                each_bytes = (device_pool.nbytes // device_pool.count) * device_pool.tp_size\n"
        "            else:\n                each_bytes = 0\n"
        "            taken_bytes = each_bytes * device_pool.factor\n"
        "            self.size = int(host_size * 1e9) // taken_bytes if taken_bytes > 0 else 0\n",
    )
