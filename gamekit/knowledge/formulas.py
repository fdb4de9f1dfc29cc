"""The formulas of findings, parsed once each, and the claims that name claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gamekit.errors import FormulaError
from gamekit.findings import Claim
from gamekit.formula import Expression, parse
from gamekit.formula.tree import Comparison, Reference
from gamekit.knowledge.references import Path, formulas_of, unit_of
from gamekit.store.load import Record


class Formulas:
    """Parsed formulas by finding and place, and the faults of those that do not parse."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._records = records
        self.faults: list[FormulaError] = []
        self._parsed: dict[str, dict[Path, Expression]] = {}
        for record in records.values():
            for path, text in formulas_of(record.finding):
                try:
                    expression = _of_its_kind(record, path, parse(text))
                    self._require_one_unit(expression)
                except FormulaError as error:
                    self.faults.append(placed(error, record, path))
                else:
                    self._parsed.setdefault(record.id, {})[path] = expression

    def _require_one_unit(self, expression: Expression) -> None:
        """Raises ``FormulaError`` for two figures compared that are in different units.

        What is computed on a side has a unit that its formula does not tell.
        """
        compared = expression.root
        if not isinstance(compared, Comparison):
            return
        sides = [side.id for side in (compared.left, compared.right) if isinstance(side, Reference)]
        units = [unit_of(self._records[name].finding) for name in sides if name in self._records]
        if len(units) == 2 and None not in units and units[0] != units[1]:
            raise FormulaError(
                f"predicate: it compares {sides[0]} in {units[0]} with {sides[1]} in {units[1]}",
                mend="compare figures of one unit",
            )

    def get(self, name: str, *path: str | int) -> Expression:
        """The formula of finding ``name`` at ``path``."""
        return self._parsed[name][path]

    def named_by(self, name: str) -> Iterator[tuple[Path, str]]:
        """The ids that the formulas of finding ``name`` name, with the place of the formula."""
        for path, expression in self._parsed.get(name, {}).items():
            for target in expression.references:
                yield path, target

    def claims_named(self) -> dict[str, list[str]]:
        """By claim, the claims that its own formula is computed from."""
        return {
            record.id: [
                target
                for path, target in self.named_by(record.id)
                if path == ("formula",) and self._is_claim(target)
            ]
            for record in self._records.values()
            if isinstance(record.finding, Claim)
        }

    def _is_claim(self, name: str) -> bool:
        return name in self._records and isinstance(self._records[name].finding, Claim)


def placed(error: FormulaError, record: Record, path: Path) -> FormulaError:
    """``error`` with the file, line and finding of the formula."""
    return FormulaError(
        error.message,
        file=record.file,
        line=record.line_of(*path),
        finding=record.id,
        mend=error.mend,
    )


def _of_its_kind(record: Record, path: Path, expression: Expression) -> Expression:
    if isinstance(record.finding, Claim) and expression.is_predicate:
        raise FormulaError(
            f"{path[-1]}: the formula of a claim is a figure, and this one compares two",
            mend="write the difference or the ratio of the two sides",
        )
    if not isinstance(record.finding, Claim) and not expression.is_predicate:
        raise FormulaError(
            "predicate: a gate compares two figures, and this is one",
            mend="write such as '[probe] >= [break-even]'",
        )
    return expression
