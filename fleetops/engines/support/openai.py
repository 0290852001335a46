"""OpenAI's completions as inference engines serve them: the request, and its answer whole or as server-sent events."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetops.model.load import Usage

COMPLETIONS = "/v1/completions"
MODELS = "/v1/models"
DONE = "[DONE]"
"""The data of the event that ends a stream."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_LONGEST_LINE_BYTES = 8 * 2**20
_LONGEST_COMPLAINT = 300


class Complaint(ValueError):  # noqa: N818 - what the server says, not what went wrong here
    """The server answered in its own form that it could not."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One event of a stream, or a whole answer. `usage` comes with the last one.

    Attributes:
        gave: whether something was generated; its text may be empty (half a character, a special token).
        ended: whether it says why the answer ended.
    """

    gave: bool
    ended: bool
    usage: Usage | None = None


class Events:
    """Server-sent events (WHATWG's form), from bytes that were cut anywhere: feed it, get the data of whole events."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._after_return = False
        self._begun = False

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that this piece completes. Raises ValueError for a line without an end."""
        if not piece:
            return []
        if self._after_return and piece.startswith(
            b"\n"
        ):  # the second half of a line end that was cut in two
            piece = piece[1:]
            self._after_return = False
            if not piece:
                return []
        self._after_return = piece.endswith(b"\r")
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        if len(self._rest) > _LONGEST_LINE_BYTES:
            raise ValueError(f"a line of more than {_LONGEST_LINE_BYTES:,} bytes")
        return [data for line in lines if (data := self._take(line)) is not None]

    def end(self) -> list[str]:
        """Nothing more comes. An event that was not closed is lost, as the form says, but for the word that ends it all."""
        last = self._take(self._rest) if self._rest else None
        left = self._data if last is None else [last]
        return [DONE] if left == [DONE] else []

    def _take(self, line: bytes) -> str | None:
        text = line.decode("utf-8", "replace")
        if not self._begun:
            text = text.removeprefix("\ufeff")
            self._begun = True
        if not text:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        name, _, value = text.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return None


def completion(model: str, prompt: str, tokens: int, *, stream: bool = True) -> bytes:
    """The body of a completion of exactly `tokens` tokens, whatever the model would end on; streamed, or answered whole.

    `ignore_eos` is an extension that SGLang and vLLM share.
    """
    body: dict[str, Any] = {
        "model": model,
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
    }
    return json.dumps(body).encode()


def read_models(body: bytes) -> tuple[str, ...]:
    """The names in an answer of MODELS, the base model first. Raises ValueError for another form."""
    answer = _json_object(body)
    cards = answer.get("data")
    names = [card.get("id") for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
    found = tuple(name for name in names if isinstance(name, str))
    if not found:
        raise ValueError(complaint(answer))
    return found


def read_part(data: str | bytes) -> Part:
    """One event's data, or a whole answer. Raises Complaint where it says an error, ValueError for another form."""
    answer = _json_object(data)
    if answer.get("error") or answer.get("object") == "error":
        raise Complaint(complaint(answer))
    choices = answer.get("choices")
    if not isinstance(choices, list):
        raise ValueError(complaint(answer))  # noqa: TRY004 - the promised error
    given = [choice for choice in choices if isinstance(choice, dict)]
    return Part(
        gave=any(choice.get("text") or not choice.get("finish_reason") for choice in given),
        ended=any(choice.get("finish_reason") for choice in given),
        usage=_usage(answer.get("usage")),
    )


def read_completion(body: bytes) -> tuple[int, str]:
    """How many tokens a whole answer has, and its text. Raises ValueError for an error and for another form."""
    part, answer = read_part(body), _json_object(body)
    texts = [choice.get("text") for choice in answer["choices"] if isinstance(choice, dict)]
    if part.usage is None or not texts or not isinstance(texts[0], str):
        raise ValueError(complaint(answer))
    return part.usage.output_tokens, texts[0]


def complaint(answer: Mapping[str, Any]) -> str:
    """What an error body says; its form differs between engines, endpoints and releases."""
    error = answer.get("error", answer.get("message", answer.get("detail")))
    text = error.get("message", error) if isinstance(error, dict) else error
    told = str(text)[:_LONGEST_COMPLAINT] if text else ""
    return told or f"an answer without the expected fields, but {', '.join(map(str, answer)) or 'empty'}"


def complaint_in(body: bytes) -> str:
    """What the body of an answer with a bad status says, whatever its form."""
    try:
        return complaint(_json_object(body))
    except ValueError:
        return " ".join(body.decode("utf-8", "replace").split())[:_LONGEST_COMPLAINT]


def _json_object(data: str | bytes) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error
    if not isinstance(answer, dict):
        raise ValueError(f"expected a JSON object, got {data[:80]!r}")  # noqa: TRY004 - the promised error
    return answer


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None
    prompt, output = (_count(found.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    if prompt is None or output is None:
        return None
    details = found.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Usage(prompt_tokens=prompt, output_tokens=output, cached_tokens=cached)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
