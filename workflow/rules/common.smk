# The configuration, checked; the grid of cells; and what rules share.
import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# A plan is millions of objects that stay. Looking through them for garbage would take a good part
# of the time, so it begins with the first job, and leaves the plan out.
gc.disable()


onstart:
    gc.freeze()
    gc.enable()
    # Snakemake would end in a traceback at the first file that it wants to replace.
    if Path("results").exists() and not os.access("results", os.W_OK):
        raise WorkflowError("results: cannot be written; the folder is read-only")
    # Where there is no accounting sacct tells no job's state, and Snakemake would wait without end.
    asked = getattr(workflow.executor_settings, "status_command", None)
    if (
        asked == "sacct"
        and shutil.which(asked)
        and subprocess.run([asked, "-X"], capture_output=True).returncode
    ):
        raise WorkflowError(
            "sacct: no accounting on this cluster; add --slurm-status-command squeue"
        )


# Scripts find pe_core in the folder that the workflow runs from.
ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
sys.path.insert(0, str(ROOT))

# Found from any working folder (--directory), and the same name wherever the house is moved.
# Files of the house and of the user are local: only results are kept in an object store.
PAGES = os.path.relpath(ROOT / "workflow/report")
PAPER = local(f"{PAGES}/paper_tables.csv")

import configuration
import modules
from pe_core import seeds

STORE = workflow.storage_settings.default_storage_provider
if STORE == "s3":
    import object_store

    object_store.use()
elif STORE:
    raise WorkflowError(
        f"--default-storage-provider {STORE}: only s3 keeps the checksums of artifacts"
    )

FAULTS = configuration.validate(config, ROOT / "workflow/schemas/config.schema.yaml")
if FAULTS:
    raise WorkflowError("The configuration cannot be used:\n  " + "\n  ".join(FAULTS))

# A key of the environment is missed before the DAG is planned, not when the first bank is due.
KEY = config["generator"].get("key_env")
if KEY and not os.environ.get(KEY):
    raise WorkflowError(f"generator.key_env: the environment variable {KEY} is not set")

DATASETS = {dataset["name"]: dataset for dataset in config["datasets"]}
# An encoder without a model is called by its name.
ENCODERS = {
    encoder["name"]: {"model": encoder["name"], **encoder}
    for encoder in config["encoders"]
}
for encoder in ENCODERS.values():
    del encoder["name"]
ATTACKS = config["attacks"]
BANKS = config["banks"]
FAMILIES = sorted(
    {attack.split("-")[0] for attack in ATTACKS} & {"paraphrase", "nonce"}
)

# One part for the auditor's own users, and the shards of the test users; none where all are one file.
PARTS = ["own", *(f"test-{n}" for n in range(config["shards"]))]
if config["shards"] == 1:
    PARTS = []


wildcard_constraints:
    dataset="|".join(map(re.escape, DATASETS)),
    encoder="|".join(map(re.escape, ENCODERS)),
    bank="|".join(BANKS),
    attack="|".join(map(re.escape, ATTACKS)),
    family="paraphrase|nonce",
    canary="[0-9]+",


def code(script):
    """The digest of our modules that a script uses: editing one reruns what used it."""
    return modules.digest(script)


def cohort(dataset):
    """Canaries to draw from; synthetic ones are as many as real ones."""
    return range(DATASETS[dataset]["cohorts"]["canary"])


def canaries(dataset, attack):
    """The canaries of one attack, as indices into the canary cohort."""
    count = config["canaries"]["count"]
    if config["canaries"]["choice"] == "shared":
        return list(range(count))
    drawn = seeds.generator(config["seed"], dataset, attack, "canaries")
    return sorted(int(c) for c in drawn.permutation(len(cohort(dataset)))[:count])


def family_canaries(dataset, family):
    """The canaries of all attacks of one family of probes."""
    chosen = (
        canaries(dataset, attack)
        for attack in ATTACKS
        if attack.split("-")[0] == family
    )
    return sorted(set().union(*chosen))


SOURCES = {
    "yelp": "the Yelp Open Dataset's review file, from Yelp",
    "sentiment140": "Sentiment140's training file, from its authors",
    "table": "your users' texts: docs/your-own-data.md",
}


def own_file(dataset, bank=None):
    """The user's file of a bank arm, or of the paraphrases; empty where a generator writes them."""
    generator = config["generator"]
    if generator["source"] != "file":
        prompt = "bank" if bank else "paraphrase"
        if prompt not in DATASETS[dataset]["prompts"]:
            raise WorkflowError(
                f"datasets.{dataset}.prompts.{prompt} is missing: a generator needs it"
            )
        return []
    key = f"banks.{bank}" if bank else "pools"
    path = generator["banks"].get(bank) if bank else generator.get("pools")
    if path is None:
        raise WorkflowError(f"generator.{key} is missing: source file needs its file")
    return local(path.replace("{dataset}", dataset))


def need(key, path, what):
    """Say what is missing by its name in the config, before anything is planned."""
    fault = path and configuration.unusable(path)
    if fault:
        raise WorkflowError(f"{key}: {path} {fault}; it is {what}")


if (
    config["generator"]["source"] == "gguf"
    and config["generator"]["model"] != "smollm2"
):
    need("generator.model", config["generator"]["model"], "a GGUF file, or smollm2")
for name, dataset in DATASETS.items():
    need(
        f"datasets.{name}.options.path",
        dataset["options"].get("path"),
        SOURCES.get(dataset["loader"], "what the loader reads"),
    )
    if config["generator"]["source"] != "file":
        continue
    for bank in BANKS:
        need(f"generator.banks.{bank}", own_file(name, bank), "a table of public texts")
    if "paraphrase" in FAMILIES:
        need("generator.pools", own_file(name), "a table of the canaries' paraphrases")


def cells(pattern, banks=BANKS, encoders=tuple(ENCODERS), attacks=ATTACKS):
    """One path for every dataset, bank, encoder, attack and canary of the grid."""
    return [
        pattern.format(
            dataset=dataset, bank=bank, encoder=encoder, attack=attack, canary=canary
        )
        for dataset in DATASETS
        for bank in banks
        for encoder in encoders
        for attack in attacks
        for canary in canaries(dataset, attack)
    ]


CELL = "results/{dataset}/{bank}/{encoder}/{attack}/canary-{canary}"


def of_pool(wildcards, pattern):
    """The file of the pool that an attack selects from; `ordinary` and `exact` need none."""
    family = wildcards.attack.split("-")[0]
    return pattern.format(family=family) if family in ("paraphrase", "nonce") else []
