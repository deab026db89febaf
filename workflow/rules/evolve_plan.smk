# The runs that evolve.smk makes: paths, what differs between runs, and which there are.

EVOLUTION = "results/{dataset}/{bank}/{encoder}/evolution"
RUN = f"{EVOLUTION}/transcript-{{transcript}}/{{run}}"
ROUND = f"{RUN}/round-{{round}}"
PLAN = {
    "size": config["bank"]["size"],
    "probes": config["bank"]["probes"],
    **config["evolution"],
}
ROUNDS = range(1, PLAN["rounds"] + 1)


wildcard_constraints:
    run=f"unaudited|noiseless|({'|'.join(map(re.escape, ATTACKS))})-canary-[0-9]+",
    round="[1-9][0-9]*",
    transcript="[0-9]+",


def evolution_mechanism(noiseless=False):
    """The mechanism of one release."""
    noise = 0.0 if noiseless else PLAN["noise_multiplier"]
    return {
        **config["mechanism"],
        "participation": PLAN["participation"],
        "noise_multiplier": noise,
    }


def probed(run):
    """The attack and the canary of an audited run, None of the others."""
    attack, found, canary = run.partition("-canary-")
    return (attack, int(canary)) if found else None


def audited_runs(dataset):
    """A run for every attack and canary of the plan."""
    absent = [attack for attack in PLAN["attacks"] if attack not in ATTACKS]
    if absent:
        raise WorkflowError(
            f"evolution.attacks: {absent[0]} is not among attacks ({', '.join(ATTACKS)})"
        )
    runs = []
    for attack in PLAN["attacks"]:
        chosen = canaries(dataset, attack)
        if PLAN["canaries"] > len(chosen):
            raise WorkflowError(
                f"evolution.canaries = {PLAN['canaries']}: canaries.count = {len(chosen)} are there"
            )
        runs += [f"{attack}-canary-{canary}" for canary in chosen[: PLAN["canaries"]]]
    return runs


def planned(audited=False):
    """The wildcards of every run of the plan, on the first encoder."""
    if PLAN["bank"] not in BANKS:
        raise WorkflowError(
            f"evolution.bank = {PLAN['bank']}: it is not among banks ({', '.join(BANKS)})"
        )
    most = config["bank"]["size"]
    if PLAN["size"] > most:
        raise WorkflowError(
            f"evolution.size = {PLAN['size']}: at most bank.size = {most} is allowed"
        )
    if PLAN["size"] - PLAN["probes"] < config["mechanism"]["votes"]:
        raise WorkflowError(
            f"evolution.probes = {PLAN['probes']}: evolution.size = {PLAN['size']} must "
            f"leave mechanism.votes = {config['mechanism']['votes']} entries besides"
        )
    others = [] if audited else PLAN["references"]
    return [
        {
            "dataset": dataset,
            "bank": PLAN["bank"],
            "encoder": list(ENCODERS)[0],
            "transcript": transcript,
            "run": run,
        }
        for dataset in DATASETS
        for transcript in range(PLAN["transcripts"])
        for run in [*audited_runs(dataset), *others]
    ]


def runs(pattern, audited=False):
    """One path for every run."""
    return [pattern.format(**run) for run in planned(audited)]


def releases():
    """The wildcards of every round of every run."""
    return [{**run, "round": t} for run in planned() for t in ROUNDS]


def each_round(pattern):
    """One path for every round, the other wildcards left open."""
    return [pattern.replace("{round}", str(t)) for t in ROUNDS]


def of_run(pattern, *families):
    """An input of audited runs only, and of these only where the probes are of a family."""

    def path(wildcards):
        if probed(wildcards.run) is None:
            return []
        attack, canary = probed(wildcards.run)
        family = attack.split("-")[0]
        if families and family not in families:
            return []
        names = {"attack": attack, "canary": canary, "family": family}
        return pattern.format(**wildcards, **names)

    return path


def before(name, wildcards):
    """A file of the bank that is published in this round."""
    earlier = int(wildcards["round"]) - 1
    folder = f"{RUN}/round-{earlier}" if earlier else f"{EVOLUTION}/start/{{run}}"
    return f"{folder}/{name}".format(**wildcards)
