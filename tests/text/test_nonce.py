import re

import pytest

from pe_core.errors import InputError
from pe_core.text import nonce


def test_nonces_are_64_hexadecimal_characters_and_distinct():
    texts = nonce.strings(2000, 7, "shakespeare", "pool", 0)
    assert all(re.fullmatch(r"[0-9a-f]{64}", text) for text in texts)
    assert len(set(texts)) == 2000


def test_characters_are_uniform():
    text = "".join(nonce.strings(1000, 3, "pool"))
    counts = [text.count(digit) for digit in "0123456789abcdef"]
    # χ² with 15 degrees of freedom: above 37.7 once in a thousand.
    assert sum((n - 4000) ** 2 / 4000 for n in counts) < 37.7


def test_the_stream_is_keyed_and_prefix_stable():
    first = nonce.strings(5, 1, "pool", 0)
    assert first == nonce.strings(5, 1, "pool", 0) == nonce.strings(9, 1, "pool", 0)[:5]
    others = nonce.strings(5, 2, "pool", 0) + nonce.strings(5, 1, "pool", 1)
    assert not set(first) & set(others)
    assert nonce.strings(0, 1) == []


@pytest.mark.parametrize(("count", "seed"), [(-1, 0), (1.5, 0), (True, 0), (1, -1), ("2", 1)])
def test_bad_arguments_are_refused(count, seed):
    with pytest.raises(InputError, match="whole number"):
        nonce.strings(count, seed)
