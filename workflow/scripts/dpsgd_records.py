"""Draw the records that a model is trained on, what the auditor has besides, and a test set.

Output: records.npz ({records,auxiliary,test}_{features,labels,rows}, classes), features float32
(records × features), labels the class's position, rows the source's; records.json (counts).
"""

import numpy as np

import dpsgd_features
from artifacts import save_arrays, save_json
from job import job
from pe_core.dpsgd import Examples

with job(snakemake) as log:
    settings = snakemake.params.data
    features = dpsgd_features.load(settings, list(snakemake.input))
    rows = dpsgd_features.split(features, settings, snakemake.params.seed)
    arrays, counts = {"classes": np.int64(len(features.names))}, {}
    for name, chosen in rows.items():
        examples = Examples(features.values[chosen], features.labels[chosen], len(features.names))
        arrays[f"{name}_features"] = examples.features
        arrays[f"{name}_labels"] = examples.labels
        arrays[f"{name}_rows"] = chosen
        found = np.bincount(examples.labels, minlength=examples.classes)
        counts[name] = dict(zip(features.names, found.tolist()))
    save_arrays(snakemake.output.records, **arrays)
    save_json(
        snakemake.output.notes,
        {
            "source": settings["source"],
            "files": list(snakemake.input),
            "features": features.values.shape[1],
            "available": len(features.labels),
            "records_per_class": counts,
        },
    )
    log.info("%s", counts)
