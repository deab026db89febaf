# Requires: a Parquet file with a column `text`.
# Makes:    results/{dataset}/embeddings/{encoder}/{texts}.npy  float32, unit rows, in its row order
# A text is embedded once, by its content and the encoder's identity; the store is under
# results/cache.

TEXTS = {
    "records": "results/{dataset}/records.parquet",
    "nonces": "results/{dataset}/nonces.parquet",
    "pool-paraphrase": "results/{dataset}/pools/paraphrase.parquet",
    "pool-nonce": "results/{dataset}/pools/nonce.parquet",
    **{f"bank-{bank}": f"results/{{dataset}}/banks/{bank}.parquet" for bank in BANKS},
    **{f"part-{part}": f"results/{{dataset}}/parts/{part}.parquet" for part in PARTS},
}


rule embed:
    input:
        lambda w: TEXTS[w.texts].format(dataset=w.dataset),
    output:
        embeddings="results/{dataset}/embeddings/{encoder}/{texts}.npy",
        notes="results/{dataset}/embeddings/{encoder}/{texts}.json",
    log:
        "logs/{dataset}/{encoder}/embed-{texts}.log",
    wildcard_constraints:
        texts="|".join(TEXTS),
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores or 2
    resources:
        mem_mb=lambda w, attempt: 6000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        encoder=lambda w: ENCODERS[w.encoder],
        cache="results/cache/embeddings",
        code=code("embed"),
    script:
        "../scripts/embed.py"
