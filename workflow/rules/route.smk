# Requires: embeddings of the records, the bank and the synthetic canaries.
# Makes:    results/{dataset}/{bank}/{encoder}/routes.npz
#               reserved (r,)                      positions that probes will take
#               bank_size                          p
#               method                             exact, or hnsw above config key routing.approximate_above
#               base_recall, base_sampled          hnsw: share of the k nearest found, over so many records
#               nonce_recall, nonce_sampled        hnsw: of the synthetic canaries
#               original_index, _distance (n,k)    every record on the bank as published
#               base_index, _distance (n,k)        every record on the bank without the reserved positions
#               nonce_index, _distance (c·m,k)     synthetic canaries, likewise without


rule route:
    input:
        records="results/{dataset}/embeddings/{encoder}/records.npy",
        bank="results/{dataset}/embeddings/{encoder}/bank-{bank}.npy",
        nonces=(
            "results/{dataset}/embeddings/{encoder}/nonces.npy"
            if "nonce" in FAMILIES
            else []
        ),
    output:
        "results/{dataset}/{bank}/{encoder}/routes.npz",
    log:
        "logs/{dataset}/{bank}/{encoder}/route.log",
    conda:
        "../../envs/environment.yaml"
    threads: 2
    resources:
        # A million entries take 4 GB more: their rows, and a graph of them.
        mem_mb=lambda w, attempt: (4000 + config["bank"]["size"] // 250) * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        votes=config["mechanism"]["votes"],
        probes=config["bank"]["probes"],
        routing=config["routing"],
        seed=config["seed"],
        code=code("route"),
    script:
        "../scripts/route.py"
