"""How the environments of two measurements differ, field by field."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.findings import Environment, Run


@dataclass(frozen=True)
class Difference:
    """A field that both environments know, with other values."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class Comparison:
    """Which known fields differ, which agree, and which only one of the two knows.

    What neither knows is in none of the three.
    """

    differ: tuple[Difference, ...]
    same: tuple[str, ...]
    unknown_before: tuple[str, ...]
    unknown_after: tuple[str, ...]

    def in_words(self) -> str:
        """One sentence part for a reader, such as ``driver 570 → 575; unknown before: boot``."""
        parts = [f"{item.field} {item.before} → {item.after}" for item in self.differ]
        if not self.differ:
            parts.append(
                "nothing that both recorded differs"
                if self.same
                else "no part of the environment is recorded for both"
            )
        if self.unknown_before:
            parts.append(f"unknown before: {', '.join(self.unknown_before)}")
        if self.unknown_after:
            parts.append(f"unknown after: {', '.join(self.unknown_after)}")
        return "; ".join(parts)


def compare(before: Environment, after: Environment) -> Comparison:
    """Compare two environments; packages and variables one by one, as ``packages.torch``."""
    old, new = _flat(before), _flat(after)
    both = [field for field in old if field in new]
    return Comparison(
        differ=tuple(Difference(f, old[f], new[f]) for f in both if old[f] != new[f]),
        same=tuple(field for field in both if old[field] == new[field]),
        unknown_before=tuple(field for field in new if field not in old),
        unknown_after=tuple(field for field in old if field not in new),
    )


def environment_of(run: Run) -> Environment:
    """The environment of a run, with what the engine told of itself where that leaves it open."""
    if run.engine is None:
        return run.environment
    told = {"engine": run.engine.name, "engine_version": run.engine.version}
    known = run.environment.model_dump(include=set(told), exclude_none=True)
    return run.environment.model_copy(update={**told, **known})


def _flat(environment: Environment) -> dict[str, str]:
    flat: dict[str, str] = {}
    for field, value in environment.model_dump(exclude_none=True).items():
        if isinstance(value, dict):
            flat.update((f"{field}.{name}", str(value[name])) for name in sorted(value))
        elif isinstance(value, list):
            flat[field] = ", ".join(map(str, value))
        else:
            flat[field] = str(value)
    return flat
