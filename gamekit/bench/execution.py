"""One execution of one benchmark: steps through its cases and becomes a run with its findings."""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gamekit import __version__
from gamekit.bench.capture import Capture, capture_state
from gamekit.bench.context import Context, Progress
from gamekit.bench.engine_facts import EngineFacts
from gamekit.bench.module import ERROR, Benchmark, Sample, Value
from gamekit.bench.redact import Redactor
from gamekit.bench.results import case_findings, checked_sample, line
from gamekit.bench.series import Joined, join, told_by_series
from gamekit.bench.subject import Told
from gamekit.errors import GamekitError, UsageFault
from gamekit.findings import Case, Environment, Finding, Run, Series, Subject
from gamekit.store.append import append_run
from gamekit.store.load import Base
from gamekit.store.plain import plain
from gamekit.store.record import RunRecord, failed_findings, new_run_id, utc_text
from gamekit.store.spool import Beginning, Spool, columns


@dataclass(frozen=True)
class Setup:
    """What all executions of one call have in common."""

    root: Path | None
    base: Base | None
    command: list[str]
    redactor: Redactor
    told: Told
    series: Mapping[str, Series]
    host: str | None
    append: bool
    progress: Progress


@dataclass
class _CaseInHand:
    number: int
    context: Context
    samples: Generator[Sample, None, None]
    rows: list[dict[str, Any]] = field(default_factory=list)
    spooled: Subject | None = None


