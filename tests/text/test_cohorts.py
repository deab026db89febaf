import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core.errors import InputError
from pe_core.text.cohorts import COHORTS, outside, split


def users(sizes, group=None):
    return pl.DataFrame(
        [
            (f"u{u}", record, "label", f"{u}.{record}", "" if group is None else group[u])
            for u, size in enumerate(sizes)
            for record in range(size)
        ],
        schema={
            "user": pl.String,
            "record": pl.Int64,
            "label": pl.String,
            "text": pl.String,
            "group": pl.String,
        },
        orient="row",
    )


def sized(canary, auxiliary, calibration, test):
    return dict(zip(COHORTS, (canary, auxiliary, calibration, test)))


def members(drawn):
    return {c: set(drawn.filter(pl.col("cohort") == c)["user"]) for c in COHORTS}


worlds = st.integers(0, 2**32).map(np.random.default_rng)


@given(worlds)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_cohorts_are_exact_disjoint_capped_and_blind_to_row_order(rng):
    count = int(rng.integers(8, 40))
    group = [f"g{g}" if g else "" for g in rng.integers(0, 60, count)]
    records = users(rng.integers(1, 8, count), group)
    sizes = sized(*(int(x) for x in rng.integers(0, 4, 4)))
    try:
        drawn = split(records, sizes, 3, 5, 7, ("data",))
    except InputError:
        return
    found = members(drawn)
    assert {c: len(found[c]) for c in COHORTS} == sizes
    assert sum(map(len, found.values())) == drawn["user"].n_unique()
    named = drawn.filter(pl.col("group") != "")
    assert (named.group_by("group").agg(pl.col("cohort").n_unique())["cohort"] == 1).all()
    full = dict(records.group_by("user").len().rows())
    for (user, cohort), part in drawn.group_by("user", "cohort"):
        most = 3 if cohort == "canary" else 5
        assert part["record"].to_list() == list(range(min(full[user], most)))
        assert cohort != "canary" or part.height == 3
    original = records.select("user", "record", "text")
    assert drawn.select("user", "record", "text").join(original, on=original.columns).height == (
        drawn.height
    )
    shuffled = records.sample(fraction=1, shuffle=True, seed=int(rng.integers(2**31)))
    assert split(shuffled, sizes, 3, 5, 7, ("data",)).equals(drawn)


def test_users_linked_through_a_chain_of_groups_stay_together():
    # a and b share a case, b and c share another: with a in one cohort, neither may be in another.
    rows = [("a", 0, "x"), ("b", 0, "x"), ("b", 1, "y"), ("c", 0, "y"), ("d", 0, ""), ("e", 0, "")]
    records = pl.DataFrame(rows, schema=["user", "record", "group"], orient="row").with_columns(
        label=pl.lit(""), text=pl.lit("t")
    )
    for seed in range(20):
        found = members(split(records, sized(0, 1, 1, 1), 1, 2, seed))
        assert sum(bool(cohort & {"a", "b", "c"}) for cohort in found.values()) == 1
        assert len(found["auxiliary"] | found["calibration"] | found["test"]) == 3
    with pytest.raises(InputError, match=r"there are 5 users, .* in 3 groups"):
        split(records, sized(1, 1, 1, 1), 1, 2, 0)


def test_a_group_goes_to_the_cohort_that_lacks_most():
    # Only the test cohort has room for the group, and no user is to spare.
    records = users([1] * 5, ["case", "case", "case", "", ""])
    tests = []
    for seed in range(20):
        try:
            tests.append(members(split(records, sized(0, 1, 1, 3), 1, 1, seed))["test"])
        except InputError:
            continue
    assert tests
    assert all(found == {"u0", "u1", "u2"} for found in tests)


def test_outside_shares_neither_user_nor_group_with_a_cohort():
    records = users([2] * 30, [f"g{u // 3}" if u < 24 else "" for u in range(30)])
    drawn = split(records, sized(1, 3, 3, 3), 2, 2, 3)
    left = outside(records, drawn)
    assert not set(left["user"]) & set(drawn["user"])
    assert not set(left["group"]) & set(drawn["group"]) - {""}
    taken = set(drawn["group"]) - {""}
    expected = records.filter(
        ~pl.col("user").is_in(set(drawn["user"])) & ~pl.col("group").is_in(taken)
    )
    assert left.equals(expected)
    no_groups = records.drop("group")
    everyone = outside(no_groups, split(no_groups, sized(1, 3, 3, 3), 2, 2, 3))["user"].n_unique()
    assert everyone == 20
    with pytest.raises(InputError, match="no record"):
        outside(records.filter(pl.col("user") != drawn["user"][0]), drawn)


def test_every_user_is_equally_likely_in_every_cohort():
    records = users([1] * 12)
    sizes = sized(2, 3, 3, 4)
    counts = {cohort: np.zeros(12) for cohort in COHORTS}
    draws = 1500
    for seed in range(draws):
        for cohort, found in members(split(records, sizes, 1, 1, seed)).items():
            for user in found:
                counts[cohort][int(user[1:])] += 1
    for cohort, count in counts.items():
        share = sizes[cohort] / 12
        # Five standard deviations of a binomial count.
        assert np.abs(count - draws * share).max() < 5 * np.sqrt(draws * share * (1 - share))


def test_draws_depend_on_seed_and_names_and_more_canaries_keep_the_first():
    records = users([4] * 60)
    sizes = sized(5, 10, 10, 20)
    drawn = split(records, sizes, 4, 4, 0, ("a",))
    assert not drawn.equals(split(records, sizes, 4, 4, 1, ("a",)))
    assert not drawn.equals(split(records, sizes, 4, 4, 0, ("b",)))
    canaries = drawn.filter(pl.col("cohort") == "canary")["user"].unique(maintain_order=True)
    more = split(records, {**sizes, "canary": 8}, 4, 4, 0, ("a",))
    again = more.filter(pl.col("cohort") == "canary")["user"].unique(maintain_order=True)
    assert again.to_list()[:5] == canaries.to_list()


def test_canaries_come_from_the_users_with_enough_records():
    records = users([2] * 30 + [64, 70])
    drawn = split(records, sized(2, 10, 10, 10), 64, 64, 5)
    assert members(drawn)["canary"] == {"u30", "u31"}
    assert drawn.filter(pl.col("cohort") == "canary").height == 128
    with pytest.raises(InputError, match=r"3 canary.* 2 of them with so many records"):
        split(records, sized(3, 1, 1, 1), 64, 64, 5)


def test_a_user_with_one_record_and_no_users_at_all():
    assert split(users([1, 1]), sized(1, 0, 0, 1), 1, 64, 0).height == 2
    assert split(users([]), sized(0, 0, 0, 0), 1, 64, 0).is_empty()
    with pytest.raises(InputError, match="there are 0 users"):
        split(users([]), sized(1, 0, 0, 0), 1, 64, 0)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"sizes": {"canary": 1}}, "must name"),
        ({"sizes": sized(1, -1, 1, 1)}, "auxiliary has size -1"),
        ({"canary_records": 0}, "canary_records is 0"),
        ({"canary_records": 65}, "canary_records is 65 and maximum_records 64"),
        ({"records": users([1]).drop("text")}, "no column text"),
        ({"records": pl.concat([users([1]), users([1])])}, "record 0 of user 'u0' occurs more"),
    ],
)
def test_wrong_input(change, found):
    good = {
        "records": users([64] * 9),
        "sizes": sized(1, 1, 1, 1),
        "canary_records": 64,
        "maximum_records": 64,
        "seed": 0,
    }
    with pytest.raises(InputError, match=found):
        split(**{**good, **change})
