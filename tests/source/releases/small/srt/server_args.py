import argparse
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    pp_size: int = 1
    dp_size: int = 1
    nnodes: int = 1
    page_size: int = 1
    hicache_ratio: float = 2.0
    hicache_size: int = 0

    def __post_init__(self):
        self.check()

    def check(self):
        if self.page_size < 1:
            raise ValueError("page size")

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--tp-size", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--hicache-ratio", type=float, default=ServerArgs.hicache_ratio)
        parser.add_argument(
            "--hicache-size",
            type=int,
            default=ServerArgs.hicache_size,
            help="The size of the host pool in gigabytes.",
        )

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace):
        return cls(**{one.name: getattr(args, one.name) for one in dataclasses.fields(cls)})
