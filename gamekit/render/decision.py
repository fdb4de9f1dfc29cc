"""What the decision's page and section show: the target, levers, options, figures, what is next."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gamekit.analysis import charts, levers, next_steps, options, target
from gamekit.analysis.derived import Derived
from gamekit.formula import Known
from gamekit.knowledge import Knowledge
from gamekit.numbers import span
from gamekit.ranges import Range
from gamekit.render.document import FigureDocument
from gamekit.render.figures import SCHEMES, Chart


class Decision:
    """The analysis behind the decision, made once for all documents."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    @cached_property
    def target(self) -> target.TargetAnswer | None:
        """Whether any drafter can give the target rate."""
        return target.answer(self._knowledge)

    @cached_property
    def options(self) -> list[options.Option]:
        """The published drafters of the target."""
        return options.options(self._knowledge)

    @cached_property
    def levers(self) -> list[levers.Lever]:
        """The levers, all together last."""
        return levers.levers(self._knowledge, self.options)

    @cached_property
    def next_steps(self) -> list[next_steps.NextStep]:
        """What to do now, without what only runs of their own series tell: no document does."""
        return next_steps.next_steps(self._knowledge, of_runs=False)

    @cached_property
    def accuracy(self) -> charts.Accuracy | None:
        """Required accuracy by draft steps."""
        return charts.accuracy(self._knowledge)

    @cached_property
    def throughput(self) -> charts.Throughput | None:
        """Rate against accept length."""
        return charts.throughput(self._knowledge, self.options)

    @cached_property
    def charts(self) -> Mapping[str, Chart]:
        """The figures that can be drawn, by name."""
        found = {
            "throughput": self.throughput,
            "accuracy": self.accuracy,
            "levers": charts.tornado(self._knowledge, self.levers),
        }
        return {name: chart for name, chart in found.items() if chart is not None}

    def figures(self, folder: str) -> list[FigureDocument]:
        """The figures as documents in ``folder``, one a colour scheme."""
        return [
            FigureDocument(f"{folder}/{name}-{scheme}.svg", chart, scheme)
            for name, chart in self.charts.items()
            for scheme in SCHEMES
        ]

    def rounded(self, figure: Derived) -> str:
        """The range with the roundings of the inputs; empty where that is no wider."""
        if not isinstance(figure.rounded, Known) or figure.known is None:
            return ""
        wider = span(figure.rounded.range)
        return "" if wider == span(figure.known) else wider

    def words(self, figure: Derived) -> str:
        """A figure with its unit, and in brackets what the roundings of the inputs make of it."""
        wider = self.rounded(figure)
        return f"{figure.words} ({wider})" if wider else figure.words

    def range(self, figure: Range) -> str:
        """A range in numbers."""
        return span(figure)
