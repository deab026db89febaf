from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/banks.smk"
include: "workflow/rules/embed.smk"
include: "workflow/rules/route.smk"
include: "workflow/rules/probes.smk"


if PARTS:

    include: "workflow/rules/shards.smk"


include: "workflow/rules/account.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/kernels.smk"
include: "workflow/rules/sweep.smk"
include: "workflow/rules/swap.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/planning.smk"
include: "workflow/rules/evolve.smk"
include: "workflow/rules/dpsgd_plan.smk"
include: "workflow/rules/dpsgd.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        expand(
            "results/tables/{table}.{kind}",
            table=[*FOR_PEOPLE, *swap_tables()],
            kind=["csv", "md", "tex"],
        ),
        expand(
            "results/figures/{figure}.{kind}",
            figure=[
                "attacks",
                "gap",
                "exposure",
                "delta",
                "trade_off",
                "figure1",
                "accounts",
            ],
            kind=["svg", "pdf"],
        ),
        "results/audit-card.html",


# What `make report` shows: all of the above, and what was asked for by name and is there.
rule reported:
    input:
        rules.all.input,
        "results/tables.html",
        asked_for(),
