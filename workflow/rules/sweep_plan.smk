# What the sweep looks at: which points, and which canary of which attacks.

SWEEP = config["sweep"]
SWEEP_ATTACKS = (
    SWEEP.get("attacks") or [each for each in ATTACKS if "-" not in each] or ATTACKS
)


def sweep_points():
    """(σ, q) of every point: each varies at the mechanism's own value of the other."""
    noise = config["mechanism"]["noise_multiplier"]
    q = config["mechanism"]["participation"]
    points = {(noise, q)}
    points |= {(each, q) for each in SWEEP["noise_multipliers"]}
    points |= {(noise, each) for each in SWEEP["participations"]}
    return [
        {"noise_multiplier": each, "participation": share}
        for each, share in sorted(points)
    ]


def sweeps(pattern):
    """One path a dataset and attack: the first bank and encoder, one canary."""
    absent = [attack for attack in SWEEP_ATTACKS if attack not in ATTACKS]
    if absent:
        raise WorkflowError(
            f"sweep.attacks: {absent[0]} is not among attacks ({', '.join(ATTACKS)})"
        )
    if SWEEP["canary"] >= config["canaries"]["count"]:
        raise WorkflowError(
            f"sweep.canary = {SWEEP['canary']}: canaries.count = {config['canaries']['count']} "
            "are there, counted from 0"
        )
    return [
        pattern.format(
            dataset=dataset,
            bank=BANKS[0],
            encoder=list(ENCODERS)[0],
            attack=attack,
            canary=canaries(dataset, attack)[SWEEP["canary"]],
        )
        for dataset in DATASETS
        for attack in SWEEP_ATTACKS
    ]
