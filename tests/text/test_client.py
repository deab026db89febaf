import json

import pytest

from pe_core.errors import InputError
from pe_core.text.answers import Response
from pe_core.text.client import Client, Request
from tests.text.endpoint import answer, endpoint


def echo(request):
    chat = request["path"].endswith("/chat/completions")
    prompt = request["messages"][0]["content"] if chat else request["prompt"]
    return answer(f"{prompt} {request['seed']}", chat=chat)


def requests(count, chat=False):
    return [Request(f"line {i}", chat, i, {"max_tokens": 8}) for i in range(count)]


def test_answers_come_in_the_order_of_the_requests():
    with endpoint(echo, []) as server, Client(server.url, "m", concurrency=4) as client:
        got = list(client.complete(requests(40)))
    assert [request for request, _ in got] == requests(40)
    assert [response.text for _, response in got] == [f"line {i} {i}" for i in range(40)]
    body = {"path": "/v1/completions", "model": "m", "seed": 3, "max_tokens": 8, "prompt": "line 3"}
    assert body in server.seen


def test_chat_requests_go_to_the_chat_endpoint_as_one_user_message():
    with endpoint(echo, []) as server, Client(server.url, "m") as client:
        [(_, response)] = client.complete(requests(1, chat=True))
    assert response == Response("line 0 0", "stop")
    assert server.seen[0]["path"] == "/v1/chat/completions"
    assert server.seen[0]["messages"] == [{"role": "user", "content": "line 0"}]


@pytest.mark.parametrize(
    "fault",
    [
        429,
        500,
        503,
        "cut",
        "hang",
        b'{"choices": [{"te',
        b"",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"error": "overloaded"}',
    ],
    ids=str,
)
def test_a_passing_fault_is_tried_again(fault):
    with endpoint(echo, [fault]) as server:
        with Client(server.url, "m", timeout=0.5, pause=0.01) as client:
            [(_, response)] = client.complete(requests(1))
        assert len(server.seen) == 2
    assert response.text == "line 0 0"


def test_the_tries_end_with_the_last_reason():
    with endpoint(echo, [500] * 9) as server:
        with (
            Client(server.url, "m", retries=2, pause=0.01) as client,
            pytest.raises(InputError, match="3 tries, the last: status 500"),
        ):
            list(client.complete(requests(1)))
        assert len(server.seen) == 3


def test_a_server_that_is_not_there_is_an_error():
    with (
        Client("http://127.0.0.1:1/v1", "m", retries=1, pause=0.01) as client,
        pytest.raises(InputError, match=r"127\.0\.0\.1:1/v1/completions: 2 tries.*ConnectError"),
    ):
        list(client.complete(requests(1)))


@pytest.mark.parametrize("status", [400, 401, 404])
def test_an_answer_about_the_request_itself_is_not_tried_again(status):
    with endpoint(echo, [status]) as server:
        with (
            Client(server.url, "m", pause=0.01) as client,
            pytest.raises(InputError, match=f"status {status}: .*scripted"),
        ):
            list(client.complete(requests(1)))
        assert len(server.seen) == 1


def test_empty_answers_and_refusals_are_answers():
    replies = [
        answer(None, "content_filter", chat=True),
        answer("", "stop", chat=True),
    ]
    with endpoint(echo, replies) as server, Client(server.url, "m", concurrency=1) as client:
        got = [response for _, response in client.complete(requests(2, chat=True))]
    assert got == [Response("", "content_filter"), Response("", "stop")]


def test_kept_answers_are_not_asked_again(tmp_path):
    with endpoint(echo, []) as server:
        for count in (3, 5):
            with Client(server.url, "m", cache_folder=tmp_path) as client:
                got = list(client.complete(requests(count)))
                assert [r.text for _, r in got] == [f"line {i} {i}" for i in range(count)]
        assert len(server.seen) == 5
        with Client(server.url, "another model", cache_folder=tmp_path) as client:
            list(client.complete(requests(1)))
        assert len(server.seen) == 6


def test_several_choices_to_one_prompt_are_one_request_and_are_kept(tmp_path):
    def several(request):
        choices = [
            {"text": f"choice {number}", "finish_reason": "stop"}
            for number in range(request.get("n", 1))
        ]
        return json.dumps({"choices": choices}).encode()

    wanted = [Request("line", False, 1, {}, choices=3), Request("line", False, 1, {})]
    expected = [f"choice {number}" for number in range(3)]
    with endpoint(several, []) as server:
        for _ in range(2):
            with Client(server.url, "m", concurrency=1, cache_folder=tmp_path) as client:
                (_, many), (_, one) = client.complete(wanted)
            assert [each.text for each in (many, *many.others)] == expected
            assert one == Response("choice 0", "stop")
        assert [request.get("n") for request in server.seen] == [3, None]


def test_answers_before_a_failure_are_kept(tmp_path):
    with endpoint(echo, []) as server:
        server.faults += [answer("first"), 400]
        with (
            Client(server.url, "m", concurrency=1, cache_folder=tmp_path) as client,
            pytest.raises(InputError),
        ):
            list(client.complete(requests(2)))
        with Client(server.url, "m", cache_folder=tmp_path) as client:
            assert next(client.complete(requests(1)))[1].text == "first"
        assert len(server.seen) == 2


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_line_is_named_and_asked_again(tmp_path, damage):
    with endpoint(echo, []) as server:
        with Client(server.url, "m", concurrency=1, cache_folder=tmp_path) as client:
            list(client.complete(requests(2)))
        [path] = tmp_path.glob("*.jsonl")
        text = path.read_text()
        path.write_text(text[:-20] if damage == "cut" else text.replace("line 1", "lime 1"))
        with (
            pytest.warns(UserWarning, match=rf"{path.name}:2: damaged"),
            Client(server.url, "m", cache_folder=tmp_path) as client,
        ):
            got = list(client.complete(requests(2)))
        assert [response.text for _, response in got] == ["line 0 0", "line 1 1"]
        assert len(server.seen) == 3


def test_the_key_comes_from_the_environment_and_goes_into_the_header_alone(
    tmp_path, monkeypatch, caplog
):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("TEST_KEY", "sesame")
    with endpoint(echo, [429, 400]) as server:
        with (
            Client(
                server.url, "m", key_env="TEST_KEY", cache_folder=tmp_path, pause=0.01
            ) as client,
            pytest.raises(InputError) as error,
        ):
            list(client.complete(requests(1)))
        with Client(server.url, "m", key_env="TEST_KEY", cache_folder=tmp_path) as client:
            list(client.complete(requests(1)))
        assert {headers["Authorization"] for headers in server.headers} == {"Bearer sesame"}
        assert "sesame" not in json.dumps(server.seen)
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "sesame" not in written + str(error.value) + caplog.text + repr(vars(client))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "ftp://host/v1"}, "base_url"),
        ({"base_url": "http://user:sesame@host/v1"}, "key goes into a variable"),
        ({"key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"concurrency": 0}, "concurrency = 0"),
        ({"timeout": 0}, "timeout = 0"),
        ({"retries": -1}, "retries = -1"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(InputError, match=message) as error:
        Client(**{"base_url": "http://127.0.0.1:1/v1", "model": "m", **arguments})
    assert "sesame" not in str(error.value)
