from dataclasses import replace

import numpy as np
import pytest

from pe_core import InputError, Mechanism, contribution, routing
from pe_core.evolution import Rules, Voters, publish, renew, requests, run, select
from tests.evolution import toy
from tests.naive import evolution as naive

MECHANISM = Mechanism(
    population=6, participation=0.5, noise_multiplier=0.5, clip=0.1, delta=1e-5, votes=3, releases=4
)


@pytest.mark.parametrize("reserved", [(), (0, 7), (23,)])
@pytest.mark.parametrize("users", [1, 6])
def test_the_run_is_the_algorithm_as_it_reads(reserved, users):
    bank, voters = toy.bank(24, reserved), toy.voters(users)
    mechanism = replace(MECHANISM, population=users)
    rules = Rules(keep=0.2, feedback="paraphrases")
    rounds = list(run(bank, voters, mechanism, rules, toy.generate, toy.encode, toy.streams()))
    plain = naive.paraphrasing_run(
        *(bank.texts, bank.labels, bank.reserved, voters, mechanism, 0.2),
        *(toy.write, toy.encode, toy.streams()),
    )
    assert len(rounds) == 4
    for each, (histogram, survivors, texts, labels) in zip(rounds, plain):
        assert each.release.histogram == pytest.approx(histogram, rel=1e-12, abs=1e-15)
        assert each.survivors.tolist() == survivors
        assert each.bank.texts == texts
        assert each.bank.labels == labels


def test_banks_follow_one_another_and_keep_their_size_probes_and_survivors():
    bank, reserved = toy.bank(40, (3, 11)), (3, 11)
    rules = Rules(keep=0.1, high=2, low=1)
    rounds = list(
        run(bank, toy.voters(6), MECHANISM, rules, toy.generate, toy.encode, toy.streams())
    )
    before = bank
    for each in rounds:
        assert each.published == before
        assert len(each.survivors) == 4
        assert not set(each.survivors) & set(reserved)
        for j in (*each.survivors, *reserved):
            assert each.bank.texts[j] == before.texts[j]
        assert sum(a != b for a, b in zip(each.bank.texts, before.texts)) == 40 - 4 - 2
        before = each.bank


def test_only_new_texts_are_encoded_and_only_once():
    encoded = []

    def encode(texts):
        encoded.extend(texts)
        return toy.encode(texts)

    mechanism = replace(MECHANISM, releases=5)
    rules = Rules(keep=0.25, high=1, low=0)
    rounds = list(
        run(toy.bank(16), toy.voters(6), mechanism, rules, toy.generate, encode, toy.streams())
    )
    assert len(encoded) == len(set(encoded)) == 16 + 4 * 12
    # The last bank is not voted on, so nobody needs its vectors.
    assert set(encoded) == {text for each in rounds for text in each.published.texts}


def test_one_round_is_a_single_release():
    bank, voters = toy.bank(20, (4,)), toy.voters(6)
    mechanism = replace(MECHANISM, releases=1)
    (only,) = run(bank, voters, mechanism, Rules(), toy.generate, toy.encode, toy.streams())
    routes = routing.top_k(voters.records, toy.encode(bank.texts), 3)
    votes = contribution.contributions(routes.index, voters.user, 6, 20, mechanism.clip)
    streams = toy.streams()
    expected = publish(votes, mechanism, streams("participation", 1), streams("noise", 1))
    assert np.array_equal(only.release.histogram, expected.histogram)


def test_no_release_does_nothing():
    mechanism = replace(MECHANISM, releases=0)
    assert (
        list(
            run(
                toy.bank(5),
                toy.voters(6),
                mechanism,
                Rules(),
                toy.generate,
                toy.encode,
                toy.streams(),
            )
        )
        == []
    )


@pytest.mark.parametrize("feedback", ["examples", "paraphrases"])
@pytest.mark.parametrize("selection", ["top", "sample"])
def test_the_releases_and_the_public_bank_are_all_that_the_generator_depends_on(
    feedback, selection
):
    """The public half, replayed from the releases without any user, asks for the same texts."""
    rules = Rules(keep=0.1, selection=selection, threshold=0.01, feedback=feedback)
    asked = []

    def generate(batch):
        asked.append(list(batch))
        return toy.generate(batch)

    bank = toy.bank(30, (2, 9))
    rounds = list(run(bank, toy.voters(6), MECHANISM, rules, generate, toy.encode, toy.streams()))
    streams = toy.streams()
    for t, (each, heard) in enumerate(zip(rounds, asked), 1):
        survivors = select(bank, each.release, rules, streams("selection", t))
        again = requests(bank, each.release, survivors, rules, streams("feedback", t))
        assert again == heard
        bank, _ = renew(bank, again, toy.generate, rules)
        assert bank == each.bank


