"""What endpoints answer, and the answers that are kept on disk."""

import hashlib
import json
import uuid
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any


@dataclass(frozen=True)
class Response:
    """What the endpoint wrote.

    Attributes:
        text: the text, possibly empty.
        finish: the endpoint's reason for stopping: "stop", "length" (cut at max_tokens),
            "content_filter" (a refusal), or another word of its own.
        others: what it wrote besides to a request for several choices; an endpoint may write fewer.

    Example:
        >>> Response("A line.", "stop").others
        ()
    """

    text: str
    finish: str
    others: tuple["Response", ...] = ()


class Answers:
    """Answers by request digest, in JSON lines that only ever grow, one file per process.

    Each line carries a checksum, so that a line cut by a kill is seen and asked again. Further
    choices have lines of their own, whose keys end in their numbers.

    Args:
        folder: made when it is not there. Several processes may share it; what the others add is
            seen by who opens it later.

    Warns:
        UserWarning: a damaged line, by its file and number.

    Example:
        >>> import tempfile
        >>> answers = Answers(Path(tempfile.mkdtemp()))
        >>> answers.put("digest", Response("A line.", "stop"))
        >>> answers.get("digest", 1).text
        'A line.'
        >>> answers.close()
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, Response] = {}
        self._lock = Lock()
        for path in sorted(folder.glob("*.jsonl")):
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                try:
                    key, text, finish, checksum = json.loads(line)
                    sound = checksum == _checksum(key, text, finish)
                except (ValueError, TypeError):
                    sound = False
                if sound:
                    self._known[key] = Response(text, finish)
                else:
                    warnings.warn(f"{path}:{number}: damaged, will be asked again", stacklevel=4)
        self._path = folder / f"{uuid.uuid4().hex}.jsonl"
        self._file: Any = None

    def get(self, key: str, choices: int) -> Response | None:
        """Return the answer to a request of so many choices, None where there is none."""
        first = self._known.get(key)
        others = (self._known.get(f"{key}/{number}") for number in range(1, choices))
        found = tuple(other for other in others if other is not None)
        return replace(first, others=found) if first is not None and found else first

    def put(self, key: str, response: Response) -> None:
        """Keep an answer."""
        lines = []
        with self._lock:
            for number, each in enumerate((response, *response.others)):
                fields = (f"{key}/{number}" if number else key, each.text, each.finish)
                lines.append(json.dumps([*fields, _checksum(*fields)]) + "\n")
                self._known[fields[0]] = Response(each.text, each.finish)
            if self._file is None:
                self._file = self._path.open("ab", buffering=0)
            # Unbuffered: one write an answer, so that a reader meanwhile sees whole lines.
            self._file.write("".join(lines).encode())

    def close(self) -> None:
        """Close the file that answers are added to."""
        if self._file is not None:
            self._file.close()


def _checksum(key: str, text: str, finish: str) -> str:
    return hashlib.blake2b(json.dumps([key, text, finish]).encode(), digest_size=8).hexdigest()
