"""Train the auditor's reference model and choose the canary pairs of S2 to S5 on it.

Output: canaries.npz (start_{layer}: θ₀; {S3,S4,S5}_{features,labels}: z and z′); canaries.json
(S2's coordinate, cosines and norm ratios, dimensionless; how far the reference converged).
"""

import numpy as np

import dpsgd_settings
from artifacts import save_arrays, save_json
from job import job
from pe_core.dpsgd import (
    Examples,
    Network,
    adversarial,
    crafted,
    least_moved,
    mislabelled,
    train_reference,
)
from pe_core.dpsgd.canaries import check_canary
from pe_core.seeds import generator

with job(snakemake) as log:
    model, canary = snakemake.params.model, snakemake.params.canary
    data = dpsgd_settings.examples(snakemake.input.records)
    records, auxiliary = data["records"], data["auxiliary"]
    check_canary(records, canary)
    network = Network(records.features.shape[1], records.classes, tuple(model["hidden"]))
    start = network.start(generator(snakemake.params.seed, "dpsgd", model["name"], "start"))
    # The auditor knows every record but the one in question.
    known = np.delete(np.arange(records.count), canary)
    reference = train_reference(
        start,
        Examples(records.features[known], records.labels[known], records.classes),
        model["reference"]["learning_rate"],
        model["optimizer"],
        model["reference"]["steps"],
    )
    warnings = []
    if not reference.converged:
        warnings.append(
            f"the reference model did not converge: its mean gradient is still "
            f"{reference.gradient_norm:.3g} of what it was; raise reference.steps or learning_rate"
        )
        log.warning("%s", warnings[-1])
    coordinate = least_moved(reference)
    pairs = {
        "S3": crafted(reference, records, canary, auxiliary),
        "S4": mislabelled(reference, records, canary),
        "S5": adversarial(reference, records, canary, auxiliary),
    }
    arrays = {f"start_{number}": layer for number, layer in enumerate(start)}
    notes = {
        "S2": {
            "layer": coordinate.layer,
            "index": coordinate.index,
            "movement": coordinate.movement,
        }
    }
    for scenario, pair in pairs.items():
        arrays[f"{scenario}_features"], arrays[f"{scenario}_labels"] = pair.features, pair.labels
        notes[scenario] = {"cosine": pair.cosine, "norm_ratio": pair.norm_ratio}
    save_arrays(snakemake.output.canaries, **arrays)
    save_json(
        snakemake.output.notes,
        {
            "pairs": notes,
            "weights": network.size,
            "reference": {
                "gradient_norm": reference.gradient_norm,
                "converged": reference.converged,
            },
            "warnings": warnings,
        },
    )
    log.info("%s", notes)
