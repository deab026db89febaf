# Requires: routes and embeddings; for the accounts, the audit.json of Table 2's cells
# Makes:    results/adjacency.json                                   what the proofs allow, by adjacency
#           results/{dataset}/{bank}/{encoder}/swap/{pair}/contributions.npz, swap.json
#           results/tables/swap.csv, results/tables/accounts.csv
#           results/figures/accounts.svg, .pdf
# A pair is called {attack}-{kind}-{first}-{second}.


include: "swap_plan.smk"


rule adjacency:
    output:
        "results/adjacency.json",
    log:
        "logs/adjacency.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        code=code("adjacency"),
    script:
        "../scripts/adjacency.py"


rule swap_probes:
    input:
        records="results/{dataset}/records.parquet",
        record_embeddings="results/{dataset}/embeddings/{encoder}/records.npy",
        nonces=of_pair("results/{dataset}/nonces.parquet", "nonce"),
        nonce_embeddings=of_pair(
            "results/{dataset}/embeddings/{encoder}/nonces.npy", "nonce"
        ),
        pool=of_pair("results/{dataset}/pools/{family}.parquet", "paraphrase", "nonce"),
        pool_embeddings=of_pair(
            "results/{dataset}/embeddings/{encoder}/pool-{family}.npy",
            "paraphrase",
            "nonce",
        ),
        routes="results/{dataset}/{bank}/{encoder}/routes.npz",
    output:
        f"{PAIR}/contributions.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/swap/{pair}-probes.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        pair=lambda w: pair_of(w.pair),
        share=SWAP["share"],
        clip=config["mechanism"]["clip"],
        seed=config["seed"],
        code=code("swap_probes"),
    script:
        "../scripts/swap_probes.py"


rule swap:
    input:
        contributions=f"{PAIR}/contributions.npz",
        accounts="results/adjacency.json",
    output:
        f"{PAIR}/swap.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/swap/{pair}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        pair=lambda w: pair_of(w.pair),
        share=SWAP["share"],
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        trials=SWAP["trials"],
        pairs=SWAP["pairs"],
        seed=config["seed"],
        code=code("swap"),
    script:
        "../scripts/swap.py"


rule swap_table:
    input:
        lambda w: swaps(f"{PAIR}/swap.json"),
    output:
        csv=report(
            "results/tables/swap.csv",
            caption="../report/swap.rst",
            category="Tables",
            labels={"table": "pairs of users"},
        ),
        provenance="results/tables/swap.provenance.json",
    log:
        "logs/swap_table.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("swap_table"),
    script:
        "../scripts/swap_table.py"


rule accounts:
    input:
        adjacency="results/adjacency.json",
        audits=TABLES["table2"],
        swaps=lambda w: swaps(f"{PAIR}/swap.json"),
    output:
        csv=report(
            "results/tables/accounts.csv",
            caption="../report/accounts.rst",
            category="Tables",
            labels={"table": "which ε for which question"},
        ),
        provenance="results/tables/accounts.provenance.json",
    log:
        "logs/accounts.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("accounts"),
    script:
        "../scripts/accounts.py"


rule accounts_figure:
    input:
        table="results/tables/accounts.csv",
        accounting="results/accounting.json",
    output:
        svg=report(
            "results/figures/accounts.svg",
            caption="../report/accounts_figure.rst",
            category="Figures",
            labels={"figure": "which ε for which question"},
        ),
        pdf="results/figures/accounts.pdf",
    log:
        "logs/accounts_figure.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        canaries=config["canaries"]["count"],
        swap=SWAP,
        code=code("accounts_figure"),
    script:
        "../scripts/accounts_figure.py"
