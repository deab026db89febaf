# Makes: results/planning.json, results/tables/planning.csv   what trials can show
# No input: it can be asked before anything is run.


rule planning:
    output:
        json="results/planning.json",
        csv=report(
            "results/tables/planning.csv",
            caption="../report/planning.rst",
            category="Tables",
            labels={"table": "what trials can show"},
        ),
        provenance="results/tables/planning.provenance.json",
    log:
        "logs/planning.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        canaries=config["canaries"]["count"],
        planning=config["planning"],
        code=code("planning"),
    script:
        "../scripts/planning.py"
