"""A small, safe language of formulas over finding ids, evaluated over ranges."""

from gamekit.formula.evaluation import (
    Impossible,
    Known,
    Outcome,
    Result,
    UnknownResult,
    Verdict,
    evaluate,
    judge,
)
from gamekit.formula.graph import Ratio, Resolve, Resolved, ResolveRatio, Unknown
from gamekit.formula.parser import parse
from gamekit.formula.tree import Expression

__all__ = [
    "Expression",
    "Impossible",
    "Known",
    "Outcome",
    "Ratio",
    "Resolve",
    "ResolveRatio",
    "Resolved",
    "Result",
    "Unknown",
    "UnknownResult",
    "Verdict",
    "evaluate",
    "judge",
    "parse",
]
