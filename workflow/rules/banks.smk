# Requires: results/{dataset}/records.parquet, public.parquet, and a generator.
# Makes:    results/{dataset}/banks/{bank}.parquet    position, label, text, prompt, seed
#           results/{dataset}/pools/{family}.parquet  canary, index, source, text, ...
#           results/{dataset}/nonces.parquet          canary, record, text: the synthetic canaries
# Generated texts are not reproducible from the seed alone, so they are stored and never made
# again silently: every answer of the generator is cached under results/cache.


rule bank:
    input:
        records="results/{dataset}/records.parquet",
        public="results/{dataset}/public.parquet",
        own=lambda w: own_file(w.dataset, w.bank),
    output:
        bank="results/{dataset}/banks/{bank}.parquet",
        notes="results/{dataset}/banks/{bank}.json",
    log:
        "logs/{dataset}/bank-{bank}.log",
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores or 2
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        generator=config["generator"],
        prompts=lambda w: DATASETS[w.dataset]["prompts"],
        size=config["bank"]["size"],
        seed=config["seed"],
        cache="results/cache/responses",
        code=code("bank"),
    script:
        "../scripts/bank.py"


# One job for all canaries: the generator is started once and kept full.
rule paraphrases:
    input:
        records="results/{dataset}/records.parquet",
        own=lambda w: own_file(w.dataset),
    output:
        pools="results/{dataset}/pools/paraphrase.parquet",
        notes="results/{dataset}/pools/paraphrase.json",
    log:
        "logs/{dataset}/paraphrases.log",
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores or 2
    resources:
        mem_mb=lambda w, attempt: 6000 * attempt,
        runtime=lambda w, attempt: 480 * attempt,
    params:
        generator=config["generator"],
        prompts=lambda w: DATASETS[w.dataset]["prompts"],
        encoder=list(ENCODERS.values())[0],
        canaries=lambda w: family_canaries(w.dataset, "paraphrase"),
        size=config["pool"]["size"],
        seed=config["seed"],
        cache="results/cache/responses",
        code=code("paraphrases"),
    script:
        "../scripts/paraphrases.py"


rule nonces:
    output:
        records="results/{dataset}/nonces.parquet",
        pools="results/{dataset}/pools/nonce.parquet",
    log:
        "logs/{dataset}/nonces.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        canaries=lambda w: family_canaries(w.dataset, "nonce"),
        records=config["canaries"]["records"],
        size=config["pool"]["size"],
        seed=config["seed"],
        code=code("nonces"),
    script:
        "../scripts/nonces.py"
