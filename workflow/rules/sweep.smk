# Requires: contributions.npz of the cells
# Makes:    results/sweep.json                                             what the proof allows, by σ and q
#           results/{dataset}/{bank}/{encoder}/{attack}/canary-{canary}/sweep.json
#           results/tables/figure1.csv, results/figures/figure1.svg, .pdf
# It starts where σ and q enter first, so that neither routes nor embeddings are made again.


include: "sweep_plan.smk"


rule sweep_account:
    output:
        "results/sweep.json",
    log:
        "logs/sweep_account.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        points=sweep_points(),
        code=code("sweep_account"),
    script:
        "../scripts/sweep_account.py"


rule sweep:
    input:
        contributions=f"{CELL}/contributions.npz",
        accounting="results/sweep.json",
    output:
        f"{CELL}/sweep.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/sweep-{canary}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        trials=SWEEP["trials"],
        seed=config["seed"],
        code=code("sweep"),
    script:
        "../scripts/sweep.py"


rule figure1_table:
    input:
        lambda w: sweeps(f"{CELL}/sweep.json"),
    output:
        csv=report(
            "results/tables/figure1.csv",
            caption="../report/figure1_table.rst",
            category="Tables",
            labels={"table": "Figure 1: noise and participation"},
        ),
        provenance="results/tables/figure1.provenance.json",
    log:
        "logs/figure1_table.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("figure1_table"),
    script:
        "../scripts/figure1_table.py"


rule figure1:
    input:
        "results/tables/figure1.csv",
    output:
        svg=report(
            "results/figures/figure1.svg",
            caption="../report/figure1.rst",
            category="Figures",
            labels={"figure": "Figure 1: noise and participation"},
        ),
        pdf="results/figures/figure1.pdf",
    log:
        "logs/figure1.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        mechanism=config["mechanism"],
        code=code("figure1"),
    script:
        "../scripts/figure1.py"
