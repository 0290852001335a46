"""What the endpoints answer: the forms of SGLang's own API and of OpenAI's (entrypoints/openai/protocol.py)."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from fleetops.lab.engine.requests import Pending, Piece
from fleetops.lab.engine.service import Service

Body = dict[str, Any]


def models(service: Service) -> Body:
    """GET /v1/models."""
    name = service.args["served_model_name"]
    card = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "sglang", "root": name}
    return {"object": "list", "data": [{**card, "parent": None, "max_model_len": service.context_tokens}]}


def model_info(service: Service) -> Body:
    """GET /model_info."""
    args = service.args
    return {
        "model_path": args["model_path"],
        "tokenizer_path": args["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": args["preferred_sampling_params"],
        "weight_version": args["weight_version"],
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": service.model.model_type,
        "architectures": [service.model.architecture],
    }


class Form(ABC):
    """One kind of request and its answers. Raises ValueError for a body that it cannot take."""

    default_limit: int | None = None

    def __init__(self, body: Any, service: Service) -> None:
        if not isinstance(body, dict):
            raise TypeError("Input should be a valid dictionary or object to extract fields from")
        self.body: Body = body
        self.service = service
        self.prompt = self.read_prompt()
        self.limit = self.read_limit()
        self.ignore_eos = bool(self.sampling().get("ignore_eos"))
        self.stream = bool(body.get("stream"))
        self.tokens = 0
        self.text = ""

    def begin(self, pending: Pending) -> None:
        """The request is on its way."""
        self.rid = pending.rid
        self.started = pending.started

    @abstractmethod
    def read_prompt(self) -> str:
        """The prompt in the body."""

    def sampling(self) -> Body:
        """Where the body keeps its sampling parameters."""
        return self.body

    def read_limit(self) -> int | None:
        """How many tokens are asked for."""
        limit = self.body.get("max_completion_tokens") or self.body.get("max_tokens", self.default_limit)
        return _whole_number(limit, "max_tokens")

    @abstractmethod
    def whole(self, pieces: list[Piece]) -> Body:
        """The answer as one."""

    @abstractmethod
    def parts(self, piece: Piece) -> Iterator[Body]:
        """One piece of a streamed answer."""

    def take(self, piece: Piece) -> None:
        """Add a piece to what has come."""
        self.tokens += 1
        self.text += piece[0]

    def usage(self, prompt_tokens: int) -> Body:
        """OpenAI's usage counts."""
        return {
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + self.tokens,
            "completion_tokens": self.tokens,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        }

    def head(self, kind: str) -> Body:
        """What every OpenAI answer starts with."""
        model = self.body.get("model", self.service.args["served_model_name"])
        return {"id": self.rid, "object": kind, "created": int(self.started), "model": model}

    def finished(self, finish: Body | None) -> Body:
        """OpenAI's two fields for why it ended."""
        finish = finish or {}
        return {"finish_reason": finish.get("type"), "matched_stop": finish.get("matched")}

    def last_usage(self, piece: Piece, kind: str) -> Iterator[Body]:
        """The chunk after the last one, where the client asked for it."""
        asked = (self.body.get("stream_options") or {}).get("include_usage")
        if piece[1] and asked:
            yield {**self.head(kind), "choices": [], "usage": self.usage(piece[2])}


class Native(Form):
    """POST /generate."""

    def read_prompt(self) -> str:
        if "text" in self.body:
            return str(self.body["text"])
        if "input_ids" in self.body:
            return " ".join(str(each) for each in self.body["input_ids"])
        raise ValueError("Either text, input_ids or input_embeds should be provided.")

    def sampling(self) -> Body:
        return self.body.get("sampling_params") or {}

    def read_limit(self) -> int | None:
        return _whole_number(self.sampling().get("max_new_tokens", 128), "max_new_tokens")

    def whole(self, pieces: list[Piece]) -> Body:
        for piece in pieces:
            self.take(piece)
        return self._answer(pieces[-1])

    def parts(self, piece: Piece) -> Iterator[Body]:
        self.take(piece)
        yield self._answer(piece)

    def _answer(self, piece: Piece) -> Body:
        about = {
            "id": self.rid,
            "finish_reason": piece[1],
            "prompt_tokens": piece[2],
            "weight_version": self.service.args["weight_version"],
            "total_retractions": 0,
            "completion_tokens": self.tokens,
            "cached_tokens": 0,
        }
        if piece[1]:
            about["e2e_latency"] = time.time() - self.started
        return {"text": self.text, "output_ids": [], "meta_info": about}


class Completion(Form):
    """POST /v1/completions."""

    default_limit = 16

    def read_prompt(self) -> str:
        prompt = self.body["prompt"]
        return " ".join(str(each) for each in prompt) if isinstance(prompt, list) else str(prompt)

    def whole(self, pieces: list[Piece]) -> Body:
        for piece in pieces:
            self.take(piece)
        last = pieces[-1]
        choice = {"index": 0, "text": self.text, "logprobs": None, **self.finished(last[1])}
        version = {"weight_version": self.service.args["weight_version"]}
        return {
            **self.head("text_completion"),
            "choices": [choice],
            "usage": self.usage(last[2]),
            "metadata": version,
        }

    def parts(self, piece: Piece) -> Iterator[Body]:
        self.take(piece)
        choice = {"index": 0, "text": piece[0], "logprobs": None, **self.finished(piece[1])}
        yield {**self.head("text_completion"), "choices": [choice], "usage": None}
        yield from self.last_usage(piece, "text_completion")


class Chat(Form):
    """POST /v1/chat/completions."""

    def read_prompt(self) -> str:
        messages = self.body["messages"]
        if not messages:
            raise ValueError("Messages cannot be empty.")
        return " ".join(str(each.get("content", "")) for each in messages)

    def whole(self, pieces: list[Piece]) -> Body:
        for piece in pieces:
            self.take(piece)
        last = pieces[-1]
        message = {
            "role": "assistant",
            "content": self.text,
            "reasoning_content": None,
            "tool_calls": None,
        }
        choice = {"index": 0, "message": message, "logprobs": None, **self.finished(last[1])}
        version = {"weight_version": self.service.args["weight_version"]}
        return {
            **self.head("chat.completion"),
            "choices": [choice],
            "usage": self.usage(last[2]),
            "metadata": version,
        }

    def parts(self, piece: Piece) -> Iterator[Body]:
        kind = "chat.completion.chunk"
        role = None if self.tokens else "assistant"
        self.take(piece)
        delta = {"role": role, "content": piece[0], "reasoning_content": None, "tool_calls": None}
        choice = {"index": 0, "delta": delta, "logprobs": None, **self.finished(piece[1])}
        yield {**self.head(kind), "choices": [choice], "usage": None}
        yield from self.last_usage(piece, kind)


def _whole_number(value: Any, name: str) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 1):
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return value
