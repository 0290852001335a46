"""One completion asked of a service: streamed, timed, and what went wrong told by its kind."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from fleetops.engines.support import openai
from fleetops.engines.support.openai import DONE, Complaint, Events
from fleetops.model.errors import Unreachable
from fleetops.model.load import Trouble, TroubleKind, Usage
from fleetops.model.secrets import MASK, mask_text
from fleetops.model.session import Session, Streaming
from fleetops.ssh.http import whole

_MODELS_S = 10.0
_OK = 200


class Opener(Protocol):
    """Makes one HTTP request to the service: a session and a port, or a step's desk."""

    def __call__(
        self, method: str, path: str, body: bytes | None, *, headers: Mapping[str, str], deadline_s: float
    ) -> AbstractContextManager[Streaming]: ...


class OverSession:
    """Requests to one port of a host, over its SSH connection."""

    def __init__(self, session: Session, port: int) -> None:
        self._session = session
        self._port = port

    def __call__(
        self, method: str, path: str, body: bytes | None, *, headers: Mapping[str, str], deadline_s: float
    ) -> AbstractContextManager[Streaming]:
        return self._session.stream(self._port, method, path, body, headers=headers, deadline_s=deadline_s)


class BadStatus(ValueError):  # noqa: N818 - what the server says, not what went wrong here
    """An HTTP answer that is none of success; `status` is its code."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}" if said else str(status))
        self.status = status


class Lacking(ValueError):  # noqa: N818 - see above
    """An answer that ended well and lacks what would make it count."""

    def __init__(self, kind: TroubleKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Flight:
    """One request on its way: when it was begun, when it began to be sent, and when something came."""

    begun_at: float = field(default_factory=time.monotonic)
    asked_at: float = field(default_factory=time.monotonic)
    events: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Whom to ask, and how. `key` is its API key, "" where it has none."""

    open: Opener
    key: str = field(default="", repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """What authorizes a request."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def model(self, *, deadline_s: float = _MODELS_S) -> str:
        """The name of the model it serves. Raises BadStatus, ValueError for another form, OSError, Unreachable."""
        with self.open("GET", openai.MODELS, None, headers=self.headers, deadline_s=deadline_s) as answer:
            got = whole(answer)
        if got.status != _OK:
            raise BadStatus(got.status, self.masked(openai.complaint_in(got.body)))
        return openai.read_models(got.body)[0]

    def complete(self, body: bytes, flight: Flight, *, deadline_s: float) -> Usage:
        """One completion, noted in `flight` while it comes. Raises what `trouble` can tell apart."""
        opened = self.open("POST", openai.COMPLETIONS, body, headers=self.headers, deadline_s=deadline_s)
        with opened as answer:
            flight.asked_at = answer.asked_at
            usage = _read(answer, flight.events)
        if usage.output_tokens == 0:
            raise Lacking(TroubleKind.EMPTY, "answered without a single token")
        return usage

    def trouble(self, error: Exception) -> Trouble:
        """What `complete` raised: an OSError, a ValueError or an Unreachable."""
        said = " ".join(str(error).split()) or type(error).__name__
        return Trouble(_kind(error), self.masked(said))

    def masked(self, text: str) -> str:
        """What the service said, without its key."""
        return mask_text(text.replace(self.key, MASK) if self.key else text)


def _read(answer: Streaming, events: list[float]) -> Usage:
    """The counts of one answer, which a server may also give in one piece."""
    if answer.status != _OK:
        raise BadStatus(answer.status, openai.complaint_in(whole(answer).body))
    if answer.content_type == "text/event-stream":
        return _read_stream(answer, events)
    part = openai.read_part(whole(answer).body)
    if part.usage is None:
        raise Lacking(TroubleKind.NO_USAGE, "the answer has no token counts (usage)")
    return part.usage


def _read_stream(answer: Streaming, events: list[float]) -> Usage:
    usage, ended = None, False
    for data, at in _timed(answer):
        if data == DONE:
            ended = True
            break
        part = openai.read_part(data)
        if part.gave:
            events.append(at)
        usage, ended = part.usage or usage, ended or part.ended
    if not ended:
        raise OSError("the stream broke off")
    if usage is None:
        raise Lacking(TroubleKind.NO_USAGE, "the stream ended without token counts (usage)")
    return usage


def _timed(answer: Streaming) -> Iterator[tuple[str, float]]:
    """The data of each event, and when the piece came that completed it."""
    stream = Events()
    for piece in answer.pieces:
        at = time.monotonic()
        for data in stream.feed(piece):
            yield data, at
    for data in stream.end():
        yield data, time.monotonic()


def _kind(error: Exception) -> TroubleKind:
    if isinstance(error, Lacking):
        return error.kind
    kinds = (
        (Unreachable, TroubleKind.UNREACHABLE),
        (ConnectionRefusedError, TroubleKind.REFUSED),
        (TimeoutError, TroubleKind.DEADLINE),
        (BadStatus, TroubleKind.STATUS),
        (Complaint, TroubleKind.SERVER_ERROR),
        (ValueError, TroubleKind.MALFORMED),
    )
    return next((kind for sort, kind in kinds if isinstance(error, sort)), TroubleKind.BROKEN)
