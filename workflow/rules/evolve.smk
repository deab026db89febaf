# Requires: records, the arm's bank, pools and nonces with their embeddings, and a generator.
# Makes, under results/{dataset}/{bank}/{encoder}/evolution:
#   bank.parquet, bank.npy, routes.npz        the first bank without probes
#   {attack}/canary-{canary}/contributions.npz  which probes
#   start/{run}/bank.parquet, bank.npy        the bank published in round 1
#   transcript-{transcript}/{run}/round-{round}/
#       routes.npz, votes.npz                 private: every record's routes, contributions on the probes
#       release.npz                           public: the noisy histogram
#       bank.parquet, bank.npy, round.json    public: the bank that the release led to
#   transcript-{transcript}/{run}/audit.json, utility.json
# and results/tables/evolution.csv, results/tables/candidates.csv, results/figures/figure2.svg, .pdf
# A run is audited (attack and canary), unaudited (no probes) or noiseless (no probes, no noise).
# The job that speaks to the generator reads public files only. One round starts from the files of
# the one before, so what a kill interrupts is one round of one run.


include: "evolve_plan.smk"


rule evolve_bank:
    input:
        bank="results/{dataset}/banks/{bank}.parquet",
        embeddings="results/{dataset}/embeddings/{encoder}/bank-{bank}.npy",
    output:
        bank=f"{EVOLUTION}/bank.parquet",
        embeddings=f"{EVOLUTION}/bank.npy",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/bank.log",
    conda:
        "../../envs/environment.yaml"
    params:
        size=PLAN["size"],
        seed=config["seed"],
        code=code("evolve_bank"),
    script:
        "../scripts/evolve_bank.py"


use rule route as evolve_route with:
    input:
        **{**dict(rules.route.input.items()), "bank": f"{EVOLUTION}/bank.npy"},
    output:
        f"{EVOLUTION}/routes.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/route.log",
    params:
        probes=PLAN["probes"],


use rule probes as evolve_probes with:
    input:
        **{**dict(rules.probes.input.items()), "routes": f"{EVOLUTION}/routes.npz"},
    output:
        f"{EVOLUTION}/{{attack}}/canary-{{canary}}/contributions.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{attack}/probes-{canary}.log",
    params:
        background=lambda w: (
            {
                **evolution_mechanism(),
                **config["evaluation"],
                "trials": None,
                "alpha": None,
            }
            if w.attack.endswith("mu_eff")
            else None
        ),


rule evolve_start:
    input:
        bank=f"{EVOLUTION}/bank.parquet",
        embeddings=f"{EVOLUTION}/bank.npy",
        routes=f"{EVOLUTION}/routes.npz",
        chosen=of_run(f"{EVOLUTION}/{{attack}}/canary-{{canary}}/contributions.npz"),
        records=of_run("results/{dataset}/records.parquet", "exact"),
        record_embeddings=of_run(
            "results/{dataset}/embeddings/{encoder}/records.npy", "exact"
        ),
        pool=of_run("results/{dataset}/pools/{family}.parquet", "paraphrase", "nonce"),
        pool_embeddings=of_run(
            "results/{dataset}/embeddings/{encoder}/pool-{family}.npy",
            "paraphrase",
            "nonce",
        ),
    output:
        bank=f"{EVOLUTION}/start/{{run}}/bank.parquet",
        embeddings=f"{EVOLUTION}/start/{{run}}/bank.npy",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{run}/start.log",
    conda:
        "../../envs/environment.yaml"
    params:
        probed=lambda w: probed(w.run),
        code=code("evolve_start"),
    script:
        "../scripts/evolve_start.py"


# The private half of a round.
rule evolve_release:
    input:
        records="results/{dataset}/records.parquet",
        record_embeddings="results/{dataset}/embeddings/{encoder}/records.npy",
        nonces=of_run("results/{dataset}/nonces.parquet", "nonce"),
        nonce_embeddings=of_run(
            "results/{dataset}/embeddings/{encoder}/nonces.npy", "nonce"
        ),
        bank=lambda w: before("bank.parquet", w),
        embeddings=lambda w: before("bank.npy", w),
        routes=lambda w: (
            f"{EVOLUTION}/routes.npz".format(**w)
            if w.round == "1"
            else before("routes.npz", w)
        ),
    output:
        routes=f"{ROUND}/routes.npz",
        votes=f"{ROUND}/votes.npz",
        release=f"{ROUND}/release.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{transcript}/{run}/release-{round}.log",
    conda:
        "../../envs/environment.yaml"
    threads: 2
    resources:
        mem_mb=lambda w, attempt: 6000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        mechanism=lambda w: evolution_mechanism(noiseless=w.run == "noiseless"),
        probed=lambda w: probed(w.run),
        seed=config["seed"],
        code=code("evolve_release"),
    script:
        "../scripts/evolve_release.py"


