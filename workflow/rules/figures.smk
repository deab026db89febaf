# Requires: the audit.json of every cell of Table 4; records and routes; results/accounting.json.
# Makes:    results/figures/attacks.svg, .pdf      Table 4 as a dot plot
#           results/figures/gap.svg, .pdf          where the missing leakage went
#           results/tables/gap.csv                 the same, one row a cell and step
#           results/figures/delta.svg, .pdf        ε over δ
#           results/figures/trade_off.svg, .pdf    both error rates, beside the mechanism's
#           results/{dataset}/{bank}/{encoder}/exposure/{attack}.csv    every test user as the canary
#           results/tables/exposure.csv            the same, all together
#           results/tables/exposure_levels.csv     share of users above each level
#           results/figures/exposure.svg, .pdf     its distribution

EXPOSURE = "results/{dataset}/{bank}/{encoder}/exposure/{attack}.csv"


rule attacks:
    input:
        audits=TABLES["table4"],
        paper=PAPER,
    output:
        svg=report(
            "results/figures/attacks.svg",
            caption="../report/attacks.rst",
            category="Figures",
            labels={"figure": "ε by attack"},
        ),
        pdf="results/figures/attacks.pdf",
    log:
        "logs/figures/attacks.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        code=code("attacks"),
    script:
        "../scripts/attacks.py"


rule gap:
    input:
        audits=TABLES["table4"],
    output:
        csv="results/tables/gap.csv",
        provenance="results/tables/gap.provenance.json",
        svg=report(
            "results/figures/gap.svg",
            caption="../report/gap.rst",
            category="Figures",
            labels={"figure": "where ε was lost"},
        ),
        pdf="results/figures/gap.pdf",
    log:
        "logs/figures/gap.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        code=code("gap"),
    script:
        "../scripts/gap.py"


rule delta:
    input:
        audits=TABLES["table4"],
    output:
        svg=report(
            "results/figures/delta.svg",
            caption="../report/delta.rst",
            category="Figures",
            labels={"figure": "ε over δ"},
        ),
        pdf="results/figures/delta.pdf",
    log:
        "logs/figures/delta.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        code=code("delta"),
    script:
        "../scripts/delta.py"


rule trade_off:
    input:
        audits=TABLES["table4"],
    output:
        svg=report(
            "results/figures/trade_off.svg",
            caption="../report/trade_off.rst",
            category="Figures",
            labels={"figure": "error rates"},
        ),
        pdf="results/figures/trade_off.pdf",
    log:
        "logs/figures/trade_off.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        code=code("trade_off"),
    script:
        "../scripts/trade_off.py"


rule exposure:
    input:
        records="results/{dataset}/records.parquet",
        routes="results/{dataset}/{bank}/{encoder}/routes.npz",
        embeddings=branch(
            lambda w: w.attack == "exact",
            then="results/{dataset}/embeddings/{encoder}/records.npy",
        ),
    output:
        EXPOSURE,
    log:
        "logs/{dataset}/{bank}/{encoder}/exposure-{attack}.log",
    wildcard_constraints:
        attack="ordinary|exact",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        code=code("exposure"),
    script:
        "../scripts/exposure.py"


rule exposures:
    input:
        exposures=expand(
            EXPOSURE,
            dataset=DATASETS,
            bank=BANKS,
            encoder=FIRST["encoders"],
            attack=config["exposure"]["attacks"],
        ),
        accounting="results/accounting.json",
    output:
        csv="results/tables/exposure.csv",
        provenance="results/tables/exposure.provenance.json",
        levels=report(
            "results/tables/exposure_levels.csv",
            caption="../report/exposure_levels.rst",
            category="Tables",
            labels={"table": "users above a level of ε"},
        ),
        levels_provenance="results/tables/exposure_levels.provenance.json",
        svg=report(
            "results/figures/exposure.svg",
            caption="../report/exposure.rst",
            category="Figures",
            labels={"figure": "everyone's exposure"},
        ),
        pdf="results/figures/exposure.pdf",
    log:
        "logs/figures/exposure.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        mechanism=config["mechanism"],
        evaluation=config["evaluation"],
        canaries=config["canaries"]["count"],
        levels=config["exposure"]["levels"],
        code=code("exposures"),
    script:
        "../scripts/exposures.py"
