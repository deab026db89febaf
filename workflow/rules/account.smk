# Makes: results/accounting.json   what the mechanism's proof allows


rule account:
    output:
        "results/accounting.json",
    log:
        "logs/account.log",
    conda:
        "../../envs/environment.yaml"
    params:
        mechanism=config["mechanism"],
        code=code("account"),
    script:
        "../scripts/account.py"
