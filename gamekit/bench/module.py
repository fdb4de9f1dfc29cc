"""What a benchmark module declares: its name, needs, parameters, metrics, and how it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gamekit.errors import UsageFault
from gamekit.findings import Subject
from gamekit.metrics import METRICS
from gamekit.typed_numbers import any_number, whole_number

if TYPE_CHECKING:
    from gamekit.bench.context import Context

Value = str | int | float | bool | None
# One replicate: a column and its value. A column named like a declared metric is that metric in its
# unit; any other is kept as a raw sample. ``error`` says why the replicate does not count.
Sample = Mapping[str, Any]
ERROR = "error"
# In the table of raw samples, what a row is a part as, where replicates have parts; gamekit's own.
PART = "part"

# No parameter is larger, and a run file holds integers of 64 bits.
_LARGEST = 1e18
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True)
class Replicate:
    """A replicate with parts that depend on each other, such as the requests of one load.

    ``sample`` counts, as one, however many ``parts`` there are. These are kept as raw samples under
    the name ``part``; one with an error is told as a flaw of the figures.
    """

    sample: Sample
    parts: Sequence[Sample]
    part: str = "request"

    def rows(self) -> list[Sample]:
        """All rows of the table of raw samples, the replicate first."""
        return [{PART: None, **self.sample}, *({PART: self.part, **one} for one in self.parts)]


class Needs(StrEnum):
    """What must be there for a benchmark to run at all."""

    NOTHING = "nothing"
    SERVER = "a server"
    TORCH = "torch"
    GPU = "a GPU"
    GPUS = "several GPUs"


@dataclass(frozen=True)
class Parameter:
    """A setting of a benchmark, given as ``--set name=value``; its type is that of ``type``.

    ``unit`` is "1" for a plain number and for a text. A ``default`` of None means not set, unless
    ``default_text`` says what happens then; one of several values is a sweep over them. ``low`` and
    ``high`` are allowed themselves.

    A value that is not the default belongs to the subject of what is measured, so that figures of
    different values never share a series: in the subject's field ``tells`` (else the one of the
    parameter's name) when the benchmark tells it there, else as one of its ``parameters``. Where
    the default is a sweep, every value does. Not so an ``effort``: how much is sampled
    (repetitions, warm-up) says nothing of the figure. What only judges, such as a limit, is
    ``of_metrics``: those alone have it in their subject.
    """

    name: str
    type: type[int] | type[float] | type[str] | type[bool]
    default: Value | tuple[Value, ...]
    description: str
    unit: str = "1"
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    effort: bool = False
    tells: str = ""
    of_metrics: tuple[str, ...] = ()
    default_text: str = ""
    # Parameters that say the same in another way: with one of them it has no default, and a call
    # does not give both.
    unless: tuple[str, ...] = ()
    # Raises UsageFault for a value that nothing can be measured with, such as a file without
    # content: before anything is measured.
    check: Callable[[str], object] | None = None

    @property
    def default_words(self) -> str:
        """The default in words, without its unit."""
        if self.default is None:
            return self.default_text or "not set"
        return ",".join(
            str(value).lower() if self.type is bool else str(value) for value in self.default_values
        )

    @property
    def default_values(self) -> tuple[Value, ...]:
        """What a call that does not set it measures: one value, or those of a sweep."""
        return self.default if isinstance(self.default, tuple) else (self.default,)

    def parse(self, text: str) -> Value:
        """The value that ``text`` stands for. Raises ``UsageFault`` for one that is not allowed."""
        value = self._typed(text)
        if isinstance(value, int | float) and not isinstance(value, bool):
            low = -_LARGEST if self.low is None else self.low
            high = _LARGEST if self.high is None else self.high
            if not low <= value <= high:  # nor is NaN
                raise self._fault(text, self._allowed())
        if self.choices and value not in self.choices:
            raise self._fault(text, self._allowed())
        if self.check is not None:
            self.check(text)
        return value

    def _typed(self, text: str) -> Value:
        if self.type is bool:
            known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
            if text.lower() not in known:
                raise self._fault(text, "give true or false")
            return known[text.lower()]
        if self.type is str and not text:
            raise self._fault(text, "give a text")
        try:
            if self.type is int:
                return whole_number(text)
            return any_number(text) if self.type is float else text
        except ValueError:
            kind = "a whole number" if self.type is int else "a number"
            raise self._fault(text, f"give {kind}") from None

    def _allowed(self) -> str:
        if self.choices:
            return f"choose from: {', '.join(self.choices)}"
        if self.low is not None and self.high is not None:
            return f"give {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"give at least {self.low:g}"
        return "give a number" if self.high is None else f"give at most {self.high:g}"

    def _fault(self, text: str, mend: str) -> UsageFault:
        return UsageFault(f"{self.name}={text} is not allowed ({self.description})", mend=mend)


@dataclass(frozen=True)
class Measures:
    """A metric that a benchmark measures; ``headline`` marks what its run is made for.

    A metric that gamekit does not know (``gamekit.metrics``) needs its unit and what is better.
    """

    metric: str
    headline: bool = False
    unit: str = ""
    better: Literal["higher", "lower", ""] = ""
    convention: str | None = None

    def __post_init__(self) -> None:
        known = METRICS.get(self.metric)
        if known is None and not (self.unit and self.better):
            raise ValueError(
                f"the metric {self.metric} is not one that gamekit knows: declare it as"
                f' Measures("{self.metric}", unit="ms", better="lower"), with the unit and'
                " direction it has"
            )
        if known is not None:
            if (self.unit or known.unit, self.better or known.better) != (known.unit, known.better):
                raise ValueError(f"{self.metric} is in {known.unit} and {known.better} is better")
            object.__setattr__(self, "unit", known.unit)
            object.__setattr__(self, "better", known.better)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: the object that a file in ``benchmarks/`` binds to the name ``BENCHMARK``.

    ``run`` is a generator: it takes a :class:`~gamekit.bench.context.Context` and yields one
    :data:`Sample` or :class:`Replicate` a replicate: between two yields others that are measured
    besides have their turn. Raises ``ValueError`` for a declaration that does not hold together.
    """

    name: str
    description: str
    measures: Sequence[Measures]
    run: Callable[[Context], Iterator[Sample | Replicate]]
    needs: Needs = Needs.NOTHING
    parameters: Sequence[Parameter] = ()
    # Raises UsageFault for parameters that do not fit together, before an engine is started.
    check: Callable[[Mapping[str, Value]], object] | None = None
    file: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the name {self.name!r} is not lower case letters, digits and _")
        if not self.description or "\n" in self.description:
            raise ValueError("the description is one line")
        if not self.measures:
            raise ValueError("it measures nothing: declare at least one metric")
        for what, names in (
            ("parameter", [one.name for one in self.parameters]),
            ("metric", [one.metric for one in self.measures]),
        ):
            if len(set(names)) != len(names):
                raise ValueError(f"a {what} is declared twice")

    @property
    def headlines(self) -> list[Measures]:
        """The metrics that a run is made for: those marked, or all where none is."""
        return [one for one in self.measures if one.headline] or list(self.measures)

    def subject_for(self, metric: str, subject: Subject) -> Subject:
        """``subject`` without the parameters that only other metrics than ``metric`` have."""
        others = {one.name for one in self.parameters if metric not in (one.of_metrics or [metric])}
        kept = {name: x for name, x in subject.parameters.items() if name not in others}
        return subject.model_copy(update={"parameters": kept})

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the benchmark has it."""
        return next((one for one in self.parameters if one.name == name), None)
