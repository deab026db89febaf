"""The pictures of the page: measured and allowed ε, the gap, error rates, everyone's exposure."""

import numpy as np

from audit_card_evidence import MEASURES, Arm, Canary, Exposed, Limits
from audit_card_svg import SIZE, WIDTH, Axis, Picture
from pe_core import best
from pe_core.linear_test import Rates
from style import power

# Where the plot begins beside the names of attacks, and beside those of steps.
NAMES, STEPS_WIDTH = 122.0, 166.0
RIGHT = WIDTH - 8.0
# Rarer false alarms than this say nothing at δ of use.
RARE = 1e-6
BINS = 40
# The largest multiple of false alarms that is drawn.
HIGHEST = 1000.0
MARKS = dict(zip(MEASURES, (("counted", "circle"), ("fixed", "square"), ("best", "diamond"))))
# What a step takes off: a name that fits beside a bar, and who or what it is owed to.
STEPS = {
    "mechanism": ("the mechanism itself", "own"),
    "canary": ("budget unused or unseen", "hidden"),
    "traffic": ("other users' votes", "hidden"),
    "estimated weights": ("background only estimated", "unknown"),
    "calibrated threshold": ("threshold fixed in advance", "unknown"),
    "expected": ("price of counting", "counting"),
    "realised": ("luck of these trials", "counting"),
}


def _limit_lines(picture: Picture, axis: Axis, limits: Limits, top: float, bottom: float) -> None:
    """Draw what trials can show and what the proofs allow across an ε axis, with their names."""
    ceiling, tight, paper = (
        axis(each.number) for each in (limits.ceiling, limits.tight, limits.paper)
    )
    picture.line("ceiling", (ceiling, top), (ceiling, bottom))
    picture.line("tight", (tight, top), (tight, bottom))
    picture.line("paper", (paper, top), (paper, bottom))
    # Names share a line where they have room, else the ceiling's stands above.
    apart = abs(paper - ceiling) > 80.0
    picture.text("ceiling", ceiling, top - (4 if apart else 4 + SIZE), "middle", "tick")
    picture.text("allowed", min(tight, RIGHT - 16), top - 4, "middle", "tick")


def measured(name: str, arm: Arm, limits: Limits, delta: float) -> Picture:
    """Draw every attack's largest ε by each way of measuring, under what is allowed."""
    rows = len(arm.attacks)
    top, step = 2 * SIZE + 8, 24.0
    bottom = top + step * rows
    text = "; ".join(
        f"{attack}: " + ", ".join(f"{arm.most(attack, column)}" for column in MEASURES)
        for attack in arm.attacks
    )
    picture = Picture(
        name,
        f"ε measured and allowed: {arm.dataset}, bank {arm.bank}, {arm.encoder}",
        f"Largest ε of each attack's canaries by trials, exact at the calibrated threshold, and "
        f"exact at the best threshold. {text}. Allowed: {limits.tight}; "
        f"ceiling of trials: {limits.ceiling}.",
        bottom + 2 * SIZE + 16,
    )
    axis = Axis(0.0, limits.reach, NAMES, RIGHT)
    picture.across(axis, bottom, top, f"ε of one release at δ = {power(delta)}")
    _limit_lines(picture, axis, limits, top, bottom)
    for row, attack in enumerate(arm.attacks):
        at = top + step * (row + 0.5)
        ends = [axis(arm.most(attack, column).number) for column in MEASURES]
        picture.text(attack, NAMES - 8, at + 4, "end")
        picture.line("range", (min(ends), at), (max(ends), at))
        for end, (look, shape) in zip(ends, MARKS.values(), strict=True):
            picture.mark(look, shape, end, at)
    return picture


