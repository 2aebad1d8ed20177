"""Probabilities and quantiles of four distributions: importing scipy.special would take a quarter of a second.

Incomplete beta and gamma functions are continued fractions and series (Abramowitz & Stegun 26.5.8, 6.5.29, 6.5.31);
quantiles are roots of them. Relative errors against scipy are below 1e-8, which is a test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_MOST_TERMS = 100_000
_EXACT = 1e-15

normal_quantile = NormalDist().inv_cdf


def normal_below(z: float) -> float:
    """Return the probability that a standard normal value is below `z`."""
    return erfc(-z / sqrt(2)) / 2


def t_above(t: float, df: float) -> float:
    """Return the probability that Student's t is above `t`, which is at least 0."""
    return _incomplete_beta(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5) / 2


@cache
def t_quantile(p: float, df: float) -> float:
    """Return the value below which Student's t is with probability `p`, which is above 0.5."""
    constant = lgamma((df + 1) / 2) - lgamma(df / 2) - log(df * pi) / 2
    return _root(
        lambda t: 1 - p - t_above(t, df),
        lambda t: exp(constant - (df + 1) / 2 * log1p(t * t / df)),
        (0.0, inf),
        start=normal_quantile(p),
    )


@cache
def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the value below which a beta(`a`, `b`) is with probability `p`."""
    constant = lgamma(a + b) - lgamma(a) - lgamma(b)
    return _root(
        lambda x: _incomplete_beta(x, 1 - x, a, b) - p,
        lambda x: exp(constant + (a - 1) * log(x) + (b - 1) * log1p(-x)),
        (0.0, 1.0),
        start=a / (a + b),
    )


def chi2_quantile(p: float, df: float) -> float:
    """Return the value below which chi-squared is with probability `p`."""
    a = df / 2
    usual = 1 - 1 / (9 * a) + normal_quantile(p) / (3 * sqrt(a))  # Wilson & Hilferty 1931
    return 2 * _root(
        lambda x: _incomplete_gamma(x, a) - p,
        lambda x: exp((a - 1) * log(x) - x - lgamma(a)),
        (0.0, inf),
        start=a * max(usual, 0.1) ** 3,
    )


def _root(
    function: Callable[[float], float], slope: Callable[[float], float], ends: tuple[float, float], *, start: float
) -> float:
    """Return where a rising function is 0 between the ends: Newton's steps, halves where one leaves what is known."""
    low, high = ends
    x = start
    for _ in range(200):
        y = function(x)
        if y == 0:
            break
        low, high = (x, high) if y < 0 else (low, x)
        steep = slope(x)
        new = x - y / steep if steep > 0 else high
        if not low < new < high:
            new = 2 * x if high == inf else (low + high) / 2
        if abs(new - x) <= _EXACT * abs(new):
            return new
        x = new
    return x


def _incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function at x = 1 - y, by Lentz's continued fraction."""
    if x <= 0 or y <= 0:
        return float(y <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(y, x, b, a)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for term in (even, odd):
            c, d = 1 + term / c, 1 / (1 + term * d)
            fraction *= c * d
        if abs(fraction - before) <= _EXACT * abs(fraction):
            break
    return fraction * exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y)) / a


def _incomplete_gamma(x: float, a: float) -> float:
    """Return the regularised lower incomplete gamma function: its series, or above a + 1 the continued fraction."""
    if x <= 0:
        return 0.0
    front = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, _MOST_TERMS):
            term *= x / (a + n)
            total += term
            if term <= _EXACT * total:
                break
        return front * total
    b, c, d = x + 1 - a, inf, 1 / (x + 1 - a)
    fraction = d
    for n in range(1, _MOST_TERMS):
        b += 2
        c, d = b - n * (n - a) / c, 1 / (b - n * (n - a) * d)
        fraction *= c * d
        if abs(c * d - 1) <= _EXACT:
            break
    return 1 - front * fraction