def test_other_users_behind_the_same_releases_change_nothing():
    """Nobody takes part, so the releases are noise: two populations end in the same banks."""
    mechanism = replace(MECHANISM, participation=0.0)
    banks = [
        [
            each.bank
            for each in run(
                toy.bank(30, (1,)),
                toy.voters(6, seed=seed),
                mechanism,
                Rules(keep=0.1),
                toy.generate,
                toy.encode,
                toy.streams(),
            )
        ]
        for seed in (1, 2)
    ]
    assert banks[0] == banks[1]


class Watched:
    """Streams that can be looked at afterwards."""

    def __init__(self):
        self.opened = {}
        self.fresh = toy.streams(9)

    def __call__(self, purpose, t):
        assert (purpose, t) not in self.opened
        self.opened[purpose, t] = self.fresh(purpose, t)
        return self.opened[purpose, t]

    def states(self):
        return {name: rng.bit_generator.state["state"] for name, rng in self.opened.items()}


@pytest.mark.parametrize("selection", ["top", "sample"])
def test_audited_unaudited_and_noiseless_runs_share_every_draw(selection):
    rules = Rules(keep=0.1, selection=selection, high=2, low=2)
    states, rounds = [], []
    for reserved, sigma in (((0, 13), 0.5), ((), 0.5), ((), 0.0)):
        streams = Watched()
        mechanism = replace(MECHANISM, noise_multiplier=sigma)
        ran = run(
            toy.bank(40, reserved),
            toy.voters(6),
            mechanism,
            rules,
            toy.generate,
            toy.encode,
            streams,
        )
        rounds.append(list(ran))
        states.append(streams.states())
    # The same streams are opened, and as many draws taken from each.
    assert states[0] == states[1] == states[2]
    assert len(states[0]) == 4 * MECHANISM.releases
    # The first bank is the same but for the probes, and so are sample and noise on the rest of it.
    noise = 0.5 * 0.1 * toy.streams(9)("noise", 1).standard_normal(40)
    clean = rounds[2][0].release.histogram
    assert rounds[1][0].release.histogram == pytest.approx(clean + noise, rel=1e-12)
    seeds_of = [{e.position: e.seed for e in requests_of(each[0], rules)} for each in rounds]
    for position in set(seeds_of[0]) & set(seeds_of[1]) & set(seeds_of[2]):
        assert len({each[position] for each in seeds_of}) == 1


def requests_of(each, rules):
    stream = toy.streams(9)("feedback", 1)
    return requests(each.published, each.release, each.survivors, rules, stream)


def test_probes_that_nobody_votes_for_change_nothing_but_their_positions():
    """Entries that nobody is near to, reserved or not, leave the other counts as they are."""
    voters = toy.voters(6)
    far = -voters.records.mean(axis=0)
    far = (far / np.linalg.norm(far)).astype(np.float32)

    def encode(texts):
        rows = toy.encode(texts)
        rows[[j for j, text in enumerate(texts) if text in far_texts]] = far
        return rows

    reserved = (4, 10)
    far_texts = {"probe 4", "probe 10", "text 4", "text 10"}
    rules = Rules(keep=0.1)
    histograms = []
    for positions in (reserved, ()):
        ran = run(
            toy.bank(40, positions),
            Voters(voters.records, voters.user, 6),
            replace(MECHANISM, releases=1),
            rules,
            toy.generate,
            encode,
            toy.streams(),
        )
        histograms.append(next(ran).release.histogram)
    assert np.array_equal(*histograms)


def test_a_bank_without_room_fails_before_anything_is_encoded():
    def never(_):
        raise AssertionError

    with pytest.raises(InputError, match="10 entries, but 3 probes and 8 survivors"):
        next(
            run(
                toy.bank(10, (0, 1, 2)),
                toy.voters(6),
                MECHANISM,
                Rules(keep=0.8),
                never,
                never,
                toy.streams(),
            )
        )


def test_a_full_bank_of_survivors_and_probes_stays_as_it_is():
    def never(_):
        raise AssertionError

    bank = toy.bank(10, (0, 1))
    rounds = list(
        run(bank, toy.voters(6), MECHANISM, Rules(keep=0.8), never, toy.encode, toy.streams())
    )
    assert [each.bank for each in rounds] == [bank] * 4
