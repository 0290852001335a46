"""The command line: of vLLM's many options those that a lab has a use for; any other is refused as vLLM refuses it."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any


class _Parser(argparse.ArgumentParser):
    def __init__(self) -> None:
        super().__init__(prog="vllm serve", allow_abbrev=False)


def parse(argv: Sequence[str]) -> dict[str, Any]:
    """The arguments by name. Ends the process (2) for what it does not know, as argparse does."""
    parser = _Parser()
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--model")
    for name, kind, default in (
        ("--host", str, "0.0.0.0"),  # noqa: S104 - the engine's own default
        ("--port", int, 8000),
        ("--served-model-name", str, None),
        ("--api-key", str, None),
        ("--max-model-len", int, None),
        ("--max-num-seqs", int, 1024),
        ("--gpu-memory-utilization", float, 0.92),
        ("--block-size", int, 16),
        ("--kv-offloading-size", float, None),
        ("--kv-offloading-backend", str, "native"),
        ("--cpu-offload-gb", float, 0.0),
        ("--dtype", str, "auto"),
        ("--kv-cache-dtype", str, "auto"),
    ):
        parser.add_argument(name, type=kind, default=default)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--enforce-eager", action="store_true")
    parser.add_argument("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
    given = vars(parser.parse_args(argv))
    given["model"] = given["model_tag"] or given["model"]
    if not given["model"]:
        parser.error("the following arguments are required: model_tag")
    given["served_model_name"] = given["served_model_name"] or given["model"]
    given["non_default"] = {name: given[name] for name in given if _was_given(name, argv)}
    return given


def _was_given(name: str, argv: Sequence[str]) -> bool:
    flag = "--" + name.replace("_", "-")
    return name in {"model_tag", "model"} or any(
        word.partition("=")[0] in {flag, "-tp" if name == "tensor_parallel_size" else flag} for word in argv
    )


def serve_arguments(argv: Sequence[str]) -> list[str]:
    """What follows `serve`; of the module that serves without a subcommand, everything. Ends the process for another."""
    if argv and argv[0] == "serve":
        return list(argv[1:])
    print("the lab's vLLM knows one subcommand: serve", file=sys.stderr)
    raise SystemExit(2)
