"""The same formula multiplied out, so that what stands in it twice can cancel before it is bounded.

[a]/[a] becomes 1 and ([a] - [b])/[b] becomes [a]/[b] - 1: sums of products of powers of what
cannot be taken apart (variables, calls, divisors that are sums). Where multiplying out would grow
large the part stays as it is.
"""

from __future__ import annotations

from fractions import Fraction

from gamekit.errors import FormulaError
from gamekit.formula import exact
from gamekit.formula.graph import Graph, Step
from gamekit.formula.intervals import Interval

MAX_TERMS = 48
MAX_EXPONENT = 64

# Powers of atoms (places in the new graph), in ascending order, to the factor before them.
_Product = tuple[tuple[int, int], ...]
_Sum = dict[_Product, Fraction]


def multiplied_out(
    graph: Graph, output: int, limits: dict[int, Interval]
) -> tuple[Graph, int] | None:
    """A graph of the same function with its output; None where it outgrows the limits.

    It has a value wherever the original has one; where the original has none it may have one still.
    """
    try:
        simplifier = _Simplifier(graph, limits)
        return simplifier.graph, simplifier.place(output)
    except (exact.NoValue, FormulaError):
        return None


class _Simplifier:
    def __init__(self, graph: Graph, limits: dict[int, Interval]) -> None:
        self.graph = Graph(variables=graph.variables)
        self._source = graph
        self._limits = limits
        self._sums: dict[int, _Sum] = {}

    def place(self, output: int) -> int:
        """The place in the new graph of what stands at ``output`` in the old one."""
        for place in self._source.needed_for(output):
            self._sums[place] = self._sum(place)
        return self._written(self._sums[output])

    def _sum(self, place: int) -> _Sum:  # noqa: PLR0911 - one case an operation
        low, high = self._limits.get(place, (0.0, 1.0))
        if low == high:
            return _constant(Fraction(low))
        operation, arguments, constant, number = self._source.steps[place]
        sums = [self._sums[argument] for argument in arguments]
        match operation:
            case "constant":
                return _constant(constant)
            case "variable":
                return self._atom(Step("variable", number=number))
            case "add":
                return _added(sums[0], sums[1])
            case "negate":
                return {product: -factor for product, factor in sums[0].items()}
            case "multiply":
                return self._multiplied(sums[0], sums[1])
            case "divide":
                return self._divided(sums[0], sums[1])
            case "power":
                return self._raised(sums[0], number)
            case "min" | "max" if sums[0] == sums[1]:
                return sums[0]
        return self._opaque(operation, sums)

    def _atom(self, step: Step) -> _Sum:
        place = self.graph.put(step)
        if self.graph.steps[place].operation == "constant":
            return _constant(self.graph.steps[place].constant)
        return {((place, 1),): Fraction(1)}

    def _opaque(self, operation: str, sums: list[_Sum], number: int = 0) -> _Sum:
        return self._atom(Step(operation, tuple(map(self._written, sums)), number=number))

    def _multiplied(self, left: _Sum, right: _Sum) -> _Sum:
        if len(left) * len(right) > MAX_TERMS:
            return self._opaque("multiply", [left, right])
        result: _Sum = {}
        for product, factor in left.items():
            for other, by in right.items():
                exponents = dict(product)
                for atom, exponent in other:
                    exponents[atom] = exponents.get(atom, 0) + exponent
                if any(abs(exponent) > MAX_EXPONENT for exponent in exponents.values()):
                    return self._opaque("multiply", [left, right])
                joint = tuple(sorted(item for item in exponents.items() if item[1] != 0))
                result = _added(result, {joint: exact.apply("multiply", [factor, by])})
        return result

    def _divided(self, above: _Sum, below: _Sum) -> _Sum:
        if not below:
            raise exact.NoValue("division by 0")
        quotient = self._exact_quotient(above, below)
        if quotient is not None:
            return quotient
        # One atom for all multiples of a sum, so that they cancel against each other.
        leading = below[min(below)]
        unit = {product: factor / leading for product, factor in below.items()}
        return self._multiplied(above, {((self._written(unit), -1),): 1 / leading})

    def _exact_quotient(self, above: _Sum, below: _Sum) -> _Sum | None:
        """``above / below`` where the division of polynomials leaves no remainder."""
        atoms = sorted({atom for product in [*above, *below] for atom, _ in product})

        def order(product: _Product) -> list[int]:
            exponents = dict(product)
            return [exponents.get(atom, 0) for atom in atoms]

        leading = max(below, key=order)
        inverse = {tuple((atom, -exponent) for atom, exponent in leading): 1 / below[leading]}
        quotient: _Sum = {}
        remainder = above
        for _ in range(MAX_TERMS):
            if not remainder:
                return quotient
            # Each round takes away the leading product; where none divides, they never end.
            first = max(remainder, key=order)
            term = self._multiplied({first: remainder[first]}, inverse)
            quotient = _added(quotient, term)
            taken = self._multiplied(term, below)
            remainder = _added(remainder, {p: -factor for p, factor in taken.items()})
            if len(remainder) > MAX_TERMS:
                break
        return None

    def _raised(self, base: _Sum, exponent: int) -> _Sum:
        if len(base) ** exponent > MAX_TERMS:
            return self._opaque("power", [base], exponent)
        result = _constant(Fraction(1))
        for _ in range(exponent):
            result = self._multiplied(result, base)
        return result

    def _written(self, total: _Sum) -> int:
        put = self.graph.put
        place: int | None = None
        for product, factor in sorted(total.items()):
            term = self.graph.constant(factor)
            for atom, exponent in product:
                power = (
                    atom
                    if abs(exponent) == 1
                    else put(Step("power", (atom,), number=abs(exponent)))
                )
                term = put(Step("multiply" if exponent > 0 else "divide", (term, power)))
            place = term if place is None else put(Step("add", (place, term)))
        return self.graph.constant(Fraction(0)) if place is None else place


def _constant(value: Fraction) -> _Sum:
    return {(): value} if value != 0 else {}


def _added(left: _Sum, right: _Sum) -> _Sum:
    result = dict(left)
    for product, factor in right.items():
        total = result.get(product, Fraction(0)) + factor
        if total == 0:
            del result[product]
        else:
            result[product] = total
    return result
