"""Every audit of DP-SGD beside what each adjacency's proof allows, one row a checkpoint.

Output: substitute_dpsgd.csv. ε are dimensionless, at the δ of the row. `epsilon_lower` assumes
nothing; `epsilon_if_gdp` assumes that the trade-off curve is Gaussian and may pass ε_S where it is
not; `epsilon_exact` is S1's without trials. Accuracies are shares; S1 has no model and no accuracy.
"""

import polars as pl

import dpsgd_audits
import tables
from artifacts import load_json
from job import job

ADJACENCIES = ("add_remove", "substitute", "group")

with job(snakemake):
    accounts, without = {}, {}
    for path in snakemake.input.accounts:
        account = load_json(path)
        for row in account["rows"]:
            accounts[account["participation"], row["steps"]] = row
    for path in snakemake.input.without:
        found = load_json(path)
        for row in found["rows"]:
            without[found["model"], found["participation"], row["steps"]] = row["accuracy"]
    rows = []
    for path in snakemake.input.audits:
        audit = dpsgd_audits.load(path)
        for row in audit["rows"]:
            allowed = accounts[audit["participation"], row["steps"]]
            rows.append(
                {
                    "model": audit["model"],
                    "scenario": audit["scenario"],
                    "participation": audit["participation"],
                    "steps": row["steps"],
                    "epsilon_lower": row["epsilon_lower"],
                    "epsilon_if_gdp": row["epsilon_if_gdp"],
                    "epsilon_exact": row.get("epsilon_exact"),
                    **{
                        f"epsilon_{adjacency}{end}": allowed[adjacency][key]
                        for adjacency in ADJACENCIES
                        for end, key in (("_low", "low"), ("", "estimate"), ("_high", "high"))
                    },
                    "separation": row["separation"],
                    "mu_lower": row["mu_lower"],
                    "accuracy": row.get("accuracy"),
                    "accuracy_without": without.get(
                        (audit["model"], audit["participation"], row["steps"])
                    ),
                    "cosine": audit["pair"].get("cosine"),
                    "norm_ratio": audit["pair"].get("norm_ratio"),
                    "true_positives": row["counts"]["true_positives"],
                    "present_runs": row["counts"]["present_runs"],
                    "false_positives": row["counts"]["false_positives"],
                    "replaced_runs": row["counts"]["replaced_runs"],
                    "true_positives_if_gdp": row["counts_if_gdp"]["true_positives"],
                    "false_positives_if_gdp": row["counts_if_gdp"]["false_positives"],
                    **{
                        name: audit[name]
                        for name in ("noise_multiplier", "clip", "delta", "alpha", "runs")
                    },
                    "warnings": "; ".join(audit["warnings"]),
                }
            )
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