# The public half of a round: no file of the users is among its inputs.
rule evolve_round:
    input:
        bank=lambda w: before("bank.parquet", w),
        embeddings=lambda w: before("bank.npy", w),
        release=f"{ROUND}/release.npz",
        public="results/{dataset}/public.parquet",
    output:
        bank=f"{ROUND}/bank.parquet",
        embeddings=f"{ROUND}/bank.npy",
        notes=f"{ROUND}/round.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{transcript}/{run}/round-{round}.log",
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores or 2
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        generator=config["generator"],
        prompts=lambda w: DATASETS[w.dataset]["prompts"],
        encoder=lambda w: ENCODERS[w.encoder],
        rules={
            **{
                name: PLAN[name]
                for name in (
                    "keep",
                    "selection",
                    "feedback",
                    "high",
                    "low",
                    "together",
                    "attempts",
                )
            },
            "threshold": PLAN["threshold"]
            * PLAN["noise_multiplier"]
            * config["mechanism"]["clip"],
        },
        seed=config["seed"],
        cache="results/cache",
        code=code("evolve_round"),
    script:
        "../scripts/evolve_round.py"


rule evolve_account:
    output:
        "results/accounting-evolution.json",
    log:
        "logs/account-evolution.log",
    conda:
        "../../envs/environment.yaml"
    params:
        mechanism=evolution_mechanism(),
        rounds=PLAN["rounds"],
        code=code("evolve_account"),
    script:
        "../scripts/evolve_account.py"


rule evolve_audit:
    input:
        votes=each_round(f"{ROUND}/votes.npz"),
        accounting="results/accounting-evolution.json",
    output:
        f"{RUN}/audit.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{transcript}/{run}/audit.log",
    conda:
        "../../envs/environment.yaml"
    threads: 2
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        mechanism=evolution_mechanism(),
        evaluation={**config["evaluation"], "trials": PLAN["trials"]},
        probed=lambda w: probed(w.run),
        canaries=PLAN["canaries"],
        seed=config["seed"],
        code=code("evolve_audit"),
    script:
        "../scripts/evolve_audit.py"


rule evolve_utility:
    input:
        records="results/{dataset}/records.parquet",
        record_embeddings="results/{dataset}/embeddings/{encoder}/records.npy",
        reserved=f"{EVOLUTION}/routes.npz",
        banks=[f"{EVOLUTION}/start/{{run}}/bank.parquet"]
        + each_round(f"{ROUND}/bank.parquet"),
        embeddings=[f"{EVOLUTION}/start/{{run}}/bank.npy"]
        + each_round(f"{ROUND}/bank.npy"),
        votes=each_round(f"{ROUND}/votes.npz"),
    output:
        f"{RUN}/utility.json",
    log:
        "logs/{dataset}/{bank}/{encoder}/evolution/{transcript}/{run}/utility.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        reference=PLAN["reference"],
        resamples=PLAN["resamples"],
        seed=config["seed"],
        code=code("evolve_utility"),
    script:
        "../scripts/evolve_utility.py"


rule evolution:
    input:
        audits=lambda w: runs(f"{RUN}/audit.json", audited=True),
        utilities=lambda w: runs(f"{RUN}/utility.json"),
    output:
        csv=report(
            "results/tables/evolution.csv",
            caption="../report/evolution.rst",
            category="Several rounds",
            labels={"result": "every run and round"},
        ),
        provenance="results/tables/evolution.provenance.json",
    log:
        "logs/evolution.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("evolution"),
    script:
        "../scripts/evolution.py"


rule candidates:
    input:
        banks=lambda w: [before("bank.parquet", release) for release in releases()],
        releases=lambda w: [
            f"{ROUND}/release.npz".format(**release) for release in releases()
        ],
    output:
        csv="results/tables/candidates.csv",
        provenance="results/tables/candidates.provenance.json",
    log:
        "logs/candidates.log",
    conda:
        "../../envs/environment.yaml"
    params:
        rounds=lambda w: releases(),
        show_private=PLAN["show_private_texts"],
        code=code("candidates"),
    script:
        "../scripts/candidates.py"


rule figure2:
    input:
        table="results/tables/evolution.csv",
        candidates="results/tables/candidates.csv",
    output:
        svg=report(
            "results/figures/figure2.svg",
            caption="../report/figure2.rst",
            category="Several rounds",
            labels={"result": "Figure 2: usefulness and ε"},
        ),
        pdf="results/figures/figure2.pdf",
    log:
        "logs/figure2.log",
    conda:
        "../../envs/environment.yaml"
    params:
        delta=config["mechanism"]["delta"],
        trials=PLAN["trials"],
        code=code("figure2"),
    script:
        "../scripts/figure2.py"
