import logging

from sglang.srt.mem_cache.host_cache import HostCache
from sglang.srt.server_args import ServerArgs

logger = logging.getLogger(__name__)


class Scheduler:
    def __init__(self, server_args: ServerArgs, gpu_id: int, tp_rank: int):
        self.server_args = server_args
        self.gpu_id = gpu_id
        self.tp_rank = tp_rank
        self.tp_size = server_args.tp_size
        self.device_pool = self.make_device_pool()
        self.init_cache()

    def make_device_pool(self):
        raise NotImplementedError

    def init_cache(self):
        server_args = self.server_args
        self.tree_cache = HostCache(self.device_pool, server_args)

    def event_loop(self):
        while True:
            self.tree_cache.check()


def run_scheduler_process(server_args: ServerArgs, port_args, gpu_id: int, tp_rank: int, pipe_writer):
    scheduler = Scheduler(server_args, gpu_id, tp_rank)
    pipe_writer.send({"status": "ready"})
    scheduler.event_loop()
