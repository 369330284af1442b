"""Quantiles, and summaries of interleaved blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, interpolated between neighbours."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles: one table row about its blocks."""
    return {
        "median": _short(median(values)),
        "q1": _short(quantile(values, 0.25)),
        "q3": _short(quantile(values, 0.75)),
    }


def paired(values: Sequence[float], base: Sequence[float]) -> dict[str, float]:
    """The ratio of two contenders, taken round by round, so that noise of the machine cancels out."""
    return spread([value / other for value, other in zip(values, base, strict=True)])


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def blocks_summary(blocks: Sequence[Sequence[float]]) -> dict[str, Any]:
    """p50 as the median over the blocks' own medians, with its quartiles; p99 and worst over all samples."""
    everything = [value for block in blocks for value in block]
    return {
        "p50": spread([median(block) for block in blocks]),
        "p99": _short(quantile(everything, 0.99)),
        "worst": _short(max(everything)),
        "samples": len(everything),
    }
