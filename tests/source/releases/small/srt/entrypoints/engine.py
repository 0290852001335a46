import multiprocessing as mp

from sglang.srt.managers.scheduler import run_scheduler_process
from sglang.srt.server_args import ServerArgs


class Engine:
    def __init__(self, server_args: ServerArgs, port_args):
        self.processes = launch_schedulers(server_args, port_args)


def launch_schedulers(server_args: ServerArgs, port_args):
    processes = []
    for tp_rank in range(server_args.tp_size):
        reader, writer = mp.Pipe(duplex=False)
        process = mp.Process(
            target=run_scheduler_process,
            args=(server_args, port_args, tp_rank, tp_rank, writer),
        )
        process.start()
        processes.append(process)
    return processes


def launch_server(server_args: ServerArgs):
    return Engine(server_args, None)
