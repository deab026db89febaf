"""Train one model at one q without the canary, half as many times as a game.

Output: accuracy.json (mean share of test records classified right, one row a checkpoint).
"""

from dataclasses import replace

import dpsgd_settings
from artifacts import save_json
from job import job
from pe_core.dpsgd import accuracy_without

with job(snakemake):
    names = (snakemake.params.model["name"], snakemake.wildcards.share)
    game = dpsgd_settings.game(snakemake.input, snakemake.params, names)
    # As many runs as each hypothesis of a game has; an even number.
    game = replace(game, runs=game.runs // 4 * 2)
    save_json(
        snakemake.output[0],
        {
            "model": snakemake.params.model["name"],
            "participation": game.training.mechanism.participation,
            "runs": game.runs,
            "rows": [
                {"steps": steps, "accuracy": float(share)}
                for steps, share in zip(game.checkpoints, accuracy_without(game))
            ],
        },
    )
