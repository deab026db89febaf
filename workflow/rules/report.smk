# Requires: every audit of the tables, exposure and accounts.
# Makes:    results/audit-card.html   one page for who must decide
#           results/tables.html       every table, to be read in the report
#           results/candidates.html   the most voted texts of each round, asked for by name


include: "report_plan.smk"


rule audit_card:
    input:
        template=local(f"{PAGES}/audit-card.html.j2"),
        style=local(f"{PAGES}/page.css"),
        audits=list(dict.fromkeys(TABLES["table4"] + TABLES["table3"])),
        accounting="results/accounting.json",
        exposure="results/tables/exposure.csv",
        levels="results/tables/exposure_levels.csv",
        accounts="results/tables/accounts.csv",
        records=expand("results/{dataset}/records.json", dataset=DATASETS),
        encoders=expand(
            "results/{dataset}/embeddings/{encoder}/records.json",
            dataset=list(DATASETS)[0],
            encoder=ENCODERS,
        ),
        texts=expand("results/{dataset}/records.parquet", dataset=DATASETS)
        + expand(
            "results/{dataset}/banks/{bank}.parquet", dataset=DATASETS, bank=BANKS
        )
        + expand(
            "results/{dataset}/pools/{family}.parquet",
            dataset=DATASETS,
            family=FAMILIES,
        ),
    output:
        report(
            "results/audit-card.html",
            caption="../report/audit_card.rst",
            category="Audit card",
            labels={"page": "the verdict on one page"},
        ),
    log:
        "logs/audit_card.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        datasets=[
            {name: dataset[name] for name in ("name", "loader", "cohorts")}
            for dataset in DATASETS.values()
        ],
        encoders=[
            {"name": name, "dtype": encoder["dtype"]}
            for name, encoder in ENCODERS.items()
        ],
        generator={name: config["generator"].get(name) for name in ("source", "model")},
        bank=config["bank"],
        canaries=config["canaries"],
        audit_code=code("audit"),
        code=code("audit_card"),
    script:
        "../scripts/audit_card.py"


rule tables_page:
    input:
        template=local(f"{PAGES}/tables.html.j2"),
        style=local(f"{PAGES}/page.css"),
        tables=expand("results/tables/{table}.csv", table=[*FOR_PEOPLE, *swap_tables()]),
        captions=[
            local(f"{PAGES}/{re.sub('[0-9]$', '', name)}.rst")
            for name in [*FOR_PEOPLE, *swap_tables()]
        ],
    output:
        report(
            "results/tables.html",
            caption="../report/tables.rst",
            category="Tables",
            labels={"table": "all tables, to read"},
        ),
    log:
        "logs/tables_page.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("tables_page"),
    script:
        "../scripts/tables_page.py"


rule candidates_page:
    input:
        template=local(f"{PAGES}/candidates.html.j2"),
        style=local(f"{PAGES}/page.css"),
        candidates="results/tables/candidates.csv",
    output:
        report(
            "results/candidates.html",
            caption="../report/candidates.rst",
            category="Several rounds",
            labels={"result": "the most voted candidates"},
        ),
    log:
        "logs/candidates_page.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        code=code("candidates_page"),
    script:
        "../scripts/candidates_page.py"
