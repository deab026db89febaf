import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

from pe_core.errors import InputError
from pe_core.text.client import Client, Request
from pe_core.text.server import LlamaServer
from tests.text.endpoint import answer, endpoint, forwarded

SAMPLING = {"max_tokens": 6, "temperature": 1.0, "top_k": 40}


@pytest.fixture(scope="module")
def server():
    with LlamaServer("smollm2", slots=4, context_per_slot=128, threads=1) as running:
        yield running


def test_the_server_is_on_loopback_and_answers_both_endpoints(server):
    assert server.base_url.startswith("http://127.0.0.1:")
    with Client(server.base_url, server.model, concurrency=4) as client:
        got = list(
            client.complete(
                [
                    Request("Once upon a time", False, 1, SAMPLING),
                    Request("Say one word.", True, 2, SAMPLING),
                    Request("The king said:", False, 3, {**SAMPLING, "max_tokens": 1}),
                ]
            )
        )
    assert all(response.text.strip() for _, response in got)
    assert got[2][1].finish == "length"


def test_every_fault_in_front_of_a_real_model_is_survived(server):
    faults = [429, 500, "cut", b'{"choices": [{"te', answer("", "stop"), "hang"]
    with endpoint(forwarded(server.base_url), faults) as front:
        with Client(front.url, server.model, concurrency=2, timeout=6, pause=0.01) as client:
            wanted = [Request(f"The {i}th man said:", False, i, SAMPLING) for i in range(3)]
            got = list(client.complete(wanted))
        assert not front.faults
    assert sum(not response.text for _, response in got) == 1
    assert [request for request, _ in got] == wanted


def test_the_model_name_says_which_weights(server, tmp_path):
    copy = tmp_path / "copy.gguf"
    copy.symlink_to(server._path)
    assert LlamaServer(copy).model.split("@")[1] == server.model.split("@")[1]


def test_the_child_ends_with_the_block():
    with LlamaServer("smollm2", slots=1, context_per_slot=64, threads=1) as running:
        url = running.base_url
        assert httpx.get(url.removesuffix("/v1") + "/health").status_code == 200
    assert running.base_url == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_the_child_ends_when_the_parent_is_killed():
    code = (
        "import time\n"
        "from pe_core.text.server import LlamaServer\n"
        "with LlamaServer('smollm2', slots=1, context_per_slot=64, threads=1) as server:\n"
        "    print(server._child.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.1)
    assert not _runs(child)


def _runs(pid):
    """Whether a process runs; a dead one that nobody has waited for yet does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_files_that_are_no_model_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.gguf: No such file"):
        LlamaServer(tmp_path / "absent.gguf")
    text = tmp_path / "text.gguf"
    text.write_text("once upon a time")
    with pytest.raises(InputError, match=r"text\.gguf: not a GGUF model"):
        LlamaServer(text)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(
        InputError, match=r"broken\.gguf: llama\.cpp cannot serve this file: .*rror"
    ):
        LlamaServer(broken, slots=1).__enter__()


@pytest.mark.parametrize("argument", ["slots", "context_per_slot", "threads"])
def test_numbers_out_of_range_are_refused(argument):
    with pytest.raises(InputError, match=f"{argument} = 0"):
        LlamaServer("smollm2", **{argument: 0})
