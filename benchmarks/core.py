"""Time and memory of the compiled core beside what people would use instead, in one run.

    python benchmarks/core.py            a few minutes, sizes to 10⁵
    python benchmarks/core.py --quick    under a minute
    python benchmarks/core.py --full     adds 10⁶, and says how long that takes

Every ratio compares two times of the same run. On a machine that does other work too, times vary
and ratios less.
"""

import argparse
import time

import core_growth
import core_hnsw
import core_probes
import core_routing
import core_startup
import core_trials
import core_votes

from pe_core import threads

PARTS = (
    core_routing, core_votes, core_hnsw, core_probes, core_trials, core_growth, core_startup
)  # fmt: skip
# Said before a run begins; on two cores that do nothing else.
LASTS = {
    "quick": "This takes under a minute.",
    "default": "This takes a few minutes.",
    "full": "This takes about 20 minutes, a third of them one HNSW build, and 4 GB of memory.",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_const", dest="size", const="quick")
    sizes.add_argument("--full", action="store_const", dest="size", const="full")
    parser.set_defaults(size="default")
    size = parser.parse_args().size
    start = time.perf_counter()
    print(f"{threads.cores()} cores. {LASTS[size]}\n", flush=True)
    for part in PARTS:
        began = time.perf_counter()
        for text in part.tables(size):
            print(text.rstrip(), end="\n\n", flush=True)
        print(f"[{part.__name__}: {time.perf_counter() - began:.0f} s]\n", flush=True)
    print(f"{size}: {time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
