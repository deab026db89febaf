# Requires: for data from embeddings, results/{dataset}/records.parquet and
#           results/{dataset}/embeddings/{encoder}/records.npy
# Makes:    results/dpsgd/{data}/records.npz                       training, auxiliary and test records
#           results/dpsgd/{model}/canaries.npz, .json              reference model, pairs S2 to S5
#           results/dpsgd/q-{share}/noise.json, account.json       σ for the budget; what the proofs allow
#           results/dpsgd/worst_case/q-{share}/audit.json          S1
#           results/dpsgd/{model}/{scenario}/q-{share}/audit.json  S2 to S5
#           results/dpsgd/{model}/without/q-{share}/accuracy.json  accuracy without the canary
#           results/tables/substitute_dpsgd.csv
#           results/figures/substitute_dpsgd*.svg, .pdf


# Many processes that fill Numba's cache at once may disturb each other: this one fills it first.
rule dpsgd_kernels:
    output:
        "results/dpsgd/kernels.json",
    log:
        "logs/dpsgd/kernels.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("dpsgd_kernels"),
    script:
        "../scripts/dpsgd_kernels.py"


rule dpsgd_records:
    input:
        dpsgd_source,
    output:
        records="results/dpsgd/{data}/records.npz",
        notes="results/dpsgd/{data}/records.json",
    log:
        "logs/dpsgd/{data}/records.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        data=lambda w: DPSGD_DATA[w.data],
        seed=config["seed"],
        code=code("dpsgd_records"),
    script:
        "../scripts/dpsgd_records.py"


rule dpsgd_canaries:
    input:
        records=dpsgd_records,
        kernels="results/dpsgd/kernels.json",
    output:
        canaries="results/dpsgd/{model}/canaries.npz",
        notes="results/dpsgd/{model}/canaries.json",
    log:
        "logs/dpsgd/{model}/canaries.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        model=lambda w: DPSGD_MODELS[w.model],
        canary=DPSGD["canary"],
        seed=config["seed"],
        code=code("dpsgd_canaries"),
    script:
        "../scripts/dpsgd_canaries.py"


rule dpsgd_noise:
    output:
        "results/dpsgd/q-{share}/noise.json",
    log:
        "logs/dpsgd/q-{share}/noise.log",
    conda:
        "../../envs/environment.yaml"
    params:
        participation=lambda w: DPSGD_SHARES[w.share],
        mechanism=DPSGD_MECHANISM,
        code=code("dpsgd_noise"),
    script:
        "../scripts/dpsgd_noise.py"


rule dpsgd_account:
    input:
        "results/dpsgd/q-{share}/noise.json",
    output:
        "results/dpsgd/q-{share}/account.json",
    log:
        "logs/dpsgd/q-{share}/account.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        mechanism=DPSGD_MECHANISM,
        code=code("dpsgd_account"),
    script:
        "../scripts/dpsgd_account.py"


rule dpsgd_worst_case:
    input:
        noise="results/dpsgd/q-{share}/noise.json",
        kernels="results/dpsgd/kernels.json",
    output:
        "results/dpsgd/worst_case/q-{share}/audit.json",
    log:
        "logs/dpsgd/worst_case/q-{share}/audit.log",
    conda:
        "../../envs/environment.yaml"
    params:
        mechanism=DPSGD_MECHANISM,
        runs=DPSGD["worst_case_runs"],
        alpha=DPSGD["alpha"],
        seed=config["seed"],
        code=code("dpsgd_worst_case"),
    script:
        "../scripts/dpsgd_worst_case.py"


rule dpsgd_game:
    input:
        records=dpsgd_records,
        canaries="results/dpsgd/{model}/canaries.npz",
        notes="results/dpsgd/{model}/canaries.json",
        noise="results/dpsgd/q-{share}/noise.json",
    output:
        "results/dpsgd/{model}/{scenario}/q-{share}/audit.json",
    log:
        "logs/dpsgd/{model}/{scenario}/q-{share}/audit.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        model=lambda w: DPSGD_MODELS[w.model],
        mechanism=DPSGD_MECHANISM,
        canary=DPSGD["canary"],
        runs=DPSGD["runs"],
        alpha=DPSGD["alpha"],
        seed=config["seed"],
        code=code("dpsgd_game"),
    script:
        "../scripts/dpsgd_game.py"


rule dpsgd_without:
    input:
        records=dpsgd_records,
        canaries="results/dpsgd/{model}/canaries.npz",
        noise="results/dpsgd/q-{share}/noise.json",
    output:
        "results/dpsgd/{model}/without/q-{share}/accuracy.json",
    log:
        "logs/dpsgd/{model}/without/q-{share}/accuracy.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
    params:
        model=lambda w: DPSGD_MODELS[w.model],
        mechanism=DPSGD_MECHANISM,
        canary=DPSGD["canary"],
        runs=DPSGD["runs"],
        seed=config["seed"],
        code=code("dpsgd_without"),
    script:
        "../scripts/dpsgd_without.py"


rule dpsgd_table:
    input:
        audits=[
            *expand(
                "results/dpsgd/worst_case/q-{share}/audit.json", share=DPSGD_SHARES
            ),
            *expand(
                "results/dpsgd/{model}/{scenario}/q-{share}/audit.json",
                model=DPSGD_MODELS,
                scenario=DPSGD_SCENARIOS,
                share=DPSGD_SHARES,
            ),
        ],
        accounts=expand("results/dpsgd/q-{share}/account.json", share=DPSGD_SHARES),
        without=expand(
            "results/dpsgd/{model}/without/q-{share}/accuracy.json",
            model=DPSGD_MODELS,
            share=DPSGD_SHARES,
        ),
    output:
        csv=report(
            "results/tables/substitute_dpsgd.csv",
            caption="../report/substitute_dpsgd_table.rst",
            category="DP-SGD",
            labels={"result": "every audit, a table"},
        ),
        provenance="results/tables/substitute_dpsgd.provenance.json",
    log:
        "logs/dpsgd/table.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("dpsgd_table"),
    script:
        "../scripts/dpsgd_table.py"


rule dpsgd_figures:
    input:
        table="results/tables/substitute_dpsgd.csv",
        accounts=expand("results/dpsgd/q-{share}/account.json", share=DPSGD_SHARES),
    output:
        audits=[
            report(
                "results/figures/substitute_dpsgd.svg",
                caption="../report/substitute_dpsgd.rst",
                category="DP-SGD",
                labels={"result": "audits under substitution"},
            ),
            "results/figures/substitute_dpsgd.pdf",
        ],
        worst_case=[
            report(
                "results/figures/substitute_dpsgd_worst_case.svg",
                caption="../report/substitute_dpsgd_worst_case.rst",
                category="DP-SGD",
                labels={"result": "the worst case"},
            ),
            "results/figures/substitute_dpsgd_worst_case.pdf",
        ],
        gdp=[
            report(
                "results/figures/substitute_dpsgd_gdp.svg",
                caption="../report/substitute_dpsgd_gdp.rst",
                category="DP-SGD",
                labels={"result": "if the game were Gaussian"},
            ),
            "results/figures/substitute_dpsgd_gdp.pdf",
        ],
        accuracy=[
            report(
                "results/figures/substitute_dpsgd_accuracy.svg",
                caption="../report/substitute_dpsgd_accuracy.rst",
                category="DP-SGD",
                labels={"result": "accuracy"},
            ),
            "results/figures/substitute_dpsgd_accuracy.pdf",
        ],
    log:
        "logs/dpsgd/figures.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("dpsgd_figures"),
    script:
        "../scripts/dpsgd_figures.py"
