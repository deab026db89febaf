# Requires: routes and embeddings.
# Makes:    results/{dataset}/{bank}/{encoder}/{attack}/canary-{canary}/contributions.npz
#               the chosen probes, and every user's contribution on the inspected positions
# Only the mu_eff attacks look at the mechanism here, since they weigh probes by the background;
# all others keep their contributions when q or σ change.


rule probes:
    input:
        records="results/{dataset}/records.parquet",
        record_embeddings="results/{dataset}/embeddings/{encoder}/records.npy",
        nonces=branch(
            lambda w: w.attack.startswith("nonce"),
            then="results/{dataset}/nonces.parquet",
        ),
        nonce_embeddings=branch(
            lambda w: w.attack.startswith("nonce"),
            then="results/{dataset}/embeddings/{encoder}/nonces.npy",
        ),
        pool=lambda w: of_pool(w, f"results/{w.dataset}/pools/{{family}}.parquet"),
        pool_embeddings=lambda w: of_pool(
            w, f"results/{w.dataset}/embeddings/{w.encoder}/pool-{{family}}.npy"
        ),
        routes="results/{dataset}/{bank}/{encoder}/routes.npz",
    output:
        f"{CELL}/contributions.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/{attack}/probes-{canary}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        clip=config["mechanism"]["clip"],
        votes=config["mechanism"]["votes"],
        population=lambda w: DATASETS[w.dataset]["cohorts"]["test"],
        background=lambda w: (
            {
                **config["mechanism"],
                **config["evaluation"],
                "trials": None,
                "alpha": None,
            }
            if w.attack.endswith("mu_eff")
            else None
        ),
        seed=config["seed"],
        code=code("probes"),
    script:
        "../scripts/probes.py"
