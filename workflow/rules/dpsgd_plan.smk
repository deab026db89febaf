# The games that dpsgd.smk plays: data, models, shares, and where each is read from.

DPSGD = config["dpsgd"]
DPSGD_DATA = {data["name"]: data for data in DPSGD["data"]}
DPSGD_MODELS = {model["name"]: model for model in DPSGD["models"]}
DPSGD_SCENARIOS = ["S2", "S3", "S4", "S5"]
DPSGD_SHARES = {f"{q:g}": q for q in DPSGD["participation"]}
# The mechanism but for σ and the clip, which differ by q and by model.
DPSGD_MECHANISM = {key: DPSGD[key] for key in ("checkpoints", "delta", "epsilon")}

for model in DPSGD_MODELS.values():
    if model["data"] not in DPSGD_DATA:
        raise WorkflowError(
            f"dpsgd.models.{model['name']}.data = {model['data']}: "
            f"allowed are {', '.join(DPSGD_DATA)}"
        )
for data in DPSGD_DATA.values():
    need(f"dpsgd.data.{data['name']}.path", data.get("path"), "records to train on")
    for kind, known in (("dataset", DATASETS), ("encoder", ENCODERS)):
        if data.get(kind, next(iter(known))) not in known:
            raise WorkflowError(
                f"dpsgd.data.{data['name']}.{kind} = {data[kind]}: allowed are {', '.join(known)}"
            )


def dpsgd_source(wildcards):
    """The files that one entry of dpsgd.data is read from."""
    data = DPSGD_DATA[wildcards.data]
    if data["source"] == "file":
        return [local(data["path"])]
    if data["source"] == "digits":
        return []
    dataset = data.get("dataset", next(iter(DATASETS)))
    encoder = data.get("encoder", next(iter(ENCODERS)))
    return [
        f"results/{dataset}/records.parquet",
        f"results/{dataset}/embeddings/{encoder}/records.npy",
    ]


def dpsgd_records(wildcards):
    return f"results/dpsgd/{DPSGD_MODELS[wildcards.model]['data']}/records.npz"


wildcard_constraints:
    data="|".join(map(re.escape, DPSGD_DATA)),
    model="|".join(map(re.escape, DPSGD_MODELS)),
    scenario="|".join(DPSGD_SCENARIOS),
    share="|".join(map(re.escape, DPSGD_SHARES)),
