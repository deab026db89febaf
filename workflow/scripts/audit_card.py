"""One page an audit: what was audited, what leaks, how sure it is, and why it is not more.

Output: audit-card.html, which needs no other file, no network and no script. It shows numbers of
the tables and of audit.json; no text of a user, of a bank or of a probe.
"""

import math
from pathlib import Path
from typing import Any

import audit_card_evidence as evidence
import audit_card_pictures as pictures
import pages
import population
import style
import tables
from artifacts import load_json, save_text
from audit_card_provenance import made
from audit_card_values import Value, largest
from audits import load_audit
from job import job

# Why a step of the ladder took what it took.
LOSSES = {
    "canary": "because its votes spread thin or fall where the auditor does not look",
    "traffic": "because other users' votes fall on the same entries",
    "estimated weights": "because the auditor only estimates how others vote",
}
PROOFS = {
    "add_remove": "a user is there, or not",
    "substitute_votes": "one of two users, votes never negative",
    "substitute": "one of two users, vectors of any sign",
    "group": "what follows from membership's bound alone",
}
WRITERS = {
    "gguf": "{model}, served on this machine",
    "openai": "{model}, behind an OpenAI-compatible endpoint",
    "file": "none: texts were brought in files",
}


def losses(canary: evidence.Canary | None) -> list[tuple[str, Value]]:
    """Return what hides a canary, as positive numbers; steps that round to nothing are left out."""
    if canary is None:
        return []
    found = []
    for place, step in enumerate(canary.audit["ladder"]):
        if step["step"] in LOSSES and step["change"] <= -0.0005:
            change = canary.step(place, "change")
            positive = Value(-change.number, change.table, "-change", change.row)
            found.append((LOSSES[step["step"]], positive))
    return found


def most_exposed(
    arms: list[evidence.Arm], everyone: list[evidence.Exposed], texts: evidence.Canary | None
) -> Value | None:
    """Return the largest exact ε of real texts, of canaries and of test users."""
    values = [texts.value("epsilon_exact_best")] if texts else []
    return largest([*values, *(group.quantile(1.0) for group in everyone)])


def context(snakemake: Any) -> dict[str, Any]:
    """Return everything that the template shows."""
    files, params = snakemake.input, snakemake.params
    audits = [load_audit(path) for path in files.audits]
    arms = evidence.arms(audits)
    settings = audits[0]["settings"]
    proved = load_json(files.accounting)
    limits = evidence.limits(arms, proved)
    everyone = evidence.exposed(tables.read(files.exposure), tables.read(files.levels))
    questions = evidence.questions(tables.read(files.accounts))
    texts, strings = (evidence.strongest(arms, kind) for kind in (False, True))
    real = most_exposed(arms, everyone, texts)
    leak = largest([v for v in (real, strings and strings.value("epsilon_exact_best")) if v])
    delta = style.power(settings["delta"])
    mechanism = population.mechanism(settings, settings["population"])
    own = pictures.own_curve(mechanism)
    records = [load_json(path) for path in files.records]
    identities = [load_json(path)["identity"] for path in files.encoders]
    return {
        "names": list(dict.fromkeys(arm.dataset for arm in arms)),
        "arms": arms,
        "limits": limits,
        "settings": settings,
        "delta": delta,
        "trials": style.power(settings["trials"]),
        "confidence": f"{100 * (1 - settings['alpha']):g}%",
        "canaries": params.canaries["count"],
        "records": params.canaries["records"],
        "texts": texts,
        "strings": strings,
        "real": real,
        "leak": leak,
        "leak_times": Value(math.exp(leak.number), leak.table, f"exp {leak.column}", leak.row, 1),
        "alarm": texts or strings,
        "bounds": sum(len(arm.attacks) for arm in arms),
        "sure_real": evidence.surest(arms, strings=False),
        "sure_strings": evidence.surest(arms, strings=True),
        "error": error_of(audits),
        "losses": losses(texts),
        "datasets": [
            {**dataset, **dataset["cohorts"], "records": f"{total(notes):,}"}
            for dataset, notes in zip(params.datasets, records, strict=True)
        ],
        "bank": {**params.bank, "share": f"{params.bank['probes'] / params.bank['size']:.1%}"},
        "banks": list(dict.fromkeys(arm.bank for arm in arms)),
        "written": params.generator["source"] != "file",
        "encoders": [
            {**encoder, "identity": identity}
            for encoder, identity in zip(params.encoders, identities, strict=True)
        ],
        "generator": WRITERS[params.generator["source"]].format(**params.generator),
        "attacks": list(dict.fromkeys(attack for arm in arms for attack in arm.attacks)),
        "rounding": tables.ROUNDING,
        "measures": evidence.MEASURES,
        "shape": evidence.SHAPE,
        "measured": [
            (arm, pictures.measured(f"measured-{n}", arm, limits, settings["delta"]))
            for n, arm in enumerate(arms)
        ],
        "gaps": gaps(arms, limits),
        "curves": curves(arms, limits, own),
        "everyone": [
            (group, pictures.exposure(f"everyone-{n}", group, limits, settings["delta"]))
            for n, group in enumerate(everyone)
        ],
        "levels": [f"{level:g}" for level, _ in everyone[0].levels],
        "questions": questions,
        "proofs": PROOFS,
        "swapped": any(
            account.row["name"].endswith(("users", "attribute"))
            for kinds in questions.values()
            for account in kinds["measured"]
        ),
        "made": made(audits, files.audits, files.texts, snakemake.config, params.audit_code),
    }


def total(notes: dict[str, Any]) -> int:
    """Return the records of all cohorts."""
    return sum(cohort["records"] for cohort in notes["cohorts"].values())


def error_of(audits: list[dict[str, Any]]) -> str:
    """Return a power of ten above the relative error of every exact rate."""
    largest_error = max(audit["rates"]["relative_error"] for audit in audits)
    powers = (10.0**exponent for exponent in range(-15, 1))
    return style.power(next(power for power in powers if largest_error < power))


def gaps(arms: list[evidence.Arm], limits: evidence.Limits) -> list[tuple[Any, Any]]:
    """Return the gap of the strongest canary of each kind in each arm."""
    canaries = [arm.strongest(kind) for arm in arms for kind in (False, True)]
    present = [canary for canary in canaries if canary is not None]
    return [(c, pictures.gap(f"gap-{n}", c, limits)) for n, c in enumerate(present)]


def curves(arms: list[evidence.Arm], limits: evidence.Limits, own: Any) -> list[tuple]:
    """Return both pictures of error rates of each arm."""
    found = []
    for n, arm in enumerate(arms):
        kinds = (("texts", arm.strongest(False)), ("strings", arm.strongest(True)))
        drawn = pictures.Curves(own, [(look, canary) for look, canary in kinds if canary], limits)
        where = f"{arm.dataset}, bank {arm.bank}, {arm.encoder}"
        found.append(
            (
                arm,
                pictures.trade_off(f"errors-{n}", where, drawn),
                pictures.rare(f"rare-{n}", where, drawn),
            )
        )
    return found


with job(snakemake) as log:
    template, sheet = (Path(getattr(snakemake.input, name)) for name in ("template", "style"))
    page = pages.rendered(template, sheet, context(snakemake))
    save_text(snakemake.output[0], page)
    log.info("%d characters", len(page))
