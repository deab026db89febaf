# Requires: the audit.json of every cell of a table.
# Makes:    results/tables/table2.csv    attacks, on the first bank and encoder
#           results/tables/table3.csv    encoders
#           results/tables/table4.csv    bank arms
#           results/tables/canaries.csv  every canary's own values
#           results/tables/{table}.md, .tex         any table for people
#           results/tables/{table}.provenance.json  what made it
# One row is the largest bound of an attack's canaries, as in the paper's tables of the same number.

AUDIT = f"{CELL}/audit.json"
FIRST = {"banks": BANKS[:1], "encoders": tuple(ENCODERS)[:1]}
TABLES = {
    "table2": cells(AUDIT, **FIRST),
    "table3": cells(
        AUDIT,
        banks=BANKS[:1],
        attacks=[
            attack for attack in ("ordinary", "exact", "nonce") if attack in ATTACKS
        ],
    ),
    "table4": cells(AUDIT, encoders=FIRST["encoders"]),
}
FOR_PEOPLE = [
    "table2",
    # With one encoder it would repeat rows of table 2.
    *(["table3"] if len(ENCODERS) > 1 else []),
    "table4",
    "canaries",
    "accounts",
    "exposure_levels",
    "planning",
]


rule table:
    input:
        audits=lambda w: TABLES[w.table],
        paper=PAPER,
    output:
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        provenance="results/tables/{table}.provenance.json",
    log:
        "logs/{table}.log",
    wildcard_constraints:
        table="|".join(TABLES),
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("table"),
    script:
        "../scripts/table.py"


rule canaries:
    input:
        sorted(set(sum(TABLES.values(), []))),
    output:
        csv=report(
            "results/tables/canaries.csv",
            caption="../report/canaries.rst",
            category="Tables",
            labels={"table": "every canary"},
        ),
        provenance="results/tables/canaries.provenance.json",
    log:
        "logs/canaries.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("canaries"),
    script:
        "../scripts/canaries.py"


rule readable:
    input:
        csv="results/tables/{name}.csv",
        provenance="results/tables/{name}.provenance.json",
    output:
        md="results/tables/{name}.md",
        tex="results/tables/{name}.tex",
    log:
        "logs/readable/{name}.log",
    wildcard_constraints:
        name="[a-z0-9_]+",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("readable"),
    script:
        "../scripts/readable.py"
