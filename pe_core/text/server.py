"""A local llama.cpp server with an OpenAI-compatible HTTP interface on a loopback port."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from pe_core.errors import InputError
from pe_core.text import packaged

_MAGIC = b"GGUF"
_START_SECONDS = 300.0


class LlamaServer:
    """Serve a GGUF model from a child process while a `with` block lasts.

    The child ends with the block, and by itself when this process dies in whatever way. It listens
    on 127.0.0.1 at a free port. All slots share one key-value cache of slots · context_per_slot
    tokens, which on two cores wrote 1.5 times as fast as a cache a slot.

    Args:
        model: path of a GGUF file, or "smollm2" for the packaged SmolLM2-135M-Instruct.
        slots: completions written at the same time, ≥ 1.
        context_per_slot: tokens of context per slot, prompt and answer, ≥ 1.
        threads: threads that compute; by default the cores this process may use.

    Attributes:
        base_url: e.g. `http://127.0.0.1:43513/v1`, while the block lasts.
        model: the file's name and a digest of its content, to be sent as the requests' model.

    Raises:
        InputError: a number out of range; on entering, a file that is missing or does not load.

    Example:
        >>> LlamaServer("smollm2").model.split("@")[0]
        'SmolLM2-135M-Instruct.Q4_1'
    """

    def __init__(
        self,
        model: str | Path = "smollm2",
        slots: int = 32,
        context_per_slot: int = 512,
        threads: int | None = None,
    ) -> None:
        cores = len(os.sched_getaffinity(0)) if threads is None else threads
        for name, value in (
            ("slots", slots),
            ("context_per_slot", context_per_slot),
            ("threads", cores),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} = {value!r}: a whole number of at least 1 is needed")
        self._path = packaged.smollm2() if model == "smollm2" else Path(model)
        self._numbers = {"slots": slots, "context": slots * context_per_slot, "threads": cores}
        self.model = f"{self._path.stem}@{_digest(self._path)}"
        self.base_url = ""

    def __enter__(self) -> "LlamaServer":
        settings = {"path": str(self._path), "parent": os.getpid(), **self._numbers}
        root = str(Path(__file__).parents[2])
        paths = [root, os.environ.get("PYTHONPATH", "")]
        self._log = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "pe_core.text.server", json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        watchdog = threading.Timer(_START_SECONDS, self._child.kill)
        watchdog.start()
        assert self._child.stdout is not None
        address = self._child.stdout.readline().decode().strip()
        watchdog.cancel()
        if not address:
            raise InputError(f"{self._path}: llama.cpp cannot serve this file: {self._stop()}")
        self.base_url = f"{address}/v1"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> str:
        """End the child and return the errors it logged."""
        self._child.kill()
        self._child.communicate()
        self.base_url = ""
        with self._log as log:
            log.seek(0)
            lines = log.read().decode(errors="replace").splitlines()
        return " | ".join(line for line in lines if "rror" in line)[-500:] or "no reason logged"


def _digest(path: Path) -> str:
    """Digest of the weights; refuses what is plainly no GGUF before a process is started."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise InputError(f"{path}: not a GGUF model, for it does not begin with {_MAGIC!r}")
            file.seek(0)
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; a GGUF model is needed") from None


def _serve(settings: dict[str, Any]) -> None:
    """The child: load, print the address, and live as long as the parent."""

    def end_with_parent() -> None:
        while os.getppid() == settings["parent"]:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    # llama.cpp may print to standard output, which is the parent's line to the address.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"]
    params.kv_unified = True
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = settings["threads"]
        # Threads that spin between graph nodes take the cores from each other when cores are few.
        pool.poll = 0
    params.warmup = False
    params.ui = False
    # Keeping old prompts for reuse costs memory, and prompts here are written to once.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    server = xllamacpp.Server(params)
    print(server.listening_address, file=answer, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
