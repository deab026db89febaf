"""A loopback endpoint for tests: scripted faults first, then answers of its own or a server's."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


def answer(text: str | None, finish: str = "stop", chat: bool = False) -> bytes:
    choice: dict[str, Any] = {"finish_reason": finish}
    choice |= {"message": {"content": text}} if chat else {"text": text}
    return json.dumps({"choices": [choice]}).encode()


class Endpoint:
    """What the server saw, and what it does next.

    A fault is a status number, "hang" (no answer until the test ends), "cut" (the connection closes
    after the headers), or the bytes of an answer sent as they are.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], bytes], faults: list[Any]) -> None:
        self.reply = reply
        self.faults = faults
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.url = ""


@contextmanager
def endpoint(reply: Callable[[dict[str, Any]], bytes], faults: list[Any]) -> Iterator[Endpoint]:
    state = Endpoint(reply, faults)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.seen.append({"path": self.path, **body})
                state.headers.append(dict(self.headers))
                fault = state.faults.pop(0) if state.faults else None
            if fault == "hang":
                state.done.wait(30)
                self.close_connection = True
            elif fault == "cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.close_connection = True
            elif isinstance(fault, int):
                self._send(fault, b'{"error": {"message": "scripted"}}')
            elif isinstance(fault, bytes):
                self._send(200, fault)
            else:
                self._send(200, state.reply({"path": self.path, **body}))

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        state.done.set()
        server.shutdown()
        server.server_close()
        thread.join()


def forwarded(base_url: str) -> Callable[[dict[str, Any]], bytes]:
    """Answers of a real server."""

    def reply(request: dict[str, Any]) -> bytes:
        path = request.pop("path").removeprefix("/v1")
        return httpx.post(base_url + path, json=request, timeout=60).content

    return reply
