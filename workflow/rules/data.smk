# Requires: the texts of a dataset, from a package or from the user's files.
# Makes:    results/{dataset}/records.parquet   user, record, cohort, label, group, text
#           results/{dataset}/public.parquet    label, text: people who are in no cohort


rule records:
    input:
        # Listed for its time and content: the loader opens it by the path in the options.
        lambda w: local(DATASETS[w.dataset]["options"].get("path", [])),
    output:
        records="results/{dataset}/records.parquet",
        public="results/{dataset}/public.parquet",
        notes="results/{dataset}/records.json",
    log:
        "logs/{dataset}/records.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        dataset=lambda w: DATASETS[w.dataset],
        canary_records=config["canaries"]["records"],
        maximum_records=config["mechanism"]["maximum_records"],
        seed=config["seed"],
        code=code("records"),
    script:
        "../scripts/records.py"
