# Requires: the audit.json of every cell.
# Makes:    results/tables/*.csv


rule table2:
    input:
        cells(CELL + "/audit.json"),
    output:
        "results/tables/table2.csv",
    log:
        "logs/table2.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("table2"),
    script:
        "../scripts/table2.py"
