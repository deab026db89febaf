import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pe_core import InputError, evolution, seeds
from pe_core.evolution import Feedback, Release, Rules, renew, requests, select
from tests.evolution import toy

FOLDER = Path(evolution.__file__).parent


def asked_for(p, reserved, rules, counts=None, stream=1):
    bank = toy.bank(p, reserved)
    release = Release(seeds.generator(4, "y", p).standard_normal(p) if counts is None else counts)
    survivors = select(bank, release, rules, np.random.default_rng(0))
    asked = requests(bank, release, survivors, rules, seeds.generator(stream, "feedback"))
    return bank, release, survivors, asked


def test_examples_are_survivors_and_the_lowest_and_never_probes():
    rules = Rules(keep=0.1, high=2, low=3)
    bank, release, survivors, asked = asked_for(60, (5, 17, 40), rules)
    free = np.array([j for j in range(60) if j not in bank.reserved])
    ranked = free[np.argsort(-release.histogram[free])]
    best = {bank.texts[j] for j in ranked[:6]}
    worst = {bank.texts[j] for j in ranked[-6:]}
    assert [each.position for each in asked] == sorted(set(free) - set(survivors))
    for each in asked:
        assert len(set(each.high)) == 2
        assert set(each.high) <= best
        assert len(set(each.low)) == 3
        assert set(each.low) <= worst
        assert each.label == bank.labels[each.position]
        assert 0 <= each.seed < 2**31


def test_examples_are_drawn_evenly():
    rules = Rules(keep=0.01, high=3, low=3)
    _, _, survivors, asked = asked_for(2000, (), rules)
    for kind in ("high", "low"):
        shown = Counter(text for each in asked for text in getattr(each, kind))
        assert len(shown) == len(survivors) == 20
        expected = 3 * len(asked) / 20
        # Five standard deviations of a binomial with chance 3/20.
        assert max(abs(n - expected) for n in shown.values()) < 5 * np.sqrt(expected * 17 / 20)


def test_positions_of_a_label_share_examples_by_the_dozen_and_only_these():
    rules = Rules(keep=0.05, high=3, low=3, together=12)
    _, _, _, asked = asked_for(300, (4, 5, 6), rules)
    shown = {}
    for each in asked:
        # Every third position has the same label.
        shown.setdefault((each.label, each.position // 3 // 12), set()).add((each.high, each.low))
    assert len(shown) == 3 * 9
    assert all(len(each) == 1 for each in shown.values())
    assert len({next(iter(each)) for each in shown.values()}) > 20
    # Seeds stay each position's own, and are those of examples drawn one by one.
    alone = asked_for(300, (4, 5, 6), replace(rules, together=1))[3]
    assert [each.seed for each in asked] == [each.seed for each in alone]
    first = {each.position: each for each in alone}
    assert all(each == first[each.position] for each in asked if each.position % 36 < 3)
    assert len({each.high for each in alone}) > 100


def test_fewer_survivors_than_examples_are_all_shown():
    _, _, survivors, asked = asked_for(20, (), Rules(keep=0.1, high=5, low=4))
    assert len(survivors) == 2
    assert all(len(each.high) == len(each.low) == 2 for each in asked)


def test_paraphrases_take_survivors_in_turn_with_their_labels():
    bank, _, survivors, asked = asked_for(11, (3,), Rules(keep=0.3, feedback="paraphrases"))
    sources = [survivors[i % len(survivors)] for i in range(len(asked))]
    assert [each.high for each in asked] == [(bank.texts[j],) for j in sources]
    assert [each.label for each in asked] == [bank.labels[j] for j in sources]
    assert all(each.low == () for each in asked)


def test_draws_of_a_position_do_not_depend_on_the_probes():
    rules = Rules(keep=0.2, high=1, low=1)
    counts = np.arange(20.0)
    _, _, _, with_probes = asked_for(20, (0, 19), rules, counts)
    _, _, _, without = asked_for(20, (), rules, counts)
    seed = {each.position: each.seed for each in without}
    common = [each for each in with_probes if each.position in seed]
    assert len(common) > 10
    assert all(each.seed == seed[each.position] for each in common)


def test_new_texts_take_their_positions_and_everything_else_stays():
    bank, _, _, asked = asked_for(12, (2, 7), Rules(keep=0.25))
    following, refused = renew(bank, asked, toy.generate, Rules())
    assert following.reserved == bank.reserved
    assert sum(refused.values()) == 0
    new = dict(zip((each.position for each in asked), toy.generate(asked)))
    assert following.texts == tuple(new.get(j, bank.texts[j]) for j in range(12))


def test_what_a_generator_may_do_wrong_is_counted_and_asked_again():
    bank, _, survivors, asked = asked_for(12, (2,), Rules(keep=0.25))
    kept = bank.texts[survivors[0]]
    calls = []

    def careless(requests):
        calls.append(list(requests))
        answers = toy.generate(requests)
        if len(calls) == 1:
            answers[0] = "  "
            answers[1] = kept
            answers[2] = answers[3]
            answers[4] = bank.texts[2]
            answers[5] = None
            return answers[:7]
        return answers

    following, refused = renew(bank, asked, careless, Rules())
    assert refused == {"empty": 1, "duplicate": 3, "missing": 2}
    assert len(set(following.texts)) == 12
    again = {each.position for each in calls[1]}
    # The first of two equal answers is used, the second is asked again.
    assert again == {asked[i].position for i in (0, 1, 3, 4, 5, 7)}
    first = {each.position: each.seed for each in calls[0]}
    assert all(each.seed != first[each.position] for each in calls[1])
    assert [e.position for e in calls[1]] == sorted(again)


def test_a_survivor_that_cannot_be_rewritten_leaves_its_turns_to_the_others():
    rules = Rules(keep=0.25, feedback="paraphrases")
    bank, _, survivors, asked = asked_for(13, (3,), rules)
    stubborn = bank.texts[survivors[1]]
    calls = []

    def generate(requests):
        calls.append(list(requests))
        answers = zip(requests, toy.generate(requests))
        return [None if each.high == (stubborn,) else answer for each, answer in answers]

    following, refused = renew(bank, asked, generate, rules)
    again = [each for each in asked if each.high == (stubborn,)]
    assert len(again) == refused["missing"] == 2
    assert [each.position for each in calls[1]] == [each.position for each in again]
    third = survivors[2]
    for each in calls[1]:
        assert (each.high, each.label) == ((bank.texts[third],), bank.labels[third])
        assert following.labels[each.position] == bank.labels[third]
    assert len(set(following.texts)) == 13


def test_an_old_text_may_come_back_where_it_was_given_up():
    bank, _, _, asked = asked_for(6, (), Rules(keep=0.3))
    old = [bank.texts[each.position] for each in asked]
    following, _ = renew(bank, asked, lambda requests: old, Rules())
    assert following.texts == bank.texts


def test_a_generator_that_cannot_fill_the_bank_stops_with_the_counts():
    bank, _, _, asked = asked_for(10, (), Rules(keep=0.2))
    with pytest.raises(InputError, match=r"7 of 8 new texts are missing after 3 attempts .*21 dup"):
        renew(bank, asked, lambda requests: ["same"] * len(requests), Rules(attempts=3))
    with pytest.raises(InputError, match=r"8 of 8 .*\(answers refused: 16 missing\)"):
        renew(bank, asked, lambda requests: [], Rules(attempts=2))
    with pytest.raises(InputError, match="9 answers to 8 requests"):
        renew(bank, asked, lambda requests: ["x"] * 9, Rules())


def test_nothing_to_ask_for():
    bank = toy.bank(4, reserved=(0, 1))
    rules = Rules(keep=0.5)
    survivors = select(bank, Release(np.zeros(4)), rules, np.random.default_rng(0))
    assert requests(bank, Release(np.zeros(4)), survivors, rules, np.random.default_rng(0)) == []

    def never(_):
        raise AssertionError

    assert renew(bank, [], never, rules)[0] == bank


def test_the_public_half_imports_nothing_that_has_users():
    """Feedback can only hold what its makers can reach."""
    for name in ("data", "selection", "feedback"):
        ours = {
            node.module
            for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text()))
            if isinstance(node, ast.ImportFrom) and node.module.startswith("pe_core")
        }
        assert ours <= {
            "pe_core.errors",
            "pe_core.evolution.data",
            "pe_core.evolution.selection",
        }
    assert set(Feedback.__annotations__) == {"position", "label", "high", "low", "seed"}


