# The pairs that the swap audit looks at.

SWAP = config["swap"]
SWAP_ATTACKS = SWAP.get("attacks", [attack for attack in ATTACKS if "-" not in attack])
PAIR = "results/{dataset}/{bank}/{encoder}/swap/{pair}"


wildcard_constraints:
    pair="[a-z_-]+-(users|attribute)-[0-9]+-[0-9]+",


def pair_of(name):
    """What a pair's name says: {attack}-{kind}-{first}-{second}."""
    attack, kind, first, second = name.rsplit("-", 3)
    return {
        "attack": attack,
        "kind": kind,
        "first": int(first),
        "second": int(second),
    }


def pairs(dataset):
    """The names of all pairs; none where an attack has one canary only."""
    found = []
    for attack in SWAP_ATTACKS:
        if attack not in ATTACKS:
            raise WorkflowError(
                f"swap.attacks: {attack} is not among attacks ({', '.join(ATTACKS)})"
            )
        chosen = canaries(dataset, attack)
        neighbours = list(zip(chosen[::2], chosen[1::2]))
        if 0 < len(neighbours) < SWAP["pairs"]:
            raise WorkflowError(
                f"swap.pairs = {SWAP['pairs']}: canaries.count = {len(chosen)} make "
                f"{len(neighbours)}"
            )
        found += [
            f"{attack}-{kind}-{first}-{second}"
            for kind in SWAP["kinds"]
            # A string of random characters has no attribute to change.
            if kind == "users" or not attack.startswith("nonce")
            for first, second in neighbours[: SWAP["pairs"]]
        ]
    return found


def swaps(pattern):
    """One path for every pair, on the first bank and encoder."""
    return [
        pattern.format(
            dataset=dataset, bank=BANKS[0], encoder=list(ENCODERS)[0], pair=pair
        )
        for dataset in DATASETS
        for pair in pairs(dataset)
    ]


def swap_tables():
    """The swap table's name, where there are two canaries to make a pair of."""
    return ["swap"] if swaps(PAIR) else []


def of_pair(pattern, *families):
    """An input of pairs whose attack is of one of the families."""

    def path(wildcards):
        family = pair_of(wildcards.pair)["attack"].split("-")[0]
        if family not in families:
            return []
        return pattern.format(**wildcards, family=family)

    return path
