"""A headless Chromium driven by its DevTools protocol over a pipe, without port, driver or library.

Every message is JSON followed by a zero byte; the browser reads from file descriptor 3 and writes to 4.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Self

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT: Final = 60.0
"""Seconds that one command or condition may take; the machine may be busy."""


class BrowserError(RuntimeError):
    """A command failed or timed out."""


def find() -> str | None:
    """Return the path of Chromium on this machine; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser process and its protocol connection; `page` opens tabs."""

    def __init__(self, program: str) -> None:
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="lagwarden-chromium-", ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        options = [
            *("--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", "--no-first-run"),
            # No requests of the browser itself: only those of the pages.
            *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-pings"),
            *("--disable-extensions", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"),
            # Chromium's sandbox does not work as root; only own pages are opened.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        command = ["bash", "-c", script, "chromium", str(to_read), str(to_write), program, *options, "about:blank"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and all its processes."""
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(TIMEOUT / 6)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; other messages are added to `events`. Raises BrowserError."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            received = self._read(0.5)
            self.events += [each for each in received if each.get("id") != number]
            for response in (each for each in received if each.get("id") == number):
                if "error" in response:
                    raise BrowserError(f"{method}: {response['error']}")
                return response["result"]
        raise BrowserError(f"{method}: no response")

    def listen(self, seconds: float) -> None:
        """Receive events for at most some seconds."""
        self.events += self._read(seconds)

    @contextlib.contextmanager
    def page(self, **emulated: Any) -> Iterator[Page]:
        """Open an empty tab with a separate profile; `emulated` as in `Page.emulate`."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
                page.send(f"{domain}.enable")
            page.emulate(**emulated)
            yield page
        finally:
            # Also after a failed test: an open tab would go on updating beside the next ones.
            self.send("Target.disposeBrowserContext", browserContextId=context)

    def _read(self, seconds: float) -> list[dict[str, Any]]:
        """Return the complete messages that arrive within some seconds."""
        if not select.select([self._from], [], [], seconds)[0]:
            return []
        piece = os.read(self._from, 1 << 20)
        if not piece:
            raise BrowserError("the browser has ended")
        *messages, self._rest = (self._rest + piece).split(b"\0")
        return [json.loads(message) for message in messages]


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def emulate(self, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True) -> None:
        """Set the size of the window, the colour scheme, and JavaScript; a narrow window is a phone."""
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, address: str) -> None:
        """Open a URL and wait until it is loaded."""
        self._browser.events.clear()
        answer = self.send("Page.navigate", url=address)
        if "errorText" in answer:
            raise BrowserError(f"{address}: {answer['errorText']}")
        self.wait(lambda: self.events("Page.loadEventFired") != [], f"{address} to load")

    def run(self, expression: str) -> Any:
        """Evaluate an expression in the page and return its value; a promise is awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition is true. Raises BrowserError."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise BrowserError(f"timed out waiting for {what}")
            self._browser.listen(0.05)

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true, also across a navigation to another page."""

        def condition() -> bool:
            try:
                return bool(self.run(expression))
            except BrowserError as error:
                # During a navigation the browser responds for the previous page.
                if "navigated" not in str(error):
                    raise
                return False

        self.wait(condition, expression)

    def wait_until(self, expression: str, value: str) -> None:
        """Wait until an expression has a value. Raises BrowserError with the first difference."""
        with contextlib.suppress(BrowserError):
            self.wait(lambda: self.run(expression) == value, expression)
            return
        seen = str(self.run(expression))
        at = next((at for at, (one, other) in enumerate(zip(seen, value, strict=False)) if one != other), -1)
        raise BrowserError(f"it is {seen[max(at - 60, 0) : at + 200]!r} and not {value[max(at - 60, 0) : at + 200]!r}")

    def type(self, text: str) -> None:
        for sign in text:
            self.send("Input.insertText", text=sign)

    def press(self, key: str, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **({"text": text} if text else {}))

    def events(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of the events with this method since the page was opened."""
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [event["params"] for event in own if event["method"] == method]

    def complaints(self) -> list[str]:
        """Return all console messages, log entries and exceptions."""
        entries = [entry["entry"] for entry in self.events("Log.entryAdded")]
        lines = [f"{entry['level']}: {entry['text']} {entry.get('url', '')}" for entry in entries]
        lines += [str(each["exceptionDetails"]) for each in self.events("Runtime.exceptionThrown")]
        calls = self.events("Runtime.consoleAPICalled")
        return lines + [f"{call['type']}: {call['args']}" for call in calls]

    def requested_urls(self) -> list[str]:
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Write a screenshot as PNG; `whole`: including the parts outside the window."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))