def gap(name: str, canary: Canary, limits: Limits) -> Picture:
    """Draw the staircase from the mechanism's ε to the bound that the trials gave."""
    audit, steps = canary.audit, canary.audit["ladder"]
    top, step = 2 * SIZE + 8, 21.0
    bottom = top + step * (len(steps) + 1)
    text = "; ".join(
        f"{STEPS[each['step']][0]}: {canary.step(place)}" for place, each in enumerate(steps)
    )
    picture = Picture(
        name,
        f"Where ε was lost: {audit['dataset']}, bank {audit['bank']}, {audit['encoder']}, "
        f"{audit['attack']}, canary {audit['canary']}",
        f"ε that is left after each step. {text}.",
        bottom + 2 * SIZE + 16,
    )
    axis = Axis(0.0, limits.reach, STEPS_WIDTH, RIGHT - 34)
    picture.across(axis, bottom, top, "ε")
    _limit_lines(picture, axis, limits, top, bottom)
    above = 0.0
    for row, each in enumerate(steps):
        label, owed = STEPS[each["step"]]
        below = each["epsilon"]
        at = top + step * row
        look = f"{owed} up" if row and below > above else owed
        picture.box(look, axis(above), at + 3, axis(below) - axis(above), step - 6)
        # The riser keeps a step of no width in sight.
        picture.line("riser", (axis(below), at + 3), (axis(below), at + step + 3))
        picture.text(label, STEPS_WIDTH - 8, at + step / 2 + 4, "end")
        picture.text(canary.step(row), WIDTH - 2, at + step / 2 + 4, "end")
        above = below
    at = top + step * (len(steps) + 0.5)
    picture.text("proven by trials", STEPS_WIDTH - 8, at + 4, "end", "strong")
    picture.mark("counted", "circle", axis(above), at)
    picture.text(canary.value("epsilon_lower"), WIDTH - 2, at + 4, "end", "strong")
    return picture


