# Makes: results/accounting.json   what the mechanism's proof allows


rule account:
    output:
        "results/accounting.json",
    log:
        "logs/account.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        code=code("account"),
    script:
        "../scripts/account.py"
