"""What tells the cases of a run apart: the subject fields and parameters that differ among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from gamekit.findings import Measurement, Run
from gamekit.knowledge import Knowledge
from gamekit.knowledge.replicates import case_of
from gamekit.store.load import Record

Label = Mapping[str, str | int | float | bool]


def labels(knowledge: Knowledge) -> Callable[[Record | None], Label]:
    """A function that gives the label of a figure among all of its metric in its run.

    It is empty for what no run measured, and where the run measured the metric once. A field that
    is not known of this figure is left out.
    """
    known: dict[str, dict[str, Label]] = {}

    def label(record: Record | None) -> Label:
        if record is None or record.run is None:
            return {}
        if record.run.id not in known:
            known[record.run.id] = _of_run(knowledge, record.run)
        return known[record.run.id].get(record.id, {})

    return label


def _of_run(knowledge: Knowledge, run: Run) -> dict[str, Label]:
    by_metric: dict[str, dict[str, Label]] = defaultdict(dict)
    for record in knowledge.of_kind("measurement"):
        finding = record.finding
        if record.run is run and isinstance(finding, Measurement):
            by_metric[finding.metric][record.id] = _fields(record.id, finding, run)
    found: dict[str, Label] = {}
    for figures in by_metric.values():
        names = dict.fromkeys(name for fields in figures.values() for name in fields)
        differing = [
            name for name in names if len({fields.get(name) for fields in figures.values()}) > 1
        ]
        for name, fields in figures.items():
            found[name] = {field: fields[field] for field in differing if field in fields}
    return found


def _fields(name: str, finding: Measurement, run: Run) -> Label:
    """The known subject, and the parameters of the case, which has also those left at default."""
    case = case_of(name, run)
    parameters = {} if case is None else case.parameters
    told = {key: value for key, value in parameters.items() if value is not None}
    return {**finding.subject.named(), **finding.subject.parameters, **told}