class Execution:
    """A run in the making. ``step`` takes one sample; ``finish`` makes the record, and writes it.

    A fault of the benchmark or of the engine ends the run as failed. A ``UsageFault`` before the
    first sample is raised instead: nothing was measured, and the user can mend it.
    """

    def __init__(
        self,
        setup: Setup,
        benchmark: Benchmark,
        engine: EngineFacts | None,
        cases: Sequence[Mapping[str, Value]],
        capture: Capture,
    ) -> None:
        self.benchmark = benchmark
        self._setup = setup
        self._engine = engine
        self._cases = cases
        self._environment, self._state = surroundings(engine, capture)
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._done: list[_CaseInHand] = []
        self._now: _CaseInHand | None = None
        self._failure: tuple[str, str] | None = None  # outcome and reason
        self._subjects = [self._context(parameters).subject for parameters in cases]
        self.joined: list[Joined] = []
        self._spool: Spool | None = None
        if setup.append and setup.root is not None:
            self._spool = Spool(setup.root, self._beginning())
        self.run_id = (
            self._spool.run_id
            if self._spool is not None
            else new_run_id(benchmark.name, self._started)
        )

    @property
    def failed(self) -> bool:
        """Whether the run has failed: then it takes no further step."""
        return self._failure is not None

    def begin_case(self, number: int) -> None:
        """Begin the case of that number, unless the run has failed."""
        if self.failed:
            return
        context = self._context(self._cases[number])
        self._now = _CaseInHand(number, context, self._samples(context))

    def step(self) -> bool:
        """Take one sample of the case begun; False when the case, or the run, is over."""
        case = self._now
        if case is None or self.failed:
            return False
        try:
            sample = next(case.samples, None)
            if sample is not None:
                self._take(case, sample)
                return True
        except UsageFault as error:
            if not case.rows and not self._done:
                raise
            self.fail("failed", str(error))
        except GamekitError as error:
            self.fail("failed", str(error))
        except Exception as error:
            self.fail("failed", self._told(error))
        else:
            self._done.append(case)
            self._now = None
        return False

    def fail(self, outcome: str, reason: str) -> None:
        """End the run as failed or interrupted; what was sampled stays as raw samples."""
        if self._failure is None:
            self._failure = (outcome, self._setup.redactor.text(reason)[:5000])
        if self._now is not None:
            self._done.append(self._now)
            self._now = None

    def finish(self) -> RunRecord:
        """The record of the run; under ``--append`` its run file is written."""
        state_after = capture_state()
        cases = [self._case(case) for case in self._done]
        if self._failure is None:
            self._judge()
        record = self._record(cases, state_after)
        if self._spool is not None and self._setup.root is not None:
            record = append_run(self._setup.root, record)
            self._spool.remove()
        return record

    def close(self) -> None:
        """Give up the spool's lock: what is unfinished becomes a failed run at the next append."""
        for case in (*self._done, *([self._now] if self._now else [])):
            case.samples.close()
        if self._spool is not None:
            self._spool.close()

    def discard(self) -> None:
        """Forget the run: it was refused before it measured anything."""
        if self._spool is not None:
            self._spool.remove()

    def _context(self, parameters: Mapping[str, Value]) -> Context:
        metrics = {one.metric for one in self.benchmark.measures}
        series = {name: one for name, one in self._setup.series.items() if name in metrics}
        sources = [self._setup.told, *told_by_series(series)]
        if self._engine is not None:
            sources.append(self._engine.told)
        # The host of an engine elsewhere is not this one.
        if self._setup.host is not None and (self._engine is None or self._engine.is_local):
            sources.append(Told("this machine", hints={"host": self._setup.host}))
        return Context(
            self.benchmark,
            parameters,
            self._engine,
            sources,
            self._setup.root,
            self._setup.progress,
        )

    def _samples(self, context: Context) -> Generator[Sample, None, None]:
        # Begun by the first step, where whatever goes wrong in it is caught.
        yield from self.benchmark.run(context) or ()

    def _take(self, case: _CaseInHand, sample: Sample) -> None:
        row = self._setup.redactor.data(checked_sample(self.benchmark, sample))
        if not case.rows:
            self._check_series(case, row)
        case.rows.append(row)
        if self._spool is None:
            return
        if case.spooled != case.context.subject:
            case.spooled = case.context.subject
            self._spool.event(
                "case",
                case=case.number,
                parameters=self._setup.redactor.data(case.context.parameters),
                subject=case.spooled.model_dump(exclude_none=True),
            )
        self._spool.event("sample", case=case.number, values=row)

    def _check_series(self, case: _CaseInHand, row: Mapping[str, Any]) -> None:
        """Refuse what cannot be put into a series while nothing but one sample would be lost."""
        for measures in self.benchmark.measures:
            if row.get(measures.metric) is not None:
                join(
                    measures,
                    case.context.subject,
                    self._setup.base,
                    self._setup.series,
                    self.run_id,
                )

    def _judge(self) -> None:
        """A run in which no replicate gave a headline metric measured nothing: it has failed."""
        rows = [row for case in self._done for row in case.rows]
        names = [one.metric for one in self.benchmark.headlines]
        if any(row.get(name) is not None and not row.get(ERROR) for row in rows for name in names):
            return
        errors = [str(row[ERROR]) for row in rows if row.get(ERROR)]
        why = (
            f"every one of {len(rows)} replicates failed, the first with: {errors[0]}"
            if errors
            else (
                "no replicate gave a figure: "
                + (
                    "; ".join(dict.fromkeys(_reasons(self._done)))
                    or "the benchmark yielded no sample"
                )
            )
        )
        self.fail("failed", why)

    def _case(self, case: _CaseInHand) -> Case:
        redactor = self._setup.redactor
        return Case(
            parameters=redactor.data(case.context.parameters),
            subject=case.context.subject,
            samples=columns(case.rows),
            facts=redactor.data(plain(case.context.facts, "facts")),
            warnings=[line(redactor.text(text)) for text in case.context.warnings],
        )

    def _record(self, cases: list[Case], state_after: dict[str, Any]) -> RunRecord:
        outcome, reason = self._failure or ("done", None)
        run = Run.model_validate(
            {
                "id": self.run_id,
                "benchmark": self.benchmark.name,
                "command": self._setup.command,
                "gamekit_version": __version__,
                "started": utc_text(self._started),
                # By the monotonic clock: the wall clock may have been set back meanwhile.
                "finished": utc_text(
                    self._started + timedelta(seconds=time.monotonic() - self._clock)
                ),
                "outcome": outcome,
                "reason": reason,
                "engine": None if self._engine is None else self._engine.engine,
                "environment": self._environment,
                "state_before": self._state,
                "state_after": state_after,
                "cases": cases,
            }
        )
        findings = self._findings(run)
        return RunRecord(run, findings)

    def _findings(self, run: Run) -> tuple[Finding, ...]:
        setup = self._setup
        if run.outcome != "done":
            return self._failed(run)
        findings: list[Finding] = []
        begun: dict[str, Series] = {}
        for case in self._done:
            found, joined = case_findings(
                run,
                self.benchmark,
                case.context,
                case.rows,
                prefix=run.id if len(self._cases) == 1 else f"{run.id}.{case.number + 1}",
                base=setup.base,
                told=setup.series,
                redactor=setup.redactor,
            )
            findings.extend(found)
            self.joined.extend(joined)
            begun.update({one.begins.id: one.begins for one in joined if one.begins is not None})
        return (*begun.values(), *findings)

    def _failed(self, run: Run) -> tuple[Finding, ...]:
        subject = self._done[-1].context.subject if self._done else self._subjects[0]
        series: dict[str, str] = {}
        for measures in self.benchmark.headlines:
            try:
                found = join(measures, subject, self._setup.base, self._setup.series, run.id)
            except UsageFault:
                continue
            if found.begins is None and found.series is not None:
                series[measures.metric] = found.series
        units = {one.metric: one.unit for one in self.benchmark.headlines}
        return failed_findings(run, units, subject, series)

    def _beginning(self) -> Beginning:
        return Beginning(
            benchmark=self.benchmark.name,
            command=self._setup.command,
            gamekit_version=__version__,
            started=self._started,
            environment=self._environment,
            state=self._state,
            engine=None if self._engine is None else self._engine.engine,
            units={one.metric: one.unit for one in self.benchmark.headlines},
            subject=self._subjects[0],
        )

    def _told(self, error: Exception) -> str:
        """What a fault of the benchmark's own code says, with the line of its file."""
        file = str(self.benchmark.file)
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == file
        ]
        place = f" ({Path(file).name}:{lines[-1]})" if lines else ""
        return f"{type(error).__name__}: {error}{place}"


def surroundings(
    engine: EngineFacts | None, capture: Capture
) -> tuple[Environment, dict[str, Any]]:
    """The environment and state of what is measured.

    Of an engine elsewhere only what it told is known: this machine is then the client's, and is
    kept with the state.
    """
    if engine is None:
        return capture.environment, capture.state
    told = {"engine": engine.engine.name, "engine_version": engine.engine.version}
    if engine.is_local:
        return capture.environment.model_copy(update=told), capture.state
    client = capture.environment.model_dump(exclude_defaults=True)
    return Environment.model_validate(told), {**capture.state, "client_machine": client}


def _reasons(cases: Sequence[_CaseInHand]) -> list[str]:
    return [
        why for case in cases for why in (*case.context.unknown.values(), *case.context.warnings)
    ]
