"""Asking the service that a run has started: one generation, or a load, over the desk."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from fleetops.engines import Engine
from fleetops.engines.support import openai
from fleetops.model.fleet import Profile
from fleetops.model.load import Others
from fleetops.model.session import Streaming
from fleetops.ssh.http import whole
from fleetops.steps.support.asking import Asking, BadStatus
from fleetops.steps.support.base import Desk

_PROMPT = "Count upwards, in words, separated by commas: one, two,"
# What a server says whose queue is full: it lives.
_BUSY = {429, 503}
OK = 200


class NoGeneration(Exception):  # noqa: N818 - what the service did, not what went wrong here
    """A generation that gave no token.

    Attributes:
        silent: nothing came back at all.
        busy: the service turned it away for its load, which a dead one does not.
    """

    def __init__(self, why: str, *, silent: bool = False, busy: bool = False) -> None:
        super().__init__(why)
        self.silent = silent
        self.busy = busy


def asking(desk: Desk, profile: Profile) -> Asking:
    """Whom to ask: the profile's port on the node, with its API key."""

    def opener(
        method: str, path: str, body: bytes | None, *, headers: Mapping[str, str], deadline_s: float
    ) -> AbstractContextManager[Streaming]:
        return desk.stream(method, path, body, port=profile.port, headers=headers, deadline_s=deadline_s)

    return Asking(open=opener, key=key_of(profile))


def key_of(profile: Profile | None) -> str:
    """The API key that the profile gives its service; "" where it gives none."""
    flag = profile.flag("api_key") if profile else None
    return flag.value if flag and isinstance(flag.value, str) else ""


def others_served(service: Asking, of: Engine, *, deadline_s: float) -> tuple[int, Others | None]:
    """The status that the service's metrics answer with, and whom it serves by them. Raises OSError, Unreachable."""
    with service.open("GET", of.metrics_path, None, headers=service.headers, deadline_s=deadline_s) as answer:
        got = whole(answer)
    seen = of.parse_others(got.body.decode("utf-8", "replace")) if got.status == OK else None
    return got.status, seen


def generate(service: Asking, of: Engine, tokens: int, *, deadline_s: float) -> int:
    """Tokens of one real generation. Raises NoGeneration, or Unreachable, which says nothing about the service."""
    try:
        model = service.model(deadline_s=deadline_s) if of.names_model else ""
        method, path, body = of.generate(_PROMPT, tokens, model)
        with service.open(method, path, body, headers=service.headers, deadline_s=deadline_s) as answer:
            got = whole(answer)
        if got.status == OK:
            count = of.parse_generation(got.body).tokens
            if count > 0:
                return count
    except BadStatus as error:
        raise NoGeneration(f"{openai.MODELS}: {error}", busy=error.status in _BUSY) from error
    except TimeoutError as error:
        raise NoGeneration(f"no answer in {deadline_s:g} s", silent=True) from error
    except (OSError, ValueError) as error:
        raise NoGeneration(service.masked(str(error) or type(error).__name__)) from error
    said = service.masked(got.body[:200].decode("utf-8", "replace"))
    raise NoGeneration(f"status {got.status}, {said}", busy=got.status in _BUSY)
