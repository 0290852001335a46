"""The newest release as its next one might look: names, files and helpers change, the meaning does not."""

from release_trees import Patch
from release_variants import variant

NEWEST = "sglang-0.5.23"
ASSEMBLER = "srt/mem_cache/hybrid_cache/hybrid_pool_assembler.py"
BASE = "srt/mem_cache/pool_host/base.py"
MAMBA = "srt/mem_cache/pool_host/mamba.py"
MLA = "srt/mem_cache/pool_host/mla.py"
UNIFIED = "srt/mem_cache/pool_host/unified.py"
FIELDS = "srt/arg_groups/fields/memory.py"
NOW = "int(host_size * 1e9 // self.size_per_token)"

SAME = "per-rank GB"


@variant(NEWEST, right=SAME)
def pool_classes_renamed(patch: Patch) -> None:
    patch.everywhere("HostKVCache", "HostPoolBase")
    patch.everywhere("MLATokenToKVPoolHost", "LatentHostPool")


@variant(NEWEST, right=SAME)
def accessor_renamed(patch: Patch) -> None:
    patch.everywhere("get_memory", "memory_settings")


@variant(NEWEST, right=SAME)
def accessor_is_an_attribute(patch: Patch) -> None:
    text = patch.text(ASSEMBLER)
    patch.edits[ASSEMBLER] = text.replace(
        "get_memory().hicache_size", "get_context().settings.memory.hicache_size"
    )


@variant(NEWEST, right=SAME)
def assembler_renamed(patch: Patch) -> None:
    patch.move(ASSEMBLER, "srt/mem_cache/hybrid_cache/host_pool_builder.py")


@variant(NEWEST, right=SAME)
def builder_in_another_file(patch: Patch) -> None:
    text = patch.text(ASSEMBLER)
    start = text.index("def build_kv_host_pool(")
    end = text.index("def _split_hicache_size(")
    head = text[: text.index("logger = logging.getLogger(__name__)")]
    names = "_get_allocator_type, _mha_host_inputs, check_packed_kv_rows"
    head += f"from sglang.srt.mem_cache.hybrid_cache.hybrid_pool_assembler import {names}\n\n\n"
    patch.add("srt/mem_cache/hybrid_cache/kv_host_pool.py", head + text[start:end])
    moved = "from sglang.srt.mem_cache.hybrid_cache.kv_host_pool import build_kv_host_pool\n\n"
    patch.edits[ASSEMBLER] = text[:start] + moved + text[end:]


@variant(NEWEST, right=SAME)
def fields_in_pydantic(patch: Patch) -> None:
    patch.replace(FIELDS, "class Memory(msgspec.Struct):", "class Memory(BaseModel):")
    text = patch.text(FIELDS)
    start = text.index("    hicache_size: A[")
    end = text.index("    hicache_host_memory_fraction: A[")
    patch.edits[FIELDS] = (
        f'{text[:start]}    hicache_size: int = Field(default=0, ge=0, description="in gigabytes")\n{text[end:]}'
    )


@variant(NEWEST, right=SAME)
def a_constant_for_the_gigabyte(patch: Patch) -> None:
    patch.add("srt/utils/sizes.py", "BYTES_PER_GB = 10**9\n")
    for file in (BASE, MAMBA, UNIFIED, ASSEMBLER):
        text = patch.text(file).replace("host_size * 1e9", "host_size * BYTES_PER_GB")
        place = min(place for place in (text.find("\nclass "), text.find("\ndef ")) if place > 0)
        patch.edits[file] = f"{text[:place]}\nfrom sglang.srt.utils.sizes import BYTES_PER_GB\n{text[place:]}"


@variant(NEWEST, right=SAME)
def one_helper_for_all_pools(patch: Patch) -> None:
    patch.before(
        BASE,
        "def sync_fixed_hicache_size(size: int, host_size: int) -> int:",
        "def host_tokens(host_size: float, bytes_per_token: int) -> int:\n"
        "    return sync_fixed_hicache_size(int(host_size * 1e9 // bytes_per_token), host_size)\n\n\n",
    )
    call = "sync_fixed_hicache_size(\n{0}int(host_size * 1e9 // self.size_per_token), host_size\n{1})"
    patch.replace(BASE, call.format(" " * 20, " " * 16), "host_tokens(host_size, self.size_per_token)")
    patch.replace(MAMBA, call.format(" " * 16, " " * 12), "host_tokens(host_size, self.size_per_token)")
    patch.replace(MAMBA, "    sync_fixed_hicache_size,\n", "    host_tokens,\n")


@variant(NEWEST, right=SAME)
def built_inside_a_with_and_a_try(patch: Patch) -> None:
    patch.replace(
        "srt/mem_cache/registry.py",
        "        cache.init_hicache(server_args, params)\n",
        "        try:\n"
        "            with torch.inference_mode():\n"
        "                cache.init_hicache(server_args, params)\n"
        "        except MemoryError as error:\n"
        '            raise ValueError("not enough host memory") from error\n',
    )


@variant(NEWEST, right=SAME)
def true_division_and_floor(patch: Patch) -> None:
    for file in (BASE, MAMBA):
        text = patch.text(file)
        assert NOW in text
        patch.edits[file] = text.replace(NOW, "math.floor(host_size * 1e9 / self.size_per_token)").replace(
            "import logging\n", "import logging\nimport math\n", 1
        )


@variant(NEWEST, right="per-rank GB x2")
def sliding_window_pools_are_whole_again(patch: Patch) -> None:
    """As in 0.5.16: each of the two takes all of it."""
    patch.replace(
        ASSEMBLER,
        "        kv_host_size, swa_host_size = _split_hicache_size(\n            memory.hicache_size, (full_kv_pool, swa_kv_pool)\n        )\n",
        "        kv_host_size = swa_host_size = memory.hicache_size\n",
    )


@variant(NEWEST, right="unproven")
def a_new_kind_of_pool_in_gib(patch: Patch) -> None:
    patch.replace(
        ASSEMBLER,
        "    if isinstance(kv_pool, PageInterleaveKVPoolMixin):\n        return PageInterleaveHostPool(host_pool, kv_pool.placement)\n",
        "    if isinstance(kv_pool, PageInterleaveKVPoolMixin):\n"
        "        import torch\n\n"
        "        size = get_memory().hicache_size if host_size is None else host_size\n"
        "        return torch.empty(int(size * 1024**3), dtype=torch.uint8, pin_memory=True)\n",
    )
