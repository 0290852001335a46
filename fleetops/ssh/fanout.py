"""Many hosts at once: bounded, results as they come, and one that hangs costs only itself."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from fleetops.model.errors import FleetopsError, Unreachable

Item = TypeVar("Item")
Value = TypeVar("Value")

WIDTH = 32

_LOOK_S = 0.2  # an interrupt that comes just before a wait is seen after it


@dataclass(frozen=True)
class Result(Generic[Item, Value]):
    """What came of one item: a value, or the error that a user may see."""

    item: Item
    value: Value | None
    error: FleetopsError | None
    duration_s: float


def fan_out(
    items: Iterable[Item],
    work: Callable[[Item], Value],
    *,
    width: int = WIDTH,
    deadline_s: float | None = None,
) -> Generator[Result[Item, Value], None, None]:
    """Do `work` for every item on at most `width` threads, and yield results in the order in which they come.

    The threads are daemons: one that hangs keeps neither the others' results nor the process. What has not
    finished `deadline_s` after the start is given up with an Unreachable result. An exception that is not a
    FleetopsError is a defect; it is raised here after all other results. Once the generator is closed, nothing new
    is begun.
    """
    todo = list(items)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for place in range(len(todo)):
        waiting.put(place)
    done: queue.SimpleQueue[tuple[int, Result[Item, Value] | BaseException]] = queue.SimpleQueue()
    stop = threading.Event()

    def labour() -> None:
        while not stop.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((place, _attempt(todo[place], work)))

    for number in range(min(width, len(todo))):
        threading.Thread(target=labour, name=f"fan-out-{number}", daemon=True).start()
    try:
        yield from _collect(todo, done, deadline_s)
    finally:
        stop.set()


def _attempt(item: Item, work: Callable[[Item], Value]) -> Result[Item, Value] | BaseException:
    began = time.monotonic()
    try:
        value = work(item)
    except FleetopsError as error:
        return Result(item, None, error, time.monotonic() - began)
    except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
        return error
    return Result(item, value, None, time.monotonic() - began)


def _collect(
    todo: list[Item],
    done: "queue.SimpleQueue[tuple[int, Result[Item, Value] | BaseException]]",
    deadline_s: float | None,
) -> Iterator[Result[Item, Value]]:
    began = time.monotonic()
    left = set(range(len(todo)))
    defect: BaseException | None = None
    while left:
        rest_s = _LOOK_S if deadline_s is None else max(began + deadline_s - time.monotonic(), 0)
        try:
            place, result = done.get(timeout=min(rest_s, _LOOK_S))
        except queue.Empty:
            if rest_s <= 0:
                break
            continue
        left.discard(place)
        if isinstance(result, Result):
            yield result
        else:
            defect = defect or result
    for place in sorted(left):
        yield Result(todo[place], None, _given_up(todo[place], deadline_s), time.monotonic() - began)
    if defect is not None:
        raise defect


class GivenUp(Unreachable):
    """It had not finished when the deadline was over, or had not been begun."""


def _given_up(item: object, deadline_s: float | None) -> GivenUp:
    name = getattr(item, "name", str(item))
    return GivenUp(f"{name}: not finished within {deadline_s:.3g} s, given up", host=name)
