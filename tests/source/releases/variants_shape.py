"""The same program written differently: names, files, helpers and ways to hand a value on. None of it changes the answer."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
HIRADIX = "srt/mem_cache/hiradix_cache.py"
DECODE = "srt/disaggregation/decode_kvcache_offload_manager.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
SCHEDULER = "srt/managers/scheduler.py"
ARGS = "srt/server_args.py"
NOW = "int(host_size * 1e9 // self.size_per_token)"
MAKE = "self.host_pool = HostPool("
READ = "server_args.hicache_size,"
GIVEN = """\
            self.kv_cache,
            server_args.hicache_ratio,
            server_args.hicache_size,
            self.page_size,
"""

SAME = "per-rank GB"
OR_LOST = "per-rank GB | unproven"


@variant("sglang-0.5.9", right=SAME, often=True)
def parameter_renamed(patch: Patch) -> None:
    patch.word(REAL, "host_size", "capacity_gb")


@variant("sglang-0.5.9", right=SAME, often=True)
def file_renamed(patch: Patch) -> None:
    patch.move(REAL, "srt/mem_cache/host_memory_pools.py")


@variant("sglang-0.5.9", right=SAME)
def file_moved_to_another_folder(patch: Patch) -> None:
    text = patch.text(REAL)
    patch.add("srt/hostmem/__init__.py", "")
    patch.add("srt/hostmem/memory_pool_host.py", text)
    patch.edits[REAL] = "from sglang.srt.hostmem.memory_pool_host import *  # noqa: F403\n"


@variant("sglang-0.5.9", right=SAME)
def pool_class_renamed(patch: Patch) -> None:
    patch.everywhere("HostKVCache", "HostPoolBase")


@variant("sglang-0.5.9", right=SAME, often=True)
def arithmetic_in_a_function(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "def tokens_for(gigabytes, bytes_per_token):\n    return int(gigabytes * 1e9 // bytes_per_token)\n\n\n",
    )
    patch.replace(REAL, NOW, "tokens_for(host_size, self.size_per_token)")


@variant("sglang-0.5.9", right=SAME)
def arithmetic_in_a_method(patch: Patch) -> None:
    patch.replace(REAL, NOW, "self.tokens_for(host_size)")
    patch.replace(
        REAL,
        "        self.kv_buffer = self.init_kv_buffer()\n\n        # A lock for synchronized operations",
        "        self.kv_buffer = self.init_kv_buffer()\n        self.make_lock()\n\n"
        "    def tokens_for(self, size):\n        return int(size * 1e9 // self.size_per_token)\n\n"
        "    def make_lock(self):\n        # A lock for synchronized operations",
    )


@variant("sglang-0.5.9", right=SAME)
def arithmetic_in_another_file(patch: Patch) -> None:
    patch.add(
        "srt/mem_cache/host_sizes.py",
        "def tokens_for(gigabytes, bytes_per_token):\n    return int(gigabytes * 1e9 // bytes_per_token)\n",
    )
    patch.before(
        REAL, "class HostKVCache(abc.ABC):", "from sglang.srt.mem_cache.host_sizes import tokens_for\n\n"
    )
    patch.replace(REAL, NOW, "tokens_for(host_size, self.size_per_token)")


@variant("sglang-0.5.9", right=SAME)
def read_into_an_attribute_first(patch: Patch) -> None:
    patch.before(HIRADIX, "self.page_size = params.page_size", "self.hicache_size = server_args.hicache_size")
    patch.replace(HIRADIX, f"                {READ}\n", "                self.hicache_size,\n", times=3)


@variant(SMALL, right=SAME)
def nothing_changed_but_a_blank_line(patch: Patch) -> None:
    patch.append(POOL, "\n")


@variant(SMALL, right=SAME)
def arithmetic_in_a_static_method(patch: Patch) -> None:
    patch.before(
        POOL,
        "def get_size_per_token(self):",
        "@staticmethod\ndef tokens(size, per_token):\n    return int(size * 1e9 // per_token)\n",
    )
    patch.replace(POOL, NOW, "self.tokens(host_size, self.size_per_token)")


@variant(SMALL, right=SAME)
def arithmetic_in_a_class_method(patch: Patch) -> None:
    patch.before(
        POOL,
        "def get_size_per_token(self):",
        "@classmethod\ndef tokens(cls, size, per_token):\n    return int(size * 1e9 // per_token)\n",
    )
    patch.replace(POOL, NOW, "HostPool.tokens(host_size, self.size_per_token)")


@variant(SMALL, right=OR_LOST)
def arithmetic_in_a_lambda(patch: Patch) -> None:
    patch.before(POOL, "if host_size > 0:", "tokens = lambda size: int(size * 1e9 // self.size_per_token)")
    patch.replace(POOL, NOW, "tokens(host_size)")


@variant(SMALL, right=OR_LOST)
def arithmetic_in_an_inner_function(patch: Patch) -> None:
    patch.before(
        POOL, "if host_size > 0:", "def tokens(size):\n    return int(size * 1e9 // self.size_per_token)\n"
    )
    patch.replace(POOL, NOW, "tokens(host_size)")


@variant(SMALL, right=OR_LOST)
def arithmetic_in_a_property(patch: Patch) -> None:
    patch.before(
        POOL,
        "def get_size_per_token(self):",
        "@property\ndef tokens(self):\n    return int(self.host_size * 1e9 // self.size_per_token)\n",
    )
    patch.before(POOL, "if host_size > 0:", "self.host_size = host_size")
    patch.replace(POOL, NOW, "self.tokens")


@variant(SMALL, right=SAME)
def arithmetic_in_the_allocation(patch: Patch) -> None:
    patch.replace(
        POOL,
        "            self.size = " + NOW,
        "            self.buffer = torch.empty(int(host_size * 1e9), dtype=torch.uint8)\n            self.size = 0",
    )


@variant(SMALL, right=SAME)
def by_keyword(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"            {READ}\n            self.page_size,\n",
        "            page_size=self.page_size,\n            host_size=server_args.hicache_size,\n",
    )


@variant(SMALL, right=SAME)
def parameters_in_another_order(patch: Patch) -> None:
    patch.replace(
        POOL,
        "host_to_device_ratio: float, host_size: int, page_size: int):",
        "page_size: int, host_size: int, host_to_device_ratio: float):",
    )
    patch.replace(
        CACHE,
        GIVEN,
        "            self.kv_cache,\n            self.page_size,\n            server_args.hicache_size,\n            server_args.hicache_ratio,\n",
    )


@variant(SMALL, right=SAME)
def through_a_local(patch: Patch) -> None:
    patch.before(CACHE, MAKE, "gigabytes = server_args.hicache_size")
    patch.replace(CACHE, f"            {READ}\n", "            gigabytes,\n")


@variant(SMALL, right=SAME)
def through_an_unpacked_tuple(patch: Patch) -> None:
    patch.before(CACHE, MAKE, "ratio, size = server_args.hicache_ratio, server_args.hicache_size")
    patch.replace(CACHE, f"            {READ}\n", "            size,\n")


@variant(SMALL, right=OR_LOST)
def through_a_walrus(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", "            (size := server_args.hicache_size),\n")


@variant(SMALL, right=OR_LOST)
def through_a_walrus_in_a_condition(patch: Patch) -> None:
    patch.before(CACHE, MAKE, "if (size := server_args.hicache_size) < 0:\n    raise ValueError(size)")
    patch.replace(CACHE, f"            {READ}\n", "            size,\n")


@variant(SMALL, right=SAME)
def through_a_conditional_expression(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"            {READ}\n",
        "            server_args.hicache_size if server_args.hicache_size > 0 else 0,\n",
    )


@variant(SMALL, right=OR_LOST)
def through_or(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", "            server_args.hicache_size or 0,\n")


@variant(SMALL, right="unproven | per-rank GB")
def through_or_with_a_default(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", "            server_args.hicache_size or 16,\n")


@variant(SMALL, right=OR_LOST)
def through_a_default_parameter(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "def make(size=server_args.hicache_size):\n    return HostPool(self.kv_cache, 1.0, size, 1)\n",
    )
    patch.replace(CACHE, f"{MAKE}\n{GIVEN}        )\n", "self.host_pool = make()\n")


@variant(SMALL, right=OR_LOST)
def through_a_partial(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang.srt.mem_cache", "import functools\n\nfrom sglang.srt.mem_cache")
    patch.replace(
        CACHE,
        f"{MAKE}\n{GIVEN}        )\n",
        "self.host_pool = functools.partial(HostPool, self.kv_cache, 1.0, server_args.hicache_size)(1)\n",
    )


@variant(SMALL, right=OR_LOST)
def through_a_dataclass(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "\n\nclass HostCache:",
        "\n\n@dataclass\nclass Room:\n    ratio: float\n    gigabytes: float\n\n\nclass HostCache:",
    )
    patch.replace(
        CACHE, "from sglang.srt.mem_cache", "from dataclasses import dataclass\n\nfrom sglang.srt.mem_cache"
    )
    patch.before(CACHE, MAKE, "room = Room(server_args.hicache_ratio, gigabytes=server_args.hicache_size)")
    patch.replace(CACHE, f"            {READ}\n", "            room.gigabytes,\n")


@variant(SMALL, right=OR_LOST)
def through_a_named_tuple(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "\n\nclass HostCache:",
        "\n\nclass Room(NamedTuple):\n    ratio: float\n    gigabytes: float\n\n\nclass HostCache:",
    )
    patch.replace(
        CACHE, "from sglang.srt.mem_cache", "from typing import NamedTuple\n\nfrom sglang.srt.mem_cache"
    )
    patch.before(CACHE, MAKE, "room = Room(server_args.hicache_ratio, server_args.hicache_size)")
    patch.replace(CACHE, f"            {READ}\n", "            room.gigabytes,\n")


@variant(SMALL, right=OR_LOST)
def through_a_dict(patch: Patch) -> None:
    patch.before(CACHE, MAKE, 'room = {"gigabytes": server_args.hicache_size}')
    patch.replace(CACHE, f"            {READ}\n", '            room["gigabytes"],\n')


@variant(SMALL, right=OR_LOST)
def through_a_dict_of_arguments(patch: Patch) -> None:
    patch.before(CACHE, MAKE, 'room = {"host_size": server_args.hicache_size}')
    patch.replace(
        CACHE,
        f"            {READ}\n            self.page_size,\n",
        "            page_size=self.page_size,\n            **room,\n",
    )


@variant(SMALL, right=OR_LOST)
def through_a_list_of_arguments(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"{MAKE}\n{GIVEN}        )\n",
        f"given = [\n{GIVEN}        ]\n        self.host_pool = HostPool(*given)\n",
    )


@variant(SMALL, right=OR_LOST)
def through_a_property_of_the_arguments(patch: Patch) -> None:
    patch.before(
        ARGS, "def check(self):", "@property\ndef host_gigabytes(self):\n    return self.hicache_size\n"
    )
    patch.replace(CACHE, f"            {READ}\n", "            server_args.host_gigabytes,\n")


@variant(SMALL, right=OR_LOST)
def through_a_method_of_the_arguments(patch: Patch) -> None:
    patch.before(ARGS, "def check(self):", "def host_gigabytes(self):\n    return self.hicache_size\n")
    patch.replace(CACHE, f"            {READ}\n", "            server_args.host_gigabytes(),\n")


@variant(SMALL, right="total GB | unproven")
def through_a_property_that_divides(patch: Patch) -> None:
    patch.before(
        ARGS,
        "def check(self):",
        "@property\ndef host_gigabytes(self):\n    return self.hicache_size / self.tp_size\n",
    )
    patch.replace(CACHE, f"            {READ}\n", "            server_args.host_gigabytes,\n")


@variant(SMALL, right=OR_LOST)
def through_getattr(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", '            getattr(server_args, "hicache_size", 0),\n')


@variant(SMALL, right=OR_LOST)
def through_vars(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", '            vars(server_args)["hicache_size"],\n')


@variant(SMALL, right=OR_LOST)
def through_asdict(patch: Patch) -> None:
    patch.replace(
        CACHE, "from sglang.srt.mem_cache", "from dataclasses import asdict\n\nfrom sglang.srt.mem_cache"
    )
    patch.replace(CACHE, f"            {READ}\n", '            asdict(server_args)["hicache_size"],\n')


@variant(SMALL, right=OR_LOST)
def through_a_global(patch: Patch) -> None:
    patch.replace(CACHE, "\n\nclass HostCache:", "\n\n_GIGABYTES = 0\n\n\nclass HostCache:")
    patch.before(CACHE, MAKE, "global _GIGABYTES\n_GIGABYTES = server_args.hicache_size")
    patch.replace(CACHE, f"            {READ}\n", "            _GIGABYTES,\n")


@variant(SMALL, right=OR_LOST)
def through_a_class_attribute(patch: Patch) -> None:
    patch.before(CACHE, MAKE, "HostCache.gigabytes = server_args.hicache_size")
    patch.replace(CACHE, f"            {READ}\n", "            HostCache.gigabytes,\n")


@variant(SMALL, right=SAME)
def through_int_and_float(patch: Patch) -> None:
    patch.replace(CACHE, f"            {READ}\n", "            float(int(server_args.hicache_size)),\n")


@variant(SMALL, right=SAME)
def through_a_base_class(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass PinnedPool(HostPool):\n"
        "    def __init__(self, device_pool, ratio, capacity, page_size):\n"
        "        super().__init__(device_pool, ratio, capacity, page_size)\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import PinnedPool\n")
    patch.replace(CACHE, MAKE, "self.host_pool = PinnedPool(")


@variant(SMALL, right=SAME)
def through_a_base_class_called_by_name(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass PinnedPool(HostPool):\n"
        "    def __init__(self, device_pool, ratio, capacity, page_size):\n"
        "        HostPool.__init__(self, device_pool, ratio, capacity, page_size)\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import PinnedPool\n")
    patch.replace(CACHE, MAKE, "self.host_pool = PinnedPool(")


@variant(SMALL, right="total GB | unproven")
def through_a_base_class_that_divides(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass PinnedPool(HostPool):\n"
        "    def __init__(self, device_pool, ratio, capacity, page_size):\n"
        "        shares = torch.distributed.get_world_size()\n"
        "        super().__init__(device_pool, ratio, capacity / shares, page_size)\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import PinnedPool\n")
    patch.replace(CACHE, MAKE, "self.host_pool = PinnedPool(")


@variant(SMALL, right=SAME)
def through_a_factory_function(patch: Patch) -> None:
    patch.append(
        POOL,
        "\ndef make_pool(kv_cache, ratio, size, page_size):\n    return HostPool(kv_cache, ratio, size, page_size)\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import make_pool\n")
    patch.replace(CACHE, MAKE, "self.host_pool = make_pool(")


@variant(SMALL, right=SAME)
def through_a_class_that_a_function_chooses(patch: Patch) -> None:
    patch.append(POOL, "\ndef pool_class(kv_cache):\n    return HostPool\n")
    patch.replace(CACHE, "import HostPool\n", "import pool_class\n")
    patch.replace(CACHE, MAKE, "self.host_pool = pool_class(self.kv_cache)(")


@variant(SMALL, right=OR_LOST)
def through_an_alias_of_the_class(patch: Patch) -> None:
    patch.replace(CACHE, MAKE, "pool_class = HostPool\n        self.host_pool = pool_class(")


@variant(SMALL, right=SAME)
def through_an_import_under_another_name(patch: Patch) -> None:
    patch.replace(CACHE, "import HostPool\n", "import HostPool as Backing\n")
    patch.replace(CACHE, MAKE, "self.host_pool = Backing(")


@variant(SMALL, right=SAME)
def through_an_import_of_the_module(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "from sglang.srt.mem_cache.host_pool import HostPool\n",
        "from sglang.srt.mem_cache import host_pool\n",
    )
    patch.replace(CACHE, MAKE, "self.host_pool = host_pool.HostPool(")


@variant(SMALL, right=SAME)
def through_a_relative_import(patch: Patch) -> None:
    patch.replace(
        CACHE, "from sglang.srt.mem_cache.host_pool import HostPool\n", "from .host_pool import HostPool\n"
    )


@variant(SMALL, right=OR_LOST)
def through_a_package_that_exports_it(patch: Patch) -> None:
    patch.add("srt/mem_cache/__init__.py", "from .host_pool import HostPool\n")
    patch.replace(
        CACHE,
        "from sglang.srt.mem_cache.host_pool import HostPool\n",
        "from sglang.srt.mem_cache import HostPool\n",
    )


@variant(SMALL, right=OR_LOST)
def through_init_kwargs(patch: Patch) -> None:
    patch.replace(
        POOL,
        "host_size: int, page_size: int):",
        '**kwargs):\n        host_size = kwargs["host_size"]\n        page_size = kwargs["page_size"]',
    )
    patch.replace(
        CACHE,
        f"            {READ}\n            self.page_size,\n",
        "            page_size=self.page_size,\n            host_size=server_args.hicache_size,\n",
    )


@variant(SMALL, right=SAME)
def scheduler_reads_it(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "HostCache(self.device_pool, server_args)",
        "HostCache(self.device_pool, server_args, server_args.hicache_size)",
    )
    patch.replace(CACHE, "server_args: ServerArgs):", "server_args: ServerArgs, host_gigabytes: int):")
    patch.replace(CACHE, f"            {READ}\n", "            host_gigabytes,\n")


@variant(SMALL, right=SAME)
def declared_with_annotated(patch: Patch) -> None:
    patch.replace(ARGS, "import dataclasses\n", "import dataclasses\nfrom typing import Annotated as A\n")
    patch.replace(ARGS, "hicache_size: int = 0", 'hicache_size: A[int, "The host pool in gigabytes."] = 0')
    patch.replace(ARGS, '            "--hicache-size",\n', '            "--other",\n')


@variant(SMALL, right=SAME)
def built_by_an_async_method(patch: Patch) -> None:
    patch.replace(SCHEDULER, "    def init_cache(self):", "    async def init_cache(self):")
