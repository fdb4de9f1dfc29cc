"""Formulas at a single point, computed by another route than gamekit's."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from gamekit.formula.tree import Call, Negation, Node, Number, Operation, Power, Reference


def exactly(value: float) -> Fraction:
    return Fraction(repr(value))


def plain(node: Node, point: Mapping[str, Fraction]) -> Fraction:  # noqa: C901, PLR0911 - one case a kind of node
    """The value at a point by another route: straight over the tree, with the sums written out."""
    match node:
        case Number(text):
            return Fraction(text)
        case Reference(name):
            return point[name]
        case Negation(operand):
            return -plain(operand, point)
        case Power(base, exponent):
            return plain(base, point) ** exponent
        case Call("min", arguments):
            return min(plain(a, point) for a in arguments)
        case Call("max", arguments):
            return max(plain(a, point) for a in arguments)
        case Call("accept_length", (accuracy, steps)):
            a, k = plain(accuracy, point), int(plain(steps, point))
            if not 0 <= a <= 1:
                raise ArithmeticError
            return sum((a**i for i in range(k + 1)), Fraction(0))
        case Call("accuracy_for", (length, steps)):
            target, k = plain(length, point), int(plain(steps, point))
            if not 1 <= target <= k + 1:
                raise ArithmeticError
            roots = np.roots([1.0] * k + [1.0 - float(target)])
            (root,) = [r.real for r in roots if abs(r.imag) < 1e-7 and -1e-7 <= r.real <= 1 + 1e-7]
            return Fraction(min(max(float(root), 0.0), 1.0))
        case Operation(operators, operands):
            total = plain(operands[0], point)
            for sign, operand in zip(operators, operands[1:], strict=True):
                other = plain(operand, point)
                total = {
                    "+": lambda x, y: x + y,
                    "-": lambda x, y: x - y,
                    "*": lambda x, y: x * y,
                    "/": lambda x, y: x / y,
                }[sign](total, other)
            return total
    raise AssertionError(node)