def _allowed(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest FNR that (ε, δ) allows at each FPR."""
    fpr = np.concatenate([[0.0], np.geomspace(RARE, 1.0, 121)])
    fnr = np.maximum(1.0 - delta - np.exp(epsilon) * fpr, np.exp(-epsilon) * (1.0 - delta - fpr))
    return fpr, np.maximum(fnr, 0.0)


class Curves:
    """The curves of one arm: what ε_theory allows, the mechanism's own, the strongest canaries."""

    def __init__(self, own: Rates | None, canaries: list[tuple[str, Canary]], limits: Limits):
        delta = canaries[0][1].audit["settings"]["delta"]
        self.drawn = [("paper", *_allowed(limits.paper.number, delta))]
        if own is not None:
            kept = np.unique(np.linspace(0, len(own.fpr) - 1, 161).round().astype(int))
            self.drawn.append(("own-curve", own.fpr[kept], own.fnr[kept]))
        self.points = []
        for look, canary in canaries:
            curve, rates = canary.audit["trade_off"], canary.audit["rates"]
            self.drawn.append((look, np.array(curve["fpr"]), np.array(curve["fnr"])))
            self.points.append((look, rates["fpr"], rates["tpr"], rates["fnr"]))


def trade_off(name: str, where: str, curves: Curves) -> Picture:
    """Draw the share of missed canaries against the share of false alarms."""
    left, top, side = 40.0, 2 * SIZE, 300.0
    picture = Picture(
        name,
        f"Missed canaries against false alarms: {where}",
        "The nearer a curve is to the lower left corner, the better the auditor tells. The "
        "diagonal is guessing.",
        top + side + 2 * SIZE + 16,
    )
    x, y = Axis(0.0, 1.0, left, left + side), Axis(0.0, 1.0, top + side, top)
    picture.across(x, top + side, top, "false alarms, canary absent (probability)")
    picture.up(y, left, left + side, "missed, canary in (probability)")
    picture.line("guess", (x(0.0), y(1.0)), (x(1.0), y(0.0)))
    for look, fpr, fnr in curves.drawn:
        picture.line(look, *((x(a), y(b)) for a, b in zip(fpr.tolist(), fnr.tolist())))
    for look, fpr, _, fnr in curves.points:
        picture.mark(f"{look} point", "square", x(fpr), y(fnr))
    return picture


def _multiples(fpr: np.ndarray, fnr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates at which false alarms are not too rare, and true over false alarms there."""
    kept = (fpr >= RARE) & (fnr < 1.0)
    multiple = (1.0 - fnr[kept]) / fpr[kept]
    within = multiple <= HIGHEST
    return fpr[kept][within], multiple[within]


def rare(name: str, where: str, curves: Curves) -> Picture:
    """Draw how many times likelier an alarm is with the canary, where false alarms are rare."""
    left, top, width, height = 40.0, 2 * SIZE, 300.0, 300.0
    picture = Picture(
        name,
        f"Alarms with the canary in, as a multiple of false alarms: {where}",
        "Both axes are logarithmic. The logarithm of the multiple is an ε; the dashed line is what "
        "the proof allows.",
        top + height + 2 * SIZE + 16,
    )
    seen = [_multiples(fpr, fnr) for _, fpr, fnr in curves.drawn]
    highest = min(1.1 * max(multiple.max(initial=1.0) for _, multiple in seen), HIGHEST)
    x = Axis(RARE, 1.0, left, left + width, log=True)
    y = Axis(0.9, max(highest, 2.0), top + height, top, log=True)
    picture.across(
        x, top + height, top, "false alarms, canary absent (probability)",
        [power(tick) if tick < 1.0 else "1" for tick in x.ticks()],
    )  # fmt: skip
    picture.line("frame", (left, top), (left, top + height))
    for multiple in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if multiple <= y.high:
            picture.line("grid", (left, y(multiple)), (left + width, y(multiple)))
            picture.text(f"{multiple}×", left - 5, y(multiple) + 4, "end", "tick")
    picture.text("alarms with the canary in ÷ false alarms", 0.0, top - 8, look="label")
    for (look, _, _), (fpr, multiple) in zip(curves.drawn, seen, strict=True):
        picture.line(look, *((x(a), y(b)) for a, b in zip(fpr.tolist(), multiple.tolist())))
    for look, fpr, tpr, _ in curves.points:
        if fpr >= RARE:
            picture.mark(f"{look} point", "square", x(fpr), y(tpr / fpr))
    return picture


def exposure(name: str, group: Exposed, limits: Limits, delta: float) -> Picture:
    """Draw how many users have how large an exact ε."""
    left, top, height = 34.0, 3 * SIZE + 8, 150.0
    bottom = top + height
    counts, edges = np.histogram(group.epsilon, np.linspace(0.0, limits.reach, BINS + 1))
    picture = Picture(
        name,
        f"Everyone's exposure: {group.dataset}, bank {group.bank}, {group.encoder}, {group.attack}",
        f"Histogram of the exact ε of {len(group.epsilon)} test users. Median "
        f"{group.quantile(0.5)}, largest {group.quantile(1.0)}.",
        bottom + 2 * SIZE + 16,
    )
    x = Axis(0.0, limits.reach, left, RIGHT)
    y = Axis(0.0, 1.12 * max(int(counts.max()), 4), bottom, top)
    picture.across(x, bottom, top, f"exact ε of a user at δ = {power(delta)}")
    whole = [tick for tick in y.ticks() if tick == int(tick)]
    for tick in whole:
        picture.line("grid", (left, y(tick)), (RIGHT, y(tick)))
        picture.text(f"{tick:g}", left - 5, y(tick) + 4, "end", "tick")
    picture.line("frame", (left, top), (left, bottom))
    picture.text("users", 0.0, SIZE, look="label")
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist()):
        if count:
            picture.box("users", x(low) + 0.4, y(count), x(high) - x(low) - 0.8, bottom - y(count))
    _limit_lines(picture, x, limits, top, bottom)
    most = x(max(group.epsilon))
    picture.mark("best", "diamond", most, bottom - 7)
    return picture


def own_curve(mechanism) -> Rates | None:
    """Return the mechanism's own trade-off curve; None without noise, where there is none."""
    if mechanism.noise_multiplier == 0.0:
        return None
    return best.trade_off(best.ideal_test(mechanism), RARE)[1]
