# What the report shows besides the default's results: whatever was asked for by name and is there.

ASKED_FOR = {
    "results/figures/figure2.svg": [
        "results/figures/figure2.svg",
        "results/candidates.html",
    ],
    "results/figures/substitute_dpsgd.svg": ["results/figures/substitute_dpsgd.svg"],
}


def asked_for():
    """Targets beyond the default's whose results are there."""
    return [
        target
        for sign, targets in ASKED_FOR.items()
        if Path(sign).exists()
        for target in targets
    ]
