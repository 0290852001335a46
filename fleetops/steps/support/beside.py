"""Work that goes on beside a step, which looks after other things meanwhile."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Beside(Generic[Value]):
    """`work` on a thread of its own, begun at once; the thread is a daemon, so work that hangs keeps nobody."""

    def __init__(self, work: Callable[[], Value], name: str) -> None:
        self._work = work
        self._ended = threading.Event()
        self._value: list[Value] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether there is a result, or an error."""
        return self._ended.is_set()

    def result(self) -> Value:
        """What `work` gave; waits for it. Raises what it raised."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._value[0]

    def _run(self) -> None:
        try:
            self._value.append(self._work())
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error
        finally:
            self._ended.set()
