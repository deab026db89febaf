"""What an ideal attack can be expected to prove, and the trials that a wanted ε takes.

Output: planning.json and planning.csv, one row a question: the expected bound at a number of
trials, or the trials (under each hypothesis) needed for an ε, empty with a note where no number of
them is enough. No cell is needed, so that it can be asked before anything is run.
"""

import polars as pl

import population
import tables
from artifacts import save_json
from job import job
from pe_core import InputError, planning
from pe_core.best import best_epsilon, ideal_test

with job(snakemake):
    settings, wanted = snakemake.params.evaluation, snakemake.params.planning
    # The population does not enter: an ideal attack meets no traffic.
    mechanism = population.mechanism(snakemake.params.mechanism, 1)
    tail = settings["alpha"] / (4 * snakemake.params.canaries)
    test, delta = ideal_test(mechanism), mechanism.delta
    rows = [
        {
            "question": "expected bound",
            "trials": ceiling.trials,
            "epsilon": ceiling.expected,
            "obtained": "expected of an ideal attack",
            "note": "",
        }
        for ceiling in planning.ceilings(test, wanted["trials"], delta, tail)
    ]
    for epsilon in wanted["epsilons"]:
        trials, note = None, ""
        try:
            trials = planning.trials_needed(test, epsilon, delta, tail)
        except InputError as error:
            note = str(error)
        rows.append(
            {
                "question": "trials needed",
                "trials": trials,
                "epsilon": epsilon,
                "obtained": "wanted of an ideal attack",
                "note": note,
            }
        )
    save_json(
        snakemake.output.json,
        {
            "mechanism": snakemake.params.mechanism,
            "tail": tail,
            "epsilon_exact": best_epsilon(test, delta).epsilon,
            "rows": rows,
        },
    )
    table = pl.DataFrame(rows, infer_schema_length=None)
    tables.save(snakemake, table.rename({"epsilon": "epsilon_ceiling"}), snakemake.output.csv)
