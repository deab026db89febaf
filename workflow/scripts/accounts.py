"""What the proofs allow, by adjacency, beside what the attacks measured, and which question each
answers.

Output: accounts.csv, one row an account or an attack. Of an account, `epsilon` lies between the two
certified ends `epsilon_low` and `epsilon_high`. Of an attack on the first bank and encoder,
`epsilon` is the largest exact ε of its canaries or pairs, and `epsilon_low` the largest lower bound
by trials, valid for all of them together.
"""

import polars as pl

import contracts
import tables
from artifacts import load_json
from audits import load_audit
from job import job

MEMBERSHIP, SWAP = "Was this user in?", "Which of two was in?"
ACCOUNTS = {
    "add_remove": (
        MEMBERSHIP,
        "Bounds how well anyone can tell that an eligible user was absent or not; it does not "
        "bound telling two users, or two versions of one, apart.",
    ),
    "substitute_votes": (
        SWAP,
        "Bounds how well anyone can tell which of two users, or of two versions of one user's "
        "records, was in, as long as contributions are votes and so never negative.",
    ),
    "substitute": (
        SWAP,
        "Bounds the same for contributions of any sign; what a library answers for replace-one.",
    ),
    "group": (
        SWAP,
        "What add/remove alone implies for the same: one removal and one addition; valid, and far "
        "from tight.",
    ),
}
ATTACKS = {
    MEMBERSHIP: "Measured: an auditor who runs this attack tells whether the canary was in.",
    "users": "Measured: an auditor who runs this attack tells which of two users was in.",
    "attribute": "Measured: an auditor who runs it tells a user from the same with other records.",
}


def measured(audits: list[dict], kind: str, question: str) -> list[dict]:
    """Return a row for every data set and attack."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for audit in audits:
        groups.setdefault((audit["dataset"], audit["attack"]), []).append(audit["epsilon"])
    return [
        {
            "question": question,
            "source": "measured",
            "dataset": dataset,
            "name": f"{attack}, {kind}" if kind in ("users", "attribute") else attack,
            "epsilon_low": max(each["lower"] for each in found),
            "epsilon": max(each["exact_best"] for each in found),
            "epsilon_high": None,
            "obtained": "epsilon: exact, best threshold; low: trials",
            "answers": ATTACKS[kind],
        }
        for (dataset, attack), found in groups.items()
    ]


with job(snakemake):
    accounts = load_json(snakemake.input.adjacency)
    proved = [
        {
            "question": question,
            "source": "proved",
            "dataset": None,
            "name": name,
            "epsilon_low": accounts[name]["low"],
            "epsilon": accounts[name]["estimate"],
            "epsilon_high": accounts[name]["high"],
            "obtained": "certified accountant",
            "answers": answers,
        }
        for name, (question, answers) in ACCOUNTS.items()
    ]
    swaps = [contracts.load(path, "swap_audit") for path in snakemake.input.swaps]
    rows = [
        *proved,
        *measured([load_audit(path) for path in snakemake.input.audits], MEMBERSHIP, MEMBERSHIP),
        *(
            row
            for kind in ("users", "attribute")
            for row in measured([swap for swap in swaps if swap["kind"] == kind], kind, SWAP)
        ),
    ]
    # One question after the other, the proofs first; a stable sort.
    table = pl.DataFrame(rows, infer_schema_length=None).sort(
        pl.col("question") != MEMBERSHIP, maintain_order=True
    )
    tables.save(snakemake, table, snakemake.output.csv)
