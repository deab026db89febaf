# Requires: contributions.npz of the cell, results/accounting.json
# Makes:    results/{dataset}/{bank}/{encoder}/{attack}/canary-{canary}/audit.json


rule audit:
    input:
        contributions=f"{CELL}/contributions.npz",
        accounting="results/accounting.json",
    output:
        f"{CELL}/audit.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/audit-{canary}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        canaries=config["canaries"]["count"],
        seed=config["seed"],
        code=code("audit"),
    script:
        "../scripts/audit.py"
