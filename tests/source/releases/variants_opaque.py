"""What cannot be followed, and files that do not parse: unproven, and the reason names the place."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
HIRADIX = "srt/mem_cache/hiradix_cache.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
SCHEDULER = "srt/managers/scheduler.py"
ARGS = "srt/server_args.py"
MHA = "self.token_to_kv_pool_host = MHATokenToKVPoolHost("
MAKE = "self.host_pool = HostPool("
HERE = "self.host_pool = {}("
GIVEN = """\
            self.kv_cache,
            server_args.hicache_ratio,
            server_args.hicache_size,
            self.page_size,
"""


@variant("sglang-0.5.9", right="unproven", names="hiradix_cache.py", often=True)
def class_by_a_runtime_name(patch: Patch) -> None:
    patch.replace(
        HIRADIX, MHA, "self.token_to_kv_pool_host = getattr(host_pools, server_args.hicache_mem_layout)("
    )


@variant("sglang-0.5.9", right="unproven", names="hiradix_cache.py")
def class_from_a_runtime_module(patch: Patch) -> None:
    patch.replace(
        HIRADIX,
        MHA,
        "self.token_to_kv_pool_host = importlib.import_module(server_args.hicache_storage_backend).Pool(",
    )


@variant("sglang-0.5.9", right="unproven", names="hiradix_cache.py")
def class_from_a_registry(patch: Patch) -> None:
    patch.before(
        HIRADIX,
        "class HiRadixCache(RadixCache):",
        "HOST_POOLS = {}\n\n\ndef register_host_pool(name, pool):\n    HOST_POOLS[name] = pool\n\n\n",
    )
    patch.replace(HIRADIX, MHA, "self.token_to_kv_pool_host = HOST_POOLS[server_args.hicache_mem_layout](")


@variant("sglang-0.5.9", right="unproven", names="memory_pool_host.py", often=True)
def broken_file_with_the_pool(patch: Patch) -> None:
    patch.append(REAL, "def broken(:\n")


@variant("sglang-0.5.9", right="unproven", names="hiradix_cache.py")
def broken_file_with_the_reader(patch: Patch) -> None:
    patch.append(HIRADIX, "    unexpected indent\n")


@variant("sglang-0.5.9", right="unproven", names="server_args.py")
def broken_file_with_the_declaration(patch: Patch) -> None:
    patch.append(ARGS, "print 'python two'\n")


@variant("sglang-0.5.9", right="unproven", names="scheduler.py")
def broken_file_with_the_process(patch: Patch) -> None:
    patch.append("srt/managers/scheduler.py", "class :\n")


@variant("sglang-0.5.9", right="per-rank GB")
def broken_file_beside_the_path(patch: Patch) -> None:
    patch.append("srt/models/llama.py", "def broken(:\n")


@variant(SMALL, right="unproven", names="host_pool.py")
def broken_pool(patch: Patch) -> None:
    patch.append(POOL, "else:\n")


@variant(SMALL, right="unproven", names="host_pool.py")
def pool_with_a_null_byte(patch: Patch) -> None:
    patch.append(POOL, "\0\n")


@variant(SMALL, right="unproven", names="host_cache.py | host_pool")
def pool_s_file_is_gone(patch: Patch) -> None:
    patch.edits[POOL] = None


@variant(SMALL, right="per-rank GB | unproven", names="host_cache.py")
def class_by_a_literal_name(patch: Patch) -> None:
    patch.replace(CACHE, "import HostPool\n", "import HostPool\nfrom sglang.srt.mem_cache import host_pool\n")
    patch.replace(CACHE, MAKE, HERE.format('getattr(host_pool, "HostPool")'))


@variant(SMALL, right="unproven", names="host_cache.py")
def class_by_a_name_from_outside(patch: Patch) -> None:
    patch.replace(CACHE, "import HostPool\n", "import HostPool\nfrom sglang.srt.mem_cache import host_pool\n")
    patch.replace(CACHE, MAKE, HERE.format("getattr(host_pool, server_args.model_path)"))


@variant(SMALL, right="unproven", names="host_cache.py")
def class_from_globals(patch: Patch) -> None:
    patch.replace(CACHE, MAKE, HERE.format("globals()[server_args.model_path]"))


@variant(SMALL, right="unproven", names="host_cache.py")
def class_from_importlib(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang", "import importlib\n\nfrom sglang", times=2)
    patch.replace(CACHE, MAKE, HERE.format("importlib.import_module(server_args.model_path).HostPool"))


@variant(SMALL, right="unproven", names="host_cache.py")
def class_from_entry_points(patch: Patch) -> None:
    patch.replace(CACHE, MAKE, HERE.format("load_plugin(server_args.model_path)"))


@variant(SMALL, right="unproven", names="host_cache.py")
def built_by_exec(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"        {MAKE}\n{GIVEN}        )\n",
        '        exec("self.host_pool = HostPool(kv_cache, 1.0, server_args.hicache_size, 1)")\n',
    )


@variant(SMALL, right="unproven", names="host_cache.py")
def built_by_eval(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"{MAKE}\n{GIVEN}        )\n",
        'self.host_pool = eval("HostPool(kv_cache, 1.0, size, 1)", {"size": server_args.hicache_size})\n',
    )


@variant(SMALL, right="unproven", names="host_cache.py")
def built_with_an_unknown_dict(patch: Patch) -> None:
    patch.replace(
        CACHE,
        f"{MAKE}\n{GIVEN}        )\n",
        "self.host_pool = HostPool(self.kv_cache, **pool_arguments(server_args.hicache_size))\n",
    )


@variant(SMALL, right="unproven", names="host_cache.py")
def handed_to_another_package(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang", "import hostpools\n\nfrom sglang", times=2)
    patch.replace(CACHE, MAKE, HERE.format("hostpools.Pool"))


@variant(SMALL, right="per-rank GB | unproven")
def sent_through_the_environment(patch: Patch) -> None:
    patch.replace(POOL, "import logging\n", "import logging\nimport os\n")
    patch.replace(CACHE, "from sglang", "import os\n\nfrom sglang", times=2)
    patch.replace(CACHE, MAKE, f'os.environ["POOL_GB"] = str(server_args.hicache_size)\n        {MAKE}')
    patch.replace(CACHE, "            server_args.hicache_size,\n", '            os.environ["POOL_GB"],\n')
    patch.replace(POOL, "if host_size > 0:", "host_size = float(host_size)\n        if host_size > 0:")


@variant(SMALL, right="unproven")
def the_whole_object_is_handed_on(patch: Patch) -> None:
    patch.replace(CACHE, MAKE, f"native_cache_init(server_args)\n        {MAKE}")
    patch.replace(CACHE, "            server_args.hicache_size,\n", "            0,\n")


@variant(SMALL, right="unproven | total GB")
def constructor_replaced_from_outside(patch: Patch) -> None:
    patch.add(
        "srt/mem_cache/patches.py",
        "from sglang.srt.mem_cache import host_pool\n\n\n"
        "def smaller(self, device_pool, host_to_device_ratio, host_size, page_size):\n"
        "    self.size = int(host_size / 8 * 1e9 // 1000)\n\n\n"
        "host_pool.HostPool.__init__ = smaller\n",
    )
    patch.replace(SCHEDULER, "import logging\n", "import logging\n\nimport sglang.srt.mem_cache.patches\n")


@variant(SMALL, right="unproven | total GB")
def class_defined_twice(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass HostPool(HostPool):\n"
        "    def __init__(self, device_pool, host_to_device_ratio, host_size, page_size):\n"
        "        world_size = torch.distributed.get_world_size()\n"
        "        super().__init__(device_pool, host_to_device_ratio, host_size / world_size, page_size)\n",
    )


@variant(SMALL, right="unproven")
def class_depends_on_the_platform(patch: Patch) -> None:
    patch.add(
        "srt/mem_cache/other_pool.py",
        "import torch\n\n\nclass HostPool:\n"
        "    def __init__(self, device_pool, host_to_device_ratio, host_size, page_size):\n"
        "        self.kv_buffer = torch.empty(int(host_size * 1024**3), dtype=torch.uint8)\n",
    )
    patch.replace(
        CACHE,
        "from sglang.srt.mem_cache.host_pool import HostPool\n",
        "import sys\n\nif sys.platform == 'linux':\n    from sglang.srt.mem_cache.host_pool import HostPool\n"
        "else:\n    from sglang.srt.mem_cache.other_pool import HostPool\n",
    )


@variant(SMALL, right="unproven", names="host_cache.py | never | nothing | nobody | no allocation")
def nothing_reads_it(patch: Patch) -> None:
    patch.replace(CACHE, "            server_args.hicache_size,\n", "            0,\n")


@variant(SMALL, right="unproven")
def only_compared(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "            server_args.hicache_size,\n",
        "            8 if server_args.hicache_size > 0 else 0,\n",
    )


@variant(SMALL, right="unproven")
def only_the_flag_s_truth(patch: Patch) -> None:
    patch.replace(
        CACHE, "            server_args.hicache_size,\n", "            bool(server_args.hicache_size) * 40,\n"
    )


@variant(SMALL, right="no-such-flag")
def not_declared(patch: Patch) -> None:
    patch.replace(ARGS, "    hicache_size: int = 0\n", "")
    patch.replace(ARGS, '            "--hicache-size",\n', '            "--host-pool",\n')
    patch.replace(ARGS, "            default=ServerArgs.hicache_size,\n", "")
    patch.replace(CACHE, "server_args.hicache_size", "0")
