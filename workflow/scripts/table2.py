"""The largest bound of each attack's canaries, as the paper's Table 2.

Output: table2.csv, one row a dataset, bank, encoder and attack; ε are dimensionless.
"""

import polars as pl

from artifacts import writing
from audits import load_audit
from job import job

with job(snakemake):
    rows = []
    best: dict[tuple[str, ...], dict] = {}
    for path in snakemake.input:
        audit = load_audit(path)
        key = tuple(audit[name] for name in ("dataset", "bank", "encoder", "attack"))
        # Ties go to the first canary.
        if key not in best or audit["epsilon"]["lower"] > best[key]["epsilon"]["lower"]:
            best[key] = audit
    for audit in best.values():
        rows.append(
            {
                **{name: audit[name] for name in ("dataset", "bank", "encoder", "attack")},
                "epsilon_lower": audit["epsilon"]["lower"],
                "canary": audit["canary"],
                "separation": audit["separation"],
                "norm_ratio": audit["norm_ratio"],
                "votes_on_inspected": audit["votes_on_inspected"] / audit["votes"],
                "epsilon_theory": audit["epsilon"]["epsilon_theory"],
            }
        )
    with writing(snakemake.output[0]) as path:
        pl.DataFrame(rows).write_csv(path, float_precision=6)
