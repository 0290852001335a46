"""The unit: what the value is multiplied by, in every spelling, and what only looks like it."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
NOW = "host_size * 1e9 // self.size_per_token"


@variant("sglang-0.5.9", right="per-rank GiB", often=True)
def binary_by_shift(patch: Patch) -> None:
    patch.replace(REAL, "host_size * 1e9 //", "host_size * (1 << 30) //")


@variant("sglang-0.5.9", right="per-rank GiB")
def binary_by_power(patch: Patch) -> None:
    patch.replace(REAL, "host_size * 1e9 //", "host_size * 1024**3 //")


@variant("sglang-0.5.9", right="per-rank GB")
def decimal_by_power(patch: Patch) -> None:
    patch.replace(REAL, "host_size * 1e9 //", "host_size * 10**9 //")


@variant("sglang-0.5.9", right="per-rank GiB")
def constant_whose_name_lies(patch: Patch) -> None:
    patch.before(REAL, "class HostKVCache(abc.ABC):", "GB = 1 << 30\n\n")
    patch.replace(REAL, "host_size * 1e9 //", "host_size * GB //")


@variant("sglang-0.5.9", right="per-rank GiB | unproven")
def constant_from_another_file(patch: Patch) -> None:
    patch.add("srt/utils/host_units.py", "GIGABYTE = 1024 * 1024 * 1024\n")
    patch.before(
        REAL, "class HostKVCache(abc.ABC):", "from sglang.srt.utils.host_units import GIGABYTE as GB\n\n"
    )
    patch.replace(REAL, "host_size * 1e9 //", "host_size * GB //")


@variant("sglang-0.5.9", right="unproven")
def two_pools_in_different_units(patch: Patch) -> None:
    patch.replace(
        "srt/disaggregation/decode_kvcache_offload_manager.py",
        "server_args.hicache_size,",
        "server_args.hicache_size * 1.073741824,",
        times=2,
    )


@variant(SMALL, right="per-rank GB")
def digits(patch: Patch) -> None:
    patch.replace(POOL, "1e9 //", "1_000_000_000 //")


@variant(SMALL, right="per-rank GiB")
def product_of_1024(patch: Patch) -> None:
    patch.replace(POOL, "1e9 //", "1024 * 1024 * 1024 //")


@variant(SMALL, right="per-rank GB")
def product_of_1000(patch: Patch) -> None:
    patch.replace(POOL, NOW, "1000 * host_size * 1000 * 1000 // self.size_per_token")


@variant(SMALL, right="per-rank GiB | unproven")
def value_shifted(patch: Patch) -> None:
    patch.replace(POOL, NOW, "(host_size << 30) // self.size_per_token")


@variant(SMALL, right="per-rank MB")
def megabytes(patch: Patch) -> None:
    patch.replace(POOL, "1e9 //", "1e6 //")


@variant(SMALL, right="per-rank MiB")
def mebibytes(patch: Patch) -> None:
    patch.replace(POOL, "1e9 //", "(1 << 20) //")


@variant(SMALL, right="per-rank bytes")
def bytes_already(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size //")


@variant(SMALL, right="per-rank tokens | unproven")
def tokens_already(patch: Patch) -> None:
    patch.replace(POOL, f"int({NOW})", "int(host_size)")


@variant(SMALL, right="unproven")
def neither_gb_nor_gib(patch: Patch) -> None:
    patch.replace(POOL, "1e9 //", "1e9 * 2 //")


@variant(SMALL, right="unproven")
def half_of_it(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size * 1e9 / 2 //")


@variant(SMALL, right="unproven")
def gigabits(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size * 1e9 // 8 //")


@variant(SMALL, right="per-rank GB")
def in_two_steps(patch: Patch) -> None:
    patch.replace(
        POOL,
        f"self.size = int({NOW})",
        "room = host_size * 1e9\n            self.size = int(room // self.size_per_token)",
    )


@variant(SMALL, right="per-rank GB")
def factor_first(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "1e9 * host_size")


@variant(SMALL, right="per-rank GB | unproven")
def factor_after_the_division(patch: Patch) -> None:
    patch.replace(POOL, NOW, "host_size / self.size_per_token * 1e9")


@variant(SMALL, right="per-rank GB | unproven")
def factor_in_the_divisor(patch: Patch) -> None:
    patch.replace(POOL, NOW, "host_size // (self.size_per_token / 1e9)")


@variant(SMALL, right="per-rank GB | unproven")
def bytes_per_token_are_gigabytes(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size //")
    patch.replace(POOL, "self.get_size_per_token()\n", "self.get_size_per_token() / 1e9\n")


@variant(SMALL, right="per-rank GiB | unproven")
def bytes_per_token_are_gibibytes_elsewhere(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size //")
    patch.replace(POOL, "self.layer_num * 2 * 2\n", "self.layer_num * 2 * 2 / 1024**3\n")


@variant(SMALL, right="per-rank GB | unproven")
def factor_is_a_class_attribute(patch: Patch) -> None:
    patch.replace(POOL, "class HostPool:\n", "class HostPool:\n    GIB = 10**9\n\n")
    patch.replace(POOL, "host_size * 1e9", "host_size * self.GIB")


@variant(SMALL, right="per-rank GiB | unproven")
def factor_is_a_default(patch: Patch) -> None:
    patch.replace(POOL, "page_size: int):", "page_size: int, gb: float = 1 << 30):")
    patch.replace(POOL, "host_size * 1e9", "host_size * gb")


@variant(SMALL, right="per-rank GiB | unproven")
def factor_is_an_argument(patch: Patch) -> None:
    patch.replace(POOL, "page_size: int):", "page_size: int, gb: float = 1e9):")
    patch.replace(POOL, "host_size * 1e9", "host_size * gb")
    patch.replace(CACHE, "self.page_size,\n", "self.page_size,\n            1 << 30,\n")


@variant(SMALL, right="per-rank GB | unproven")
def factor_from_a_dict(patch: Patch) -> None:
    patch.after(POOL, "logger = logging.getLogger(__name__)", 'UNITS = {"GB": 1e9, "GiB": 1 << 30}')
    patch.replace(POOL, "host_size * 1e9", 'host_size * UNITS["GB"]')


@variant(SMALL, right="per-rank GiB | unproven")
def factor_reassigned(patch: Patch) -> None:
    patch.after(POOL, "logger = logging.getLogger(__name__)", "GB = 1e9\nGB = 1 << 30")
    patch.replace(POOL, "host_size * 1e9", "host_size * GB")


@variant(SMALL, right="unproven")
def factor_from_the_environment(patch: Patch) -> None:
    patch.replace(POOL, "import logging\n", "import logging\nimport os\n")
    patch.replace(POOL, "host_size * 1e9", 'host_size * float(os.environ.get("UNIT", "1e9"))')


@variant(SMALL, right="unproven")
def factor_depends(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * (1e9 if page_size == 1 else 1 << 30)")


@variant(SMALL, right="unproven")
def branches_disagree(patch: Patch) -> None:
    patch.replace(
        POOL,
        f"            self.size = int({NOW})",
        "            if page_size == 1:\n"
        f"                self.size = int({NOW})\n"
        "            else:\n"
        "                self.size = int(host_size * 1024**3 // self.size_per_token)",
    )


@variant(SMALL, right="per-rank GB | unproven")
def factor_by_a_function(patch: Patch) -> None:
    patch.replace(POOL, "import logging\n", "import logging\nimport math\n")
    patch.replace(POOL, "host_size * 1e9", "host_size * math.pow(10, 9)")


@variant(SMALL, right="unproven")
def scaled_before_it_is_passed(patch: Patch) -> None:
    patch.replace(CACHE, "server_args.hicache_size,", "server_args.hicache_size * 2,")


@variant(SMALL, right="per-rank MB | unproven")
def divided_before_it_is_passed(patch: Patch) -> None:
    patch.replace(CACHE, "server_args.hicache_size,", "server_args.hicache_size / 1000,")


@variant(SMALL, right="per-rank GiB | unproven")
def unit_changed_before_it_is_passed(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9 //", "host_size //")
    patch.replace(CACHE, "server_args.hicache_size,", "server_args.hicache_size * 1024**3,")


@variant(SMALL, right="unproven")
def squared(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * host_size * 1e9")


@variant(SMALL, right="unproven")
def something_added(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "(host_size + 100) * 1e9")


@variant(SMALL, right="unproven")
def taken_from_something(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "(psutil.virtual_memory().available - host_size * 1e9)")


@variant(SMALL, right="unproven")
def everything_that_is_available(patch: Patch) -> None:
    patch.replace(
        POOL, "host_size * 1e9 //", "max(host_size * 1e9, psutil.virtual_memory().available // 2) //"
    )


@variant(SMALL, right="unproven")
def pool_grows_after_the_arithmetic(patch: Patch) -> None:
    patch.replace(POOL, "self.size = self.size - (self.size % self.page_size)", "self.size = self.size * 2")


@variant(SMALL, right="per-rank GB")
def rounded_up_to_a_page(patch: Patch) -> None:
    patch.replace(
        POOL,
        "self.size = self.size - (self.size % self.page_size)",
        "self.page_num = self.size // self.page_size + 1\n        self.size = self.page_num * self.page_size",
    )


@variant(SMALL, right="per-rank GB | unproven")
def divisor_has_no_telling_name(patch: Patch) -> None:
    patch.word(POOL, "size_per_token", "quantum")
    patch.word(POOL, "get_size_per_token", "get_quantum")


@variant(SMALL, right="unproven")
def divided_by_a_number_that_counts_nothing(patch: Patch) -> None:
    patch.replace(POOL, NOW, "host_size * 1e9 // device_pool.fullness")


@variant(SMALL, right="unproven")
def multiplied_by_something_of_the_model(patch: Patch) -> None:
    patch.replace(POOL, NOW, "host_size * 1e9 * device_pool.layer_num // self.size_per_token")


@variant(SMALL, right="per-rank GB | unproven")
def in_pages_and_back(patch: Patch) -> None:
    patch.replace(
        POOL,
        f"self.size = int({NOW})",
        "pages = int(host_size * 1e9 // (self.size_per_token * page_size))\n            self.size = pages * page_size",
    )
