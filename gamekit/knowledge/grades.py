"""The grade of a measurement, derived from its source, its samples and the flaws of its run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gamekit.findings import ImportSource, Measurement, Publication, Run, RunSource
from gamekit.knowledge.environments import environment_of
from gamekit.knowledge.steadiness import instabilities_of, speculates
from gamekit.stability import Instability
from gamekit.statistics import mean_interval, relative_half_width
from gamekit.store.load import Record

GradeName = Literal["adequate", "reported", "published", "simulated", "inadequate", "failed"]

ENOUGH_SAMPLES = 5
WIDEST_HALF = 0.10


@dataclass(frozen=True)
class Grade:
    """A grade, and where it is not a good one, why."""

    name: GradeName
    why: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(self.why)}" if self.why else self.name


class Grades:
    """Grades by the rule: adequate are samples that give an interval, of a known engine.

    That is n >= 5 within one server start, a half-width of at most 10 % of the figure, the engine
    identified where there is one, the accept length known where speculation is on, no flaw that
    the benchmark saw itself, and samples of one state: no drift, no second mode, no outlier that
    moves the figure by 5 % or more. What somebody says is reported, unless samples given with it
    are wider than that.
    """

    def __init__(self, records: Mapping[str, Record], runs: Mapping[str, Run]) -> None:
        self._records = records
        self._runs = runs
        self._grades: dict[str, Grade] = {}

    def of(self, record: Record) -> Grade | None:
        """The grade of a measurement; None for every other kind."""
        finding = record.finding
        if not isinstance(finding, Measurement):
            return None
        if record.id not in self._grades:
            self._grades[record.id] = self._graded(record, finding)
        return self._grades[record.id]

    def _graded(self, record: Record, finding: Measurement) -> Grade:
        if isinstance(finding.source, Publication):
            return Grade("published", ("of a subject of others",))
        if not isinstance(finding.source, RunSource):
            return self._told(record, finding)
        run = self._runs[finding.source.run]
        failure = _failure(finding, run)
        if run.engine is not None and run.engine.stand_in:
            why = ("measured on the stand-in engine", *failure, *finding.flaws)
            return Grade("simulated", why)
        if failure:
            return Grade("failed", failure)
        why = (
            *_too_few(finding),
            *self._unidentified(finding, run),
            *finding.flaws,
            *self._unstable(record, finding),
        )
        return Grade("inadequate", why) if why else Grade("adequate")

    def _told(self, record: Record, finding: Measurement) -> Grade:
        """The grade of what no run of gamekit gave."""
        if isinstance(finding.source, ImportSource) and finding.source.stand_in:
            return Grade("simulated", ("measured on the stand-in engine",))
        # Whoever gives samples is held to what they show.
        given = finding.value.samples is not None
        wide = tuple(_too_wide(finding)) if given else ()
        if wide:
            return Grade("inadequate", (*wide, *self._unstable(record, finding)))
        return Grade("reported")

    def instabilities(self, record: Record) -> list[Instability]:
        """What the samples of a measurement show of other states, whatever its size."""
        finding = record.finding
        if not isinstance(finding, Measurement):
            return []
        lengths = None
        if isinstance(finding.source, RunSource):
            lengths = self._accept_lengths(finding, finding.source.run)
        return instabilities_of(finding, lengths)

    def _unstable(self, record: Record, finding: Measurement) -> Iterator[str]:
        for one in self.instabilities(record):
            if one.matters:
                yield f"unstable: {one.in_words(finding.value.unit)}"

    def _unidentified(self, finding: Measurement, run: Run) -> Iterator[str]:
        if run.engine is None:
            # What has a target was served by an engine, whether the run tells of it or not.
            if finding.subject.target is not None:
                yield "the engine is not identified"
        else:
            environment = environment_of(run)
            if environment.engine is None:
                yield "the engine is not identified"
            elif environment.engine_version is None:
                yield "the version of the engine is unknown"
        if speculates(finding.subject) and not self._accept_length_known(finding, run):
            yield "speculation is on and the accept length is unknown"

    def _accept_length_known(self, finding: Measurement, run: Run) -> bool:
        if finding.subject.imposed_accept_length is not None:
            return True
        return any(one.subject == finding.subject for one in self._lengths.get(run.id, ()))

    def _accept_lengths(self, finding: Measurement, run: str) -> Sequence[float] | None:
        """The accept lengths of the same requests, as far as anybody can tell.

        Those of the same case, whose ids differ in the metric alone; else of an equal subject.
        """
        equal = [one for one in self._lengths.get(run, ()) if one.subject == finding.subject]
        of_case = f"{finding.id.removesuffix(f'.{finding.metric}')}.accept_length"
        equal.sort(key=lambda one: one.id != of_case)
        return equal[0].value.samples if equal else None

    @cached_property
    def _lengths(self) -> dict[str, list[Measurement]]:
        """By run, the accept lengths that it measured."""
        lengths: dict[str, list[Measurement]] = defaultdict(list)
        for record in self._records.values():
            finding = record.finding
            if (
                isinstance(finding, Measurement)
                and isinstance(finding.source, RunSource)
                and finding.metric == "accept_length"
                and finding.value.is_known
            ):
                lengths[finding.source.run].append(finding)
        return lengths


def _failure(finding: Measurement, run: Run) -> tuple[str, ...]:
    # What an interrupted run has figures of was finished before.
    if run.outcome == "failed" or (run.outcome == "interrupted" and not finding.value.is_known):
        return (
            f"the run {'failed' if run.outcome == 'failed' else 'was interrupted'}: {run.reason}",
        )
    if finding.value.unknown is not None:
        return (finding.value.unknown,)
    return ()


def _too_few(finding: Measurement) -> Iterator[str]:
    value = finding.value
    if value.sample_count is None:
        yield "the number of samples is unknown"
    elif value.sample_count < ENOUGH_SAMPLES:
        yield f"n = {value.sample_count} of {ENOUGH_SAMPLES}"
    if value.interval in (None, "rounded"):
        if value.sample_count is None or value.sample_count >= ENOUGH_SAMPLES:
            yield "no interval"
        return
    yield from _too_wide(finding)


def _too_wide(finding: Measurement) -> Iterator[str]:
    value = finding.value
    # Of two samples too: what was observed of them is narrower than what they tell.
    figure = value.stated() if value.samples is None else mean_interval(value.samples)
    half = relative_half_width(figure)
    if half > WIDEST_HALF:
        yield f"the interval is ±{half:.0%} wide, more than ±{WIDEST_HALF:.0%}"
