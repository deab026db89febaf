# Loaded where config key `shards` is above 1: test users are embedded, routed and clipped in parts.
# Requires: results/{dataset}/records.parquet and what probes.smk requires
# Makes:    results/{dataset}/parts/{part}.parquet          own: the auditor's users; test-0, test-1, ...
#           results/{dataset}/{bank}/{encoder}/parts/{part}/routes.npz
#           {cell}/parts/{part}.npz                          own: as contributions.npz; test-*: CSR
#           {cell}/contributions.npz                         the bytes that one job would have made
#           {cell}/streamed.json, results/tables/streamed.csv   exact ε from tallies, asked for by name

PART = "results/{dataset}/parts/{part}.parquet"
PART_EMBEDDINGS = "results/{dataset}/embeddings/{encoder}/part-{part}.npy"
PART_ROUTES = "results/{dataset}/{bank}/{encoder}/parts/{part}/routes.npz"
OWN = f"{CELL}/parts/own.npz"


wildcard_constraints:
    part="|".join(PARTS),


ruleorder: contributions > probes


rule parts:
    input:
        "results/{dataset}/records.parquet",
    output:
        expand("results/{{dataset}}/parts/{part}.parquet", part=PARTS),
    log:
        "logs/{dataset}/parts.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        # Fewer shards ask for files that are there already, cut for more of them.
        shards=config["shards"],
        code=code("parts"),
    script:
        "../scripts/parts.py"


use rule route as route_part with:
    input:
        records=PART_EMBEDDINGS,
        bank="results/{dataset}/embeddings/{encoder}/bank-{bank}.npy",
        nonces=branch(
            lambda w: w.part == "own" and "nonce" in FAMILIES,
            then="results/{dataset}/embeddings/{encoder}/nonces.npy",
        ),
    output:
        PART_ROUTES,
    log:
        "logs/{dataset}/{bank}/{encoder}/route-{part}.log",


use rule probes as probes_own with:
    input:
        **{
            **dict(rules.probes.input.items()),
            "records": PART.replace("{part}", "own"),
            "record_embeddings": PART_EMBEDDINGS.replace("{part}", "own"),
            "routes": PART_ROUTES.replace("{part}", "own"),
        },
    output:
        OWN,
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/probes-own-{canary}.log",


rule contribute:
    input:
        records=PART,
        record_embeddings=PART_EMBEDDINGS,
        routes=PART_ROUTES,
        own=OWN,
    output:
        f"{CELL}/parts/{{part}}.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/contribute-{part}-{canary}.log",
    wildcard_constraints:
        part="test-[0-9]+",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        clip=config["mechanism"]["clip"],
        code=code("contribute"),
    script:
        "../scripts/contribute.py"


rule contributions:
    input:
        own=OWN,
        parts=expand(f"{CELL}/parts/{{part}}.npz", part=PARTS[1:], allow_missing=True),
    output:
        f"{CELL}/contributions.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/contributions-{canary}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        code=code("contributions"),
    script:
        "../scripts/contributions.py"


rule streamed:
    input:
        own=OWN,
        parts=rules.contributions.input.parts,
    output:
        f"{CELL}/streamed.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/streamed-{canary}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        code=code("streamed"),
    script:
        "../scripts/streamed.py"


rule streamed_table:
    input:
        cells(f"{CELL}/streamed.json"),
    output:
        csv="results/tables/streamed.csv",
        provenance="results/tables/streamed.provenance.json",
    log:
        "logs/streamed_table.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("streamed_table"),
    script:
        "../scripts/streamed_table.py"
