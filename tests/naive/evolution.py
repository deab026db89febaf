"""Algorithm A.1 as it reads, one entry at a time; every bank is routed from scratch."""

import math

import numpy as np

from tests.naive.contribution import contributions
from tests.naive.routing import top_k


def survivors(histogram, reserved, share):
    """The ⌈share·p⌉ largest of the other entries, ties to the lowest position."""
    ranked = sorted((-y, j) for j, y in enumerate(histogram) if j not in reserved)
    return [j for _, j in ranked[: math.ceil(round(share * len(histogram), 9))]]


def inclusion(weights, s):
    """P(entry survives) when s are drawn one after another in proportion to what is left."""
    chance = np.zeros(len(weights))
    if s:
        for j, w in enumerate(weights):
            rest = [0.0 if i == j else v for i, v in enumerate(weights)]
            chance += w / sum(weights) * inclusion(rest, s - 1)
            chance[j] += w / sum(weights)
    return chance


def paraphrasing_run(bank, labels, reserved, voters, mechanism, share, write, encode, streams):
    """Yield (histogram, survivors, next texts) of each round, survivors rewritten in turn."""
    texts, labels = list(bank), list(labels)
    for t in range(1, mechanism.releases + 1):
        index, _ = top_k(voters.records, encode(texts), mechanism.votes)
        votes = contributions(index, voters.user, voters.users, len(texts), mechanism.clip)
        draws = streams("participation", t).random(voters.users)
        noise = streams("noise", t).standard_normal(len(texts))
        histogram = mechanism.noise_multiplier * mechanism.clip * noise
        for user in range(voters.users):
            if draws[user] < mechanism.participation:
                histogram = histogram + votes[user]
        kept = survivors(histogram, reserved, share)
        seeds = streams("feedback", t).integers(2**31, size=len(texts))
        turn = 0
        following = list(texts)
        for j in range(len(texts)):
            if j in kept or j in reserved:
                continue
            source = kept[turn % len(kept)]
            following[j] = write(texts[source], int(seeds[j]))
            labels[j] = labels[source]
            turn += 1
        yield histogram, kept, tuple(following), tuple(labels)
        texts = following
