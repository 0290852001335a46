from sglang.srt.mem_cache.host_pool import HostPool
from sglang.srt.server_args import ServerArgs


class HostCache:
    def __init__(self, kv_cache, server_args: ServerArgs):
        self.kv_cache = kv_cache
        self.page_size = server_args.page_size
        self.host_pool = HostPool(
            self.kv_cache,
            server_args.hicache_ratio,
            server_args.hicache_size,
            self.page_size,
        )

    def check(self):
        return self.host_pool.size
