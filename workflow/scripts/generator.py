"""Open the generator that the config names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pe_core.text.client import Client
from pe_core.text.server import LlamaServer

# Seconds for one request to a local model; on a busy machine it waits in a queue for most of them.
PATIENCE = 1800.0


@contextmanager
def opened(settings: Mapping[str, Any], cache: str, threads: int) -> Iterator[Client]:
    """Yield a client of the configured endpoint; a local model is served while the block lasts.

    Args:
        settings: `generator` of the config, source gguf or openai.
        cache: folder where every answer is kept.
        threads: that a local model may use.
    """
    common = {"concurrency": settings["concurrency"], "cache_folder": Path(cache)}
    if settings["source"] == "gguf":
        slots, context = settings["concurrency"], settings["context"]
        with (
            LlamaServer(settings["model"], slots, context, threads) as server,
            Client(server.base_url, server.model, timeout=PATIENCE, **common) as client,
        ):
            yield client
    else:
        with Client(
            settings["base_url"],
            settings["model"],
            settings.get("key_env"),
            timeout=settings["timeout"],
            retries=settings["retries"],
            **common,
        ) as client:
            yield client
