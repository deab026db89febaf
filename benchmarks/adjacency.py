"""Check the theorem of docs/adjacency.md by numbers: no pair of votes is worse than the orthogonal.

    python benchmarks/adjacency.py            half a minute
    python benchmarks/adjacency.py --pairs N  more of them

First line: the greatest excess of H_γ over the orthogonal pair's, among random norms, angles up
to 90°, q, σ and γ (of either side of 1); it must not be above rounding. Second line: the same for
all angles against the antipodal pair. Then: dF/dΣ₁₂ by finite differences over the formula.
"""

import argparse

import numpy as np
from scipy.special import expit

SPACING = 0.05


def divergence(gram: np.ndarray, q: float, gamma: float) -> float:
    """H_γ from the Gram matrix of (v, v′) in units of σC, as a lattice sum in the plane."""
    values, vectors = np.linalg.eigh(gram)
    # Rows are v and v′ in coordinates of their span.
    v, other = vectors * np.sqrt(np.maximum(values, 0.0))
    x = np.arange(-8.0 - 3.0, 8.0 + 3.0, SPACING)
    x, y = x, x[:, None]
    normal = np.exp(-0.5 * (x * x + y * y)) / (2 * np.pi)
    first = np.exp(x * v[0] + y * v[1] - v @ v / 2)
    second = np.exp(x * other[0] + y * other[1] - other @ other / 2)
    inside = q * first - gamma * q * second + (1 - gamma) * (1 - q)
    return float((normal * np.maximum(inside, 0.0)).sum() * SPACING**2)


def excess(rng: np.random.Generator, pairs: int, widest: float, corner: float) -> float:
    worst = -np.inf
    for _ in range(pairs):
        q, mu = rng.uniform(0.01, 1.0), 1.0 / rng.uniform(0.5, 4.0)
        gamma = np.exp(rng.uniform(-2.0, 2.0))
        a, b = mu * rng.uniform(0.0, 1.0, 2)
        inner = a * b * np.cos(rng.uniform(0.0, widest))
        found = divergence(np.array([[a * a, inner], [inner, b * b]]), q, gamma)
        limit = divergence(mu * mu * np.array([[1.0, corner], [corner, 1.0]]), q, gamma)
        worst = max(worst, found - limit)
    return worst


def slope_ratio(q: float, gamma: float, width: float = 0.05) -> float:
    """Finite difference of a smoothed F in Σ₁₂ over −q²γ·E[h″·L₁L₂], at a 60° pair of norm 1."""
    x = np.arange(-11.0, 11.0, SPACING)
    x, y = x, x[:, None]
    normal = np.exp(-0.5 * (x * x + y * y)) / (2 * np.pi) * SPACING**2

    def ratios(inner: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first = np.exp(x - 0.5) + 0 * y
        second = np.exp(inner * x + np.sqrt(1 - inner**2) * y - 0.5)
        return first, second, (q * first - gamma * q * second + (1 - gamma) * (1 - q)) / width

    def smooth(inner: float) -> float:
        u = ratios(inner)[2]
        return float((normal * width * np.logaddexp(0.0, u)).sum())

    first, second, u = ratios(0.5)
    curvature = expit(u) * expit(-u) / width
    formula = -(q**2) * gamma * float((normal * curvature * first * second).sum())
    return (smooth(0.5 + 1e-4) - smooth(0.5 - 1e-4)) / 2e-4 / formula


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1000)
    pairs = parser.parse_args().pairs
    rng = np.random.default_rng(1)
    print(f"votes, {pairs} pairs: greatest excess {excess(rng, pairs, np.pi / 2, 0.0):.2e}")
    print(f"any vectors, {pairs} pairs: greatest excess {excess(rng, pairs, np.pi, -1.0):.2e}")
    for q, gamma in ((0.1, 1.0), (0.3, 2.0), (0.9, 0.7)):
        print(f"slope at q = {q}, γ = {gamma}: difference / formula = {slope_ratio(q, gamma):.6f}")


if __name__ == "__main__":
    main()
