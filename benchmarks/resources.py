"""Memory and time of every rule, from the logs of a run.

    python benchmarks/resources.py [FOLDER]

Every job's log ends with its seconds and its peak of memory. The table has, by rule, how many jobs
left a log, the longest, the largest, and what rule files ask for at the first attempt, in FOLDER
(default: here) or in any folder a run was made in.
"""

import re
import sys
from pathlib import Path

from measure import table

ROOT = Path(__file__).resolve().parents[1]
ENDED = re.compile(r"rule (\w+): ([\d.]+) s, (\d+) MB at most$", re.MULTILINE)
RULE = re.compile(r"^rule (\w+):\n((?: .*\n|\n)*)", re.MULTILINE)
USED = re.compile(r"^use rule (\w+) as (\w+) with:", re.MULTILINE)


def asked(resource: str) -> dict[str, int]:
    """Return what each rule asks for at its first attempt: MB or minutes."""
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    number = re.compile(rf"{resource}=lambda w, attempt: (\d+) \* attempt")
    found = {rule: number.search(body) for rule, body in RULE.findall(text)}
    first = {rule: int(match[1]) for rule, match in found.items() if match}
    return first | {new: first[old] for old, new in USED.findall(text) if old in first}


def main(folder: Path) -> None:
    jobs: dict[str, list[tuple[float, int]]] = {}
    for log in sorted((folder / "logs").rglob("*.log")):
        for rule, seconds, memory in ENDED.findall(log.read_text()):
            jobs.setdefault(rule, []).append((float(seconds), int(memory)))
    if not jobs:
        sys.exit(f"{folder}/logs: no job has ended here")
    memories, minutes = asked("mem_mb"), asked("runtime")
    rows = [
        [
            rule,
            len(ended),
            max(seconds for seconds, _ in ended),
            max(memory for _, memory in ended),
            memories.get(rule, "profile's"),
            minutes.get(rule, "profile's"),
        ]
        for rule, ended in sorted(jobs.items())
    ]
    header = ["rule", "jobs", "longest, s", "peak MB", "asked MB", "asked minutes"]
    print(table(f"{sum(map(len, jobs.values())):,} jobs", header, rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
