"""One execution of one benchmark: steps through its cases and becomes a run with its findings."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gamekit import __version__
from gamekit.bench.context import Context
from gamekit.bench.engine_facts import EngineFacts
from gamekit.bench.faults import after_samples, in_words
from gamekit.bench.floor import FloorInterrupted, without_floor
from gamekit.bench.kept import Kept
from gamekit.bench.launched import ServerStart, tick_facts
from gamekit.bench.module import ERROR, PART, Benchmark, Replicate, Sample, Value
from gamekit.bench.results import (
    case_findings,
    checked_rows,
    failures,
    impossible_figure,
    line,
    subject_of,
    unknown_findings,
    without_figure,
)
from gamekit.bench.series import Joined, join, told_by_series
from gamekit.bench.setup import Setup
from gamekit.bench.subject import Told
from gamekit.bench.surroundings import surroundings, with_what_ran
from gamekit.errors import GamekitError, MachineRefused, UsageFault
from gamekit.findings import Case, Engine, Finding, Run, Series, Subject
from gamekit.host.capture import Capture, capture_state
from gamekit.open_files import refused
from gamekit.store.append import append_run
from gamekit.store.plain import plain
from gamekit.store.record import RunRecord, new_run_id, utc_text
from gamekit.store.spool import Beginning, Spool, columns

_LONGEST_REASON = 5000


@dataclass
class _CaseInHand:
    number: int
    context: Context
    samples: Generator[Sample | Replicate, None, None]
    rows: list[dict[str, Any]] = field(default_factory=list)
    spooled: Subject | None = None
    log_position: int = 0
    finished: bool = False


class Execution:
    """A run in the making. ``step`` takes one sample; ``finish`` makes the record, and writes it.

    A fault of the benchmark or of the engine ends the run as failed, and so does what it gave where
    no run file can hold that. A ``UsageFault`` before the first sample is raised instead: nothing
    was measured, and the user can mend it. ``start`` is how the engine was started, where this
    process did so; one that failed to start gives a run that failed.
    """

    def __init__(
        self,
        setup: Setup,
        benchmark: Benchmark,
        engine: EngineFacts | None,
        cases: Sequence[Mapping[str, Value]],
        capture: Capture,
        start: ServerStart | None = None,
    ) -> None:
        self.benchmark = benchmark
        self._setup = setup
        self._engine = engine
        self._start = start
        self._cases = cases
        self._environment, self._state = surroundings(engine, capture, start)
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._kept = Kept()
        self._done: list[_CaseInHand] = []
        self._now: _CaseInHand | None = None
        self._failure: tuple[str, str] | None = None  # outcome and reason
        # Of every case: a subject that contradicts itself is refused before anything runs.
        subjects = [
            subject_of(self._context(parameters), setup.redactor, expected=True)
            for parameters in cases
        ]
        self._first_subject = subjects[0]
        self.joined: list[Joined] = []
        self.refusal: MachineRefused | None = None  # of this machine, for which the run failed
        self._spool: Spool | None = None
        if setup.append and setup.root is not None:
            self._spool = Spool(setup.root, self._beginning())
        self.run_id = (
            self._spool.run_id
            if self._spool is not None
            else new_run_id(benchmark.name, self._started)
        )
        if start is not None and start.failure is not None:
            self.fail(*start.failure)

    @property
    def failed(self) -> bool:
        """Whether the run has failed: then it takes no further step."""
        return self._failure is not None

    def begin_case(self, number: int) -> None:
        """Begin the case of that number, unless the run has failed."""
        if self.failed:
            return
        context = self._context(self._cases[number]).within(self._cases, number)
        log = None if self._engine is None else self._engine.log
        self._now = _CaseInHand(
            number,
            context,
            self._samples(context),
            log_position=0 if log is None else log.position(),
        )

    def step(self) -> bool:
        """Take one sample of the case begun; False when the case, or the run, is over."""
        case = self._now
        if case is None or self.failed or self._engine_ended():
            return False
        try:
            self._take(case, next(case.samples))
            return True
        except StopIteration:
            self._end(case)
        except FloorInterrupted:
            case.context.flaw(
                "whether the client limited the run is not known: measuring the client itself was"
                " interrupted"
            )
            self._end(case)
            raise
        except UsageFault as error:
            if not case.rows and not self._done:
                raise
            self.fail("failed", str(error))
        except GamekitError as error:
            self.refusal = refused(error)
            self.fail("failed", after_samples(case.rows, str(error)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit in a benchmark ends that run, not gamekit
            self.refusal = refused(error)
            self.fail("failed", in_words(self.benchmark, error))
        return False

    def end_without_floor(self) -> None:
        """Finish the case in hand where only the client itself was still to be measured.

        Its other samples were taken in turn with those of an execution that came so far.
        """
        with suppress(KeyboardInterrupt), without_floor():
            self.step()

    def _end(self, case: _CaseInHand) -> None:
        if self._engine is not None and self._engine.log is not None:
            tick_facts(case.context, self._engine.log.ticks(case.log_position))
        case.finished = True
        self._done.append(case)
        self._now = None

    def fail(self, outcome: str, reason: str) -> None:
        """End the run as failed or interrupted; what was sampled stays as raw samples.

        Cases that were finished before an interruption keep their figures.
        """
        if self._failure is None:
            ended = None
            if outcome == "failed" and self._start is not None:
                ended = self._start.why_ended(crashing=True)
            # Of an engine that died, what its clients met is the consequence.
            died = ended not in (None, reason)
            whole = f"{ended}; what the benchmark saw: {reason}" if died else reason
            said = self._setup.redactor.text(whole)[:_LONGEST_REASON]
            self._failure = (outcome, said if said.strip() else "it ended without saying why")
        if self._now is not None:
            self._done.append(self._now)
            self._now = None

    def finish(self) -> RunRecord:
        """The record of the run; under ``--append`` its run file is written."""
        state_after = capture_state()
        try:
            cases = [self._case(case) for case in self._done]
            if self._failure is None:
                self._judge()
            record = self._record(cases, state_after, self._engine_record())
            record.text()
        except Exception as error:  # whatever it is, the run is recorded
            record = self._bare_record(error)
        if self._spool is not None and self._setup.root is not None:
            record = append_run(self._setup.root, record)
            self._spool.remove()
        return record

    def close(self) -> None:
        """Give up the spool's lock: what is unfinished becomes a failed run at the next append."""
        for case in (*self._done, *([self._now] if self._now else [])):
            # What a benchmark does behind its last sample is not part of the run.
            with suppress(Exception, SystemExit):
                case.samples.close()
        with suppress(Exception, SystemExit):
            self._kept.close()
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
        if self._start is not None:
            sources += self._start.told
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
            self._kept,
        )

    def _engine_ended(self) -> bool:
        """Whether the engine has ended: then what was sampled is all that there will be."""
        ended = None if self._start is None else self._start.why_ended()
        if ended is not None:
            self.fail("failed", ended)
        return ended is not None

    def _samples(self, context: Context) -> Generator[Sample | Replicate, None, None]:
        # Begun by the first step, where whatever goes wrong in it is caught.
        yield from self.benchmark.run(context) or ()

    def _take(self, case: _CaseInHand, yielded: Sample | Replicate) -> None:
        rows = self._setup.redactor.data(checked_rows(self.benchmark, yielded))
        if not case.rows:
            self._check_series(case, rows[0])
        case.rows += rows
        if self._spool is None:
            return
        subject = self._subject_of(case, expected=True)
        if case.spooled != subject:
            case.spooled = subject
            self._spool.event(
                "case",
                case=case.number,
                parameters=self._setup.redactor.data(case.context.parameters),
                subject=subject.model_dump(exclude_none=True),
            )
        for row in rows:
            self._spool.event("sample", case=case.number, values=row)

    def _check_series(self, case: _CaseInHand, row: Mapping[str, Any]) -> None:
        """Refuse what cannot be put into a series while nothing but one sample would be lost."""
        expected, setup = self._subject_of(case, expected=True), self._setup
        for measures in self.benchmark.measures:
            if row.get(measures.metric) is not None:
                subject = self.benchmark.subject_for(measures.metric, expected)
                join(measures, subject, setup.base, setup.series, self.run_id)

    def _judge(self) -> None:
        """Whether a run that came to its end has failed all the same.

        It has where no replicate gave a headline metric, and where one gave what cannot be.
        """
        flawed = any(row.get(ERROR) for case in self._done for row in case.rows)
        ended = None if self._start is None else self._start.why_ended(crashing=flawed)
        if ended is not None:
            self.fail("failed", ended)
            return
        for case in self._done:
            impossible = impossible_figure(self.benchmark, case.context, case.rows)
            if impossible is not None:
                self.fail("failed", impossible)
                return
        rows = [row for case in self._done for row in case.rows]
        names = [one.metric for one in self.benchmark.headlines]
        if any(
            row.get(name) is not None and row.get(PART) is None and not row.get(ERROR)
            for row in rows
            for name in names
        ):
            return
        reasons = "; ".join(dict.fromkeys(_reasons(self._done))) or without_figure(names, rows)
        self.fail("failed", failures(rows)[1] or f"no replicate gave a figure: {reasons}")

    def _subject_of(self, case: _CaseInHand, *, expected: bool) -> Subject:
        return subject_of(case.context, self._setup.redactor, expected=expected)

    def _case(self, case: _CaseInHand) -> Case:
        redactor = self._setup.redactor
        warnings = [*self._setup.warnings, *case.context.warnings]
        return Case(
            parameters=redactor.data(case.context.parameters),
            subject=self._subject_of(case, expected=not case.finished),
            samples=columns(case.rows),
            facts=redactor.data(plain(case.context.facts, "facts")),
            warnings=[line(redactor.text(text)) for text in warnings],
        )

    def _bare_record(self, error: Exception) -> RunRecord:
        """The run without what cannot be recorded: that it was, and why there is no more of it."""
        why = f"what it gave cannot be recorded: {in_words(self.benchmark, error)}"
        outcome, reason = self._failure or ("failed", "")
        self._failure = None
        self.joined.clear()
        self.fail(outcome, f"{reason}; {why}" if reason else why)
        engine = self._engine_record()
        if engine is not None:
            engine = engine.model_copy(update={"description": {}})
        return self._record([], {}, engine, bare=True)

    def _engine_record(self) -> Engine | None:
        return None if self._engine is None else self._engine.engine

    def _record(
        self,
        cases: list[Case],
        state_after: dict[str, Any],
        engine: Engine | None,
        *,
        bare: bool = False,
    ) -> RunRecord:
        outcome, reason = self._failure or ("done", None)
        start = self._start
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
                "engine": engine,
                "launch": None if start is None else start.record(with_log=not bare),
                "facts": {} if start is None or bare else dict(start.facts or {}),
                "environment": with_what_ran(
                    self._environment, [case.context.environment for case in self._done]
                ),
                "state_before": self._state,
                "state_after": state_after,
                "cases": cases,
            }
        )
        findings = self._findings(run)
        return RunRecord(run, findings)

    def _findings(self, run: Run) -> tuple[Finding, ...]:
        setup = self._setup
        if run.outcome == "failed":
            subjects = [self._subject_of(case, expected=True) for case in self._done[-1:]]
            return self._unknown(run, (subjects or [self._first_subject])[-1], run.id)
        findings: list[Finding] = []
        begun: dict[str, Series] = {}
        measured = [case for case in self._done if run.outcome == "done" or self._holds(case)]
        for case in measured:
            found, joined = case_findings(
                run,
                self.benchmark,
                case.context,
                case.rows,
                prefix=self._prefix(case.number),
                base=setup.base,
                told=setup.series,
                redactor=setup.redactor,
            )
            findings.extend(found)
            self.joined.extend(joined)
            begun.update({one.begins.id: one.begins for one in joined if one.begins is not None})
        if run.outcome == "interrupted":
            findings += self._interrupted(run)
        return (*begun.values(), *findings)

    def _holds(self, case: _CaseInHand) -> bool:
        """Whether a case of a run that was interrupted is as good as one of a run that is done."""
        impossible = impossible_figure(self.benchmark, case.context, case.rows)
        return case.finished and impossible is None

    def _prefix(self, number: int) -> str:
        return self.run_id if len(self._cases) == 1 else f"{self.run_id}.{number + 1}"

    def _interrupted(self, run: Run) -> tuple[Finding, ...]:
        """What is unknown of the case that was interrupted, or had no time to begin."""
        last = self._done[-1] if self._done else None
        number = 0 if last is None else last.number + last.finished
        if number == len(self._cases):
            return ()
        context = self._context(self._cases[number])
        if last is not None and not last.finished:
            context = last.context
        subject = subject_of(context, self._setup.redactor, expected=True)
        return self._unknown(run, subject, self._prefix(number))

    def _unknown(self, run: Run, subject: Subject, prefix: str) -> tuple[Finding, ...]:
        setup = self._setup
        return unknown_findings(run, self.benchmark, subject, prefix, setup.base, setup.series)

    def _beginning(self) -> Beginning:
        return Beginning(
            benchmark=self.benchmark.name,
            command=self._setup.command,
            gamekit_version=__version__,
            started=self._started,
            environment=self._environment,
            state=self._state,
            engine=self._engine_record(),
            units={one.metric: one.unit for one in self.benchmark.headlines},
            subject=self._first_subject,
            launch=None if self._start is None else self._start.record(),
            facts={} if self._start is None else self._start.facts or {},
        )


def _reasons(cases: Sequence[_CaseInHand]) -> list[str]:
    return [
        why for case in cases for why in (*case.context.unknown.values(), *case.context.warnings)
    ]
