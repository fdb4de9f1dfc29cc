"""What the plan's sections list: which series, models, claims and numbers, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gamekit import numbers
from gamekit.analysis import approaches, claims, conclusions, gates
from gamekit.analysis.claims import ClaimResult
from gamekit.analysis.derived import relation
from gamekit.findings import Claim, Measurement, Model, Review, Series, Unknown
from gamekit.formula import Known
from gamekit.knowledge import Knowledge, SeriesView
from gamekit.render import markdown
from gamekit.render.markdown import Markdown
from gamekit.render.view import View
from gamekit.store.load import Record

# What the machine at hand measured of itself, what a stand-in gave and what failed are not part of
# the plan: it must not change with the machine that renders it.
_NOT_IN_PLAN = ("simulated", "failed")
_REFUSED = {"superseded", "disputed", "retracted", "unreproduced"}
_COMPARED = {
    "role": "role",
    "architecture": "architecture",
    "parameters": "parameters",
    "quantization": "quantization",
    "layers": "layers",
    "hidden_size": "hidden size",
    "intermediate_size": "intermediate size",
    "attention_heads": "attention heads",
    "fc_shape": "fc projection",
    "draft_vocab_size": "draft vocabulary",
    "drafts_for": "drafts for",
    "samples_trained": "samples trained on",
    "trained_on": "trained on",
}
_SHAPES = ("layers", "hidden_size", "intermediate_size", "draft_vocab_size")


@dataclass(frozen=True)
class SeriesRows:
    """A series and those of its members that stand, the newest first."""

    series: Record
    members: list[Record]


@dataclass(frozen=True)
class Gone:
    """A measurement that must not be quoted any more, why, and what stands instead."""

    record: Record
    why: str
    instead: list[str]


@dataclass(frozen=True)
class PublishedRow:
    """The figures that others published for one drafter, target and chain."""

    subject: Mapping[str, Any]
    count: int
    lowest: Record
    highest: Record


class PlanContent:
    """The lists behind the plan's sections. Order and choice follow from the findings alone."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._knowledge = view.knowledge

    def series(self, *, of: Iterable[str] = (), without: Iterable[str] = ()) -> list[SeriesRows]:
        """Curated series that have a figure to show; ``of`` and ``without`` name metrics."""
        rows = []
        for record in self._knowledge.of_kind("series"):
            series = record.finding
            assert isinstance(series, Series)  # noqa: S101 - asked for by kind
            if record.run is not None or series.metric in without:
                continue
            if of and series.metric not in of:
                continue
            members = _shown(self._knowledge, self._knowledge.series(record.id))
            if members:
                rows.append(SeriesRows(record, members))
        return rows

    def shifts(self) -> list[dict[str, Any]]:
        """Series whose current figure disagrees with the one before, and what follows from both."""
        shifted = []
        for record in self._knowledge.of_kind("series"):
            shift = self._knowledge.series(record.id).shifted
            if shift is None or record.run is not None:
                continue
            changed = conclusions.under_both(self._knowledge, record.id)
            shifted.append(
                {
                    "series": record,
                    "before": shift.before,
                    "after": shift.after,
                    "change": "" if shift.change is None else numbers.percent(shift.change.mid),
                    "direction": "better" if shift.better else "worse",
                    "environments": shift.environments.in_words(),
                    "claims": [
                        {
                            "id": change.after.record.id,
                            "before": _outcome(change.before),
                            "after": _outcome(change.after),
                            "turns": change.verdict_changes or change.side_changes,
                        }
                        for change in changed.claims
                        if change.after.record.run is None
                    ],
                    "gates": changed.gates,
                }
            )
        return shifted

    def claims(self, *verdicts: str) -> list[Claim]:
        """Claims with one of ``verdicts``, in the order of files and lines."""
        found = []
        for record in self._knowledge.of_kind("claim"):
            assert isinstance(record.finding, Claim)  # noqa: S101 - asked for by kind
            result = claims.evaluate(self._knowledge, record.id)
            if result.verdict in verdicts and not self._of_others(result):
                found.append(record.finding)
        return found

    def _of_others(self, result: ClaimResult) -> bool:
        """Whether it was computed from published figures, or those of other hosts, alone.

        Then it says nothing of the host that the plan is about.
        """
        if result.stated is not None or not isinstance(result.computed, Known):
            return False
        leaves = result.computed.leaves
        grades = [self._knowledge.grade(leaf) for leaf in leaves]
        if grades and all(one is not None and one.name == "published" for one in grades):
            return True
        hosts = {self._knowledge.host(leaf) for leaf in leaves}
        return self._own_host is not None and bool(hosts) and not hosts & {self._own_host, None}

    @cached_property
    def _own_host(self) -> str | None:
        """The host that the plan is about: that of its baseline."""
        model = self._knowledge.config.model
        if model is None:
            return None
        series = self._view.finding(model.baseline)
        return series.match.host if isinstance(series, Series) else None

    def explanation(self, name: str) -> str:
        """One sentence that says how a claim comes to its verdict."""
        return claims.evaluate(self._knowledge, name).explanation

    def outcome(self, result: ClaimResult) -> str:
        """What a claim came to: its figure, and its verdict where somebody stated one."""
        return _outcome(result)

    def stated(self, name: str) -> str:
        """The figure that a claim's author gave, with its unit; nothing where nobody gave one."""
        finding = self._view.finding(name)
        assert isinstance(finding, Claim)  # noqa: S101 - templates ask for claims
        return "" if finding.stated is None else self._view.quantity_text(finding.stated)

    def relation(self, one: str, other: str) -> str:
        """How a figure lies to another: below, above, not clearly apart from, or unknown against.

        Over stated ranges; ranges that meet are not apart.
        """
        return relation(self._knowledge.figure(one).known, self._knowledge.figure(other).known)

    def approaches(self) -> list[approaches.Placed]:
        """Open approaches in the order to take them."""
        return list(approaches.order(self._knowledge).open)

    def gates(self, name: str) -> list[gates.GateResult]:
        """The gates of an approach, evaluated."""
        return gates.evaluate(self._knowledge, name)

    def gone(self) -> list[Gone]:
        """Measurements that were superseded, disputed, retracted or not reproduced.

        Those of other hosts are on the site alone: nobody quotes them for this one.
        """
        rows = []
        for record in self._knowledge.oldest_first(self._knowledge.of_kind("measurement")):
            standing = self._knowledge.standing(record.id)
            grade = self._knowledge.grade(record.id)
            if grade is not None and grade.name in _NOT_IN_PLAN:
                continue
            hosts = {self._own_host, self._knowledge.host(record.id)} - {None}
            if self._own_host is not None and len(hosts) > 1:
                continue
            if _REFUSED & set(standing.statuses):
                reasons = [
                    review.finding.reason
                    for review in standing.reviews
                    if isinstance(review.finding, Review)
                ]
                why = standing.why_not or (reasons[-1] if reasons else "later runs disagree")
                rows.append(Gone(record, why, standing.superseded_by))
        return rows

    def compared_models(self) -> list[Model]:
        """The models whose shapes are recorded, targets first: what a comparison can be made of."""
        shaped = [
            model
            for model in self._models()
            if any(getattr(model, field) is not None for field in _SHAPES)
        ]
        return sorted(shaped, key=lambda model: model.role != "target")

    def _models(self) -> list[Model]:
        findings = [record.finding for record in self._knowledge.of_kind("model")]
        return [finding for finding in findings if isinstance(finding, Model)]

    def comparison(self) -> list[tuple[str, list[Markdown]]]:
        """Rows of the architecture table: a label and each model's value."""
        models = self.compared_models()
        rows = []
        for field, label in _COMPARED.items():
            values = [getattr(model, field) for model in models]
            if any(value is not None for value in values):
                rows.append((label, [self._model_value(field, value) for value in values]))
        return rows

    def _model_value(self, field: str, value: object) -> Markdown:
        if value is None:
            return Markdown("-")
        if isinstance(value, Unknown):
            return Markdown("*unknown*")
        if field == "drafts_for":
            return self._view.name(str(value))
        if isinstance(value, int) and field == "samples_trained":
            return markdown.inline(f"{value:,}".replace(",", " "))
        return markdown.cell(str(value))

    def published(self, metric: str) -> list[PublishedRow]:
        """What others published of ``metric`` for the recorded models, by target and chain."""
        models = {model.name for model in self._models()}
        groups: dict[tuple[Any, ...], list[Record]] = {}
        for record in self._knowledge.of_kind("measurement"):
            finding = record.finding
            assert isinstance(finding, Measurement)  # noqa: S101 - asked for by kind
            grade = self._knowledge.grade(record.id)
            if grade is None or grade.name != "published" or finding.metric != metric:
                continue
            subject = finding.subject
            # An imposed accept length says how the engine drew, and nothing of the drafter.
            if subject.drafter not in models or subject.acceptance == "imposed":
                continue
            key = (
                subject.drafter,
                subject.target,
                subject.steps,
                subject.topk,
                subject.draft_tokens,
            )
            groups.setdefault(key, []).append(record)
        rows = []
        for records in groups.values():
            ranked = sorted(records, key=lambda record: (_mid(record), record.id))
            finding = ranked[0].finding
            assert isinstance(finding, Measurement)  # noqa: S101 - as above
            rows.append(
                PublishedRow(finding.subject.model_dump(), len(ranked), ranked[0], ranked[-1])
            )
        return rows


def _outcome(result: claims.ClaimResult) -> str:
    """What a claim came to, in a few words: its figure, its verdict where somebody stated one."""
    if not isinstance(result.computed, Known):
        return result.verdict
    text = numbers.with_unit(numbers.span(result.computed.range), result.unit)
    return text if result.stated is None else f"{text}, {result.verdict}"


def _shown(knowledge: Knowledge, view: SeriesView) -> list[Record]:
    members = []
    for record in reversed(view.members):
        grade = knowledge.grade(record.id)
        refused = _REFUSED & set(knowledge.standing(record.id).statuses)
        # What is refused is told once, among the superseded numbers.
        if not refused and (grade is None or grade.name not in _NOT_IN_PLAN):
            members.append(record)
    return members


def _mid(record: Record) -> float:
    finding = record.finding
    assert isinstance(finding, Measurement)  # noqa: S101 - published figures are measurements
    return finding.value.stated().mid if finding.value.is_known else float("inf")
