"""A headless Chromium, driven over its own pipe: nothing is installed and no port is opened."""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    # Root has no sandbox to step into; the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def executable() -> str | None:
    """Return the browser's path, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One open tab, and what it said and asked for since it was opened."""

    def __init__(self, reader: Any, writer: Any):
        self._reader, self._writer, self._count, self._session = reader, writer, 0, None
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._writer.write(json.dumps(message).encode() + b"\0")
        self._writer.flush()
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        read = bytearray()
        while (byte := self._reader.read(1)) != b"\0":
            assert byte, "the browser has gone"
            read += byte
        message = json.loads(read)
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Log.entryAdded":
                self.messages.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.messages.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.messages.append(str(params["exceptionDetails"]))
        return message

    def open(self, file: Path) -> None:
        """Load a file and wait until it stands."""
        self.call("Page.navigate", url=file.resolve().as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def look(self, width: int, dark: bool = False) -> None:
        """Give the window a width, a phone's below 600, and choose the colours."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"][
            "value"
        ]

    def screenshot(self, file: Path) -> None:
        """Write the whole page as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def print(self, file: Path) -> None:
        """Write the page as it would be printed, as PDF."""
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(printed["data"]))


@contextlib.contextmanager
def page(profile: Path) -> Iterator[Page]:
    """Start the browser with a profile of its own, yield a tab, and end it."""
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()

    def pipes() -> None:
        # The browser reads from 3 and writes to 4.
        first, second = os.dup(to_browser), os.dup(from_browser)
        os.dup2(first, 3)
        os.dup2(second, 4)

    command = [executable(), *FLAGS, f"--user-data-dir={profile}"]
    started = subprocess.Popen(
        command, preexec_fn=pipes, close_fds=False, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    try:
        with os.fdopen(to_us, "rb") as reader, os.fdopen(from_us, "wb") as writer:
            yield Page(reader, writer)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
