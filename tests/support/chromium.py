"""Debian's Chromium, headless, driven over a pipe in its own protocol: no port, no driver, no library."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


class Tab:
    """One page. `events` are those of the protocol, oldest first."""

    def __init__(self, out: int, back: int) -> None:
        self._out, self._back = out, back
        self._numbers, self._rest = itertools.count(1), b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in (
            "Page",
            "Runtime",
            "Log",
            "Network",
            "Accessibility",
            "Emulation.clearDeviceMetricsOverride",
        ):
            self.call(domain if "." in domain else f"{domain}.enable")

    def call(self, method: str, **given: Any) -> Any:
        """One call and its answer; events that come before it are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def wait(self, event: str) -> dict[str, Any]:
        """The first one that is not waited for yet."""
        while True:
            for place, one in enumerate(self.events):
                if one.get("method") == event:
                    return self.events.pop(place)
            self.events.append(self._read())

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._back, 1 << 20)
            assert piece, "Chromium has gone"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def size(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def prefer(self, scheme: str, media: str = "screen") -> None:
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def open(self, path: Path, *, script: bool = True) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def settle(self) -> None:
        """Two frames are drawn, so that what watches sizes and places has spoken."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=9 if key == "Tab" else 13,
                text="\r" if key == "Enter" and kind == "keyDown" else "",
            )

    def picture(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """What the console holds against the page, exceptions and refused resources included."""
        found = []
        for one in self.events:
            given = one.get("params", {})
            if one.get("method") == "Log.entryAdded":
                found.append(given["entry"]["text"])
            elif one.get("method") == "Runtime.exceptionThrown":
                found.append(str(given["exceptionDetails"]))
            elif one.get("method") == "Runtime.consoleAPICalled":
                found.append(str(given["args"]))
        return found

    def requested(self) -> list[str]:
        """What was asked for, from anywhere."""
        return [
            one["params"]["request"]["url"]
            for one in self.events
            if one.get("method") == "Network.requestWillBeSent"
        ]


@contextmanager
def chromium(*flags: str) -> Iterator[Tab]:
    """A browser with an empty profile, ended with the block."""
    assert PROGRAM, "install Debian's package chromium"
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    to_it, out = os.pipe()
    back, from_it = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as home:
        line = [PROGRAM, *_FLAGS, *sandbox, *flags, f"--user-data-dir={home}", "about:blank"]
        # It reads its descriptor 3 and writes its descriptor 4.
        shell = f'exec "$@" 3<&{to_it} 4>&{from_it}'
        process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *line],
            pass_fds=(to_it, from_it),
            env={**os.environ, "HOME": home, "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        try:
            tab = Tab(out, back)
            tab.attach()
            yield tab
            tab._session = None
            tab.call("Browser.close")
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            os.close(out)
            os.close(back)
