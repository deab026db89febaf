# Makes: results/cache/kernels.json   the compiled kernels stand in Numba's cache
# Nothing depends on it: on one machine the first job of a kind compiles what it needs. Before many
# machines start at once, ask for it by name, on a node of the kind that will run the jobs:
# snakemake --workflow-profile profiles/slurm kernels


# The script is not named after the rule: transformers would import a module `kernels` as its own.
rule kernels:
    output:
        local("results/cache/kernels.json"),
    log:
        "logs/kernels.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code("compile_kernels"),
    script:
        "../scripts/compile_kernels.py"