@pytest.mark.parametrize(
    "line",
    [
        "requests(bank, votes, survivors, rules, rng)",
        "requests(bank, voters.records, survivors, rules, rng)",
        "select(bank, voters, rules, rng)",
        "renew(bank, [voters], generate, rules)",
        "renew(bank, votes, generate, rules)",
        "generate([votes])",
        "generate([voters.records])",
        "run(bank, voters, mechanism, rules, nosy, encode, streams)",
    ],
)
def test_the_type_checker_refuses_to_hand_on_anything_private(line, checked_lines):
    assert checked_lines[line] == ["arg-type"] or checked_lines[line] == ["list-item"]


def test_the_type_checker_accepts_what_is_public(checked_lines):
    assert checked_lines["requests(bank, release, survivors, rules, rng)"] == []
    assert checked_lines["run(bank, voters, mechanism, rules, generate, encode, streams)"] == []


HEADER = """
from collections.abc import Sequence
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from pe_core import Mechanism
from pe_core.evolution import *
def nosy(requests: Sequence[Voters]) -> list[str]: return []
def check(bank: Bank, release: Release, voters: Voters, votes: csr_array, rules: Rules,
          survivors: NDArray[np.int64], generate: Generate, encode: Encode, streams: Streams,
          mechanism: Mechanism, rng: np.random.Generator) -> None:
"""


@pytest.fixture(scope="module")
def checked_lines(tmp_path_factory):
    """The type checker's complaints about each call, by code."""
    api = pytest.importorskip("mypy.api")
    mark = test_the_type_checker_refuses_to_hand_on_anything_private.pytestmark[0]
    lines = [
        *mark.args[1],
        "requests(bank, release, survivors, rules, rng)",
        "run(bank, voters, mechanism, rules, generate, encode, streams)",
    ]
    path = tmp_path_factory.mktemp("types") / "calls.py"
    path.write_text(HEADER + "".join(f"    {line}\n" for line in lines))
    root = FOLDER.parents[1]
    found, errors, _ = api.run(
        [str(path), "--config-file", str(root / "pyproject.toml"), "--no-error-summary"]
    )
    assert errors == ""
    complaints = {line: [] for line in lines}
    first = HEADER.count("\n") + 1
    for each in found.splitlines():
        if ": error:" in each:
            number = int(each.split(":")[1])
            complaints[lines[number - first]].append(each.rsplit("[", 1)[1].rstrip("]"))
    return complaints
