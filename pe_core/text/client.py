"""A client for OpenAI-compatible text endpoints: concurrent, retried, every answer kept on disk."""

import collections
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import tenacity

from pe_core.errors import InputError
from pe_core.text.answers import Answers, Response

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LONGEST_WAIT = 60.0


@dataclass(frozen=True)
class Request:
    """One text to be written.

    Attributes:
        prompt: the prompt, or the user's message of a chat.
        chat: whether the chat endpoint is asked, with the model's own chat template.
        seed: sampling seed, sent to the endpoint; requests that differ in it are different.
        sampling: further fields of the request, e.g. max_tokens, temperature, stop. Endpoints
            differ in what they allow: OpenAI's has no top_k or min_p, llama.cpp and vLLM do.
        choices: texts to write to the prompt, which is read once for all, ≥ 1.

    Example:
        >>> Request("Say a line:", chat=False, seed=1, sampling={"max_tokens": 8}).body("m")["seed"]
        1
    """

    prompt: str
    chat: bool
    seed: int
    sampling: Mapping[str, Any] = field(default_factory=dict)
    choices: int = 1

    @property
    def path(self) -> str:
        """The endpoint's path below the base URL."""
        return "/chat/completions" if self.chat else "/completions"

    def body(self, model: str) -> dict[str, Any]:
        """The JSON that is sent."""
        prompt: dict[str, Any] = (
            {"messages": [{"role": "user", "content": self.prompt}]}
            if self.chat
            else {"prompt": self.prompt}
        )
        several = {"n": self.choices} if self.choices > 1 else {}
        return {"model": model, "seed": self.seed, **several, **self.sampling, **prompt}


class Client:
    """Sends requests to one model at one endpoint.

    Args:
        base_url: e.g. `https://api.openai.com/v1` or `http://127.0.0.1:8000/v1`.
        model: the model's name at the endpoint. It is part of what answers are kept by; the URL is
            not, so a local server's port may change.
        key_env: name of the environment variable that holds the key; None where no key is needed.
            The key goes into the request's header and nowhere else.
        concurrency: requests in flight at the same time, ≥ 1.
        timeout: seconds for one try, > 0.
        retries: further tries after a first that failed for a passing reason, ≥ 0.
        cache_folder: where answers are kept; None keeps none. Several processes may share it.
        pause: seconds of the first wait between tries, which doubles, is shortened at random, and
            gives way to the endpoint's own Retry-After.

    Raises:
        InputError: a value out of range, a URL that is none or that carries a password, a key
            variable that is not set.

    Example:
        >>> with Client("http://127.0.0.1:1/v1", "none") as client:
        ...     list(client.complete([]))
        []
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key_env: str | None = None,
        concurrency: int = 32,
        timeout: float = 120.0,
        retries: int = 6,
        cache_folder: Path | None = None,
        pause: float = 0.5,
    ) -> None:
        url = _checked_url(base_url)
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise InputError(
                f"concurrency = {concurrency!r}: a whole number of at least 1 is needed"
            )
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InputError(f"retries = {retries!r}: a whole number of at least 0 is needed")
        if not timeout > 0:
            raise InputError(f"timeout = {timeout!r}: seconds above 0 are needed")
        headers = {}
        if key_env is not None:
            key = os.environ.get(key_env, "")
            if not key:
                raise InputError(f"key_env = {key_env!r}: this environment variable is not set")
            headers["Authorization"] = f"Bearer {key}"
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.concurrency = concurrency
        self._retries = retries
        self._cache = None if cache_folder is None else Answers(Path(cache_folder))
        self._http = httpx.Client(
            headers=headers,
            timeout=timeout,
            limits=httpx.Limits(max_connections=concurrency),
            # A proxy is for the world outside.
            trust_env=url.host not in _LOOPBACK,
        )
        back_off = tenacity.wait_random_exponential(multiplier=pause, max=_LONGEST_WAIT)

        def wait(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after if isinstance(error, _Transient) else None
            return back_off(state) if asked is None else min(asked, _LONGEST_WAIT)

        self._wait: Callable[[tenacity.RetryCallState], float] = wait

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()
        if self._cache is not None:
            self._cache.close()

    def complete(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response]]:
        """Send requests and yield each with its answer, in the order of the requests.

        Up to `concurrency` requests are in flight and as many wait, so `requests` is read lazily.
        The order makes what is built from the answers independent of which came first.

        Raises:
            InputError: the endpoint refuses a request for good (its words are in the message), or
                cannot be reached or understood within the tries allowed. Answers that came before
                are kept in the cache.
        """
        waiting: collections.deque[tuple[Request, Future[Response]]] = collections.deque()
        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                for request in requests:
                    waiting.append((request, pool.submit(self._answer, request)))
                    if len(waiting) >= 2 * self.concurrency:
                        done, future = waiting.popleft()
                        yield done, future.result()
                while waiting:
                    done, future = waiting.popleft()
                    yield done, future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, request: Request) -> Response:
        body = request.body(self.model)
        key = hashlib.blake2b(
            json.dumps([request.path, body], sort_keys=True).encode(), digest_size=16
        ).hexdigest()
        if self._cache is not None and (kept := self._cache.get(key, request.choices)) is not None:
            return kept
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Transient),
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=self._wait,
            reraise=True,
        )
        try:
            response = retrying(self._ask, request.path, body)
        except _Transient as error:
            raise InputError(
                f"{self.base_url}{request.path}: {self._retries + 1} tries, the last: {error}"
            ) from None
        if self._cache is not None:
            self._cache.put(key, response)
        return response

    def _ask(self, path: str, body: Mapping[str, Any]) -> Response:
        try:
            reply = self._http.post(self.base_url + path, json=body)
        except httpx.TransportError as error:
            raise _Transient(f"{type(error).__name__}: {error}") from error
        if reply.status_code in (408, 429) or reply.status_code >= 500:
            seconds = reply.headers.get("retry-after", "")
            after = float(seconds) if seconds.isdecimal() else None
            raise _Transient(f"status {reply.status_code}: {reply.text[:200]}", after)
        if reply.status_code != httpx.codes.OK:
            raise InputError(
                f"{self.base_url}{path}: status {reply.status_code}: {reply.text[:500]}"
            )
        try:
            first, *others = map(_response, reply.json()["choices"])
            return Response(first.text, first.finish, tuple(others))
        except (ValueError, LookupError, TypeError):
            raise _Transient(f"not an OpenAI-style answer: {reply.text[:200]}") from None


def _response(choice: Mapping[str, Any]) -> Response:
    # A chat that refuses may have no content at all.
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    return Response("" if text is None else str(text), str(choice["finish_reason"]))


class _Transient(Exception):
    """A failure that may pass."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def _checked_url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        raise InputError(f"base_url = {base_url!r}: not a URL") from None
    if url.userinfo:
        raise InputError(
            "base_url carries a user or password: a key goes into a variable (key_env)"
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise InputError(f"base_url = {base_url!r}: a URL such as https://host/v1 is needed")
    return url
