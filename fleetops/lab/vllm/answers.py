"""What the endpoints answer, in the forms that a live server of 0.32.0 gave."""

import time
from collections.abc import Iterator
from typing import Any

from fleetops.lab.engine.requests import Pending, Piece, Requests
from fleetops.lab.vllm.service import Service

Body = dict[str, Any]


def models(service: Service) -> Body:
    """GET /v1/models."""
    name = service.args["served_model_name"]
    card = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "vllm"}
    more = {"root": service.args["model"], "parent": None, "max_model_len": service.context_tokens}
    return {"object": "list", "data": [{**card, **more}]}


def error(message: str, kind: str, code: int, param: str | None = None) -> Body:
    """An error body."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class Completion:
    """One request to /v1/completions. Raises ValueError, KeyError, TypeError for a body that it cannot take."""

    def __init__(self, body: Any, service: Service) -> None:
        if not isinstance(body, dict):
            raise TypeError("Input should be a valid dictionary")
        self.name = body.get("model") or service.args["served_model_name"]
        self.is_known = self.name == service.args["served_model_name"]
        prompt = body["prompt"]
        self.prompt = " ".join(map(str, prompt)) if isinstance(prompt, list) else str(prompt)
        self.limit = body.get("max_tokens", 16)
        if not isinstance(self.limit, int) or self.limit < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.limit}.")
        self.ignore_eos = bool(body.get("ignore_eos"))
        self.stream = bool(body.get("stream"))
        self.wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self._tokens = 0

    def begin(self, pending: Pending) -> None:
        """The request is on its way."""
        self._head = {
            "id": f"cmpl-{pending.rid[:16]}",
            "object": "text_completion",
            "created": int(pending.started),
            "model": self.name,
        }

    def whole(self, pieces: list[Piece]) -> Body:
        """The answer as one."""
        self._tokens = len(pieces)
        text = "".join(piece[0] for piece in pieces)
        return {**self._head, "choices": [_choice(text, pieces[-1])], "usage": self._usage(pieces[-1])}

    def parts(self, piece: Piece) -> Iterator[Body]:
        """One piece of a streamed answer, and the counts after the last where they were asked for."""
        self._tokens += 1
        yield {**self._head, "choices": [_choice(piece[0], piece)]}
        if piece[1] and self.wants_usage:
            yield {**self._head, "choices": [], "usage": self._usage(piece)}

    def _usage(self, piece: Piece) -> Body:
        return {
            "prompt_tokens": piece[2],
            "total_tokens": piece[2] + self._tokens,
            "completion_tokens": self._tokens,
            "prompt_tokens_details": None,
        }


def _choice(text: str, piece: Piece) -> Body:
    reason = (piece[1] or {}).get("type")
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}


def metrics(service: Service, requests: Requests) -> str:
    """GET /metrics: the settings of the cache as labels of a gauge, and how many requests there are."""
    args, tokens = service.args, service.cache_tokens
    model = f'engine="0",model_name="{args["served_model_name"]}"'
    labels = {
        "block_size": args["block_size"],
        "cache_dtype": args["kv_cache_dtype"],
        "engine": 0,
        "gpu_memory_utilization": args["gpu_memory_utilization"],
        "kv_cache_max_concurrency": tokens / service.context_tokens,
        "kv_cache_memory_bytes": tokens * service.model.cell_bytes,
        "kv_cache_size_tokens": tokens,
        "kv_offloading_backend": args["kv_offloading_backend"],
        "kv_offloading_size": args["kv_offloading_size"],
        "num_gpu_blocks": tokens // args["block_size"],
    }
    shown = ",".join(f'{name}="{value}"' for name, value in labels.items())
    lines = []
    for name, about, of, value in (
        (
            "num_requests_running",
            "Number of requests in model execution batches.",
            model,
            len(requests.pending()),
        ),
        ("num_requests_waiting", "Number of requests waiting to be processed.", model, 0),
        ("cache_config_info", "Information of the LLMEngine CacheConfig", shown, 1),
    ):
        lines += [
            f"# HELP vllm:{name} {about}",
            f"# TYPE vllm:{name} gauge",
            f"vllm:{name}{{{of}}} {float(value)}",
        ]
    return "\n".join([*lines, ""])
