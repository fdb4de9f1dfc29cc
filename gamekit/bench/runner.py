"""Runs the selected benchmarks: what can run here, case by case, A and B in turn."""

from __future__ import annotations

import importlib.util
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from gamekit.bench.context import Progress
from gamekit.bench.discovery import discover
from gamekit.bench.engine_facts import EngineFacts, ask_engine
from gamekit.bench.execution import Execution
from gamekit.bench.floor import FloorInterrupted
from gamekit.bench.launch_plan import (
    LaunchPlan,
    check_unlaunched,
    keys_of,
    parse_launches,
    plan_of,
)
from gamekit.bench.launched import ServerStart, launched
from gamekit.bench.module import Benchmark, Needs, Value
from gamekit.bench.series import Joined, told_series
from gamekit.bench.setup import Setup
from gamekit.bench.subject import Told, parse_subject
from gamekit.bench.sweep import cases_of, parse_settings
from gamekit.errors import BenchmarkFailed, GamekitError, MachineRefused, NotApplicable, UsageFault
from gamekit.host.capture import Capture, capture
from gamekit.host.machine import host_name
from gamekit.host.redact import Redactor
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.store.append import check_writable
from gamekit.store.load import load
from gamekit.store.record import RunRecord
from gamekit.store.spool import recover
from gamekit.streaming.server_identity import Api

# What stands in for an engine when none was given: quick, and with speculation, so that every
# figure of a serving benchmark has something to measure.
STAND_IN = SimulatorConfig(prefill_ms=50.0, cycle_ms=5.0, accept_len=2.0, steps=2)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, taken like Ctrl-C: the run is recorded as interrupted by what it says."""


@dataclass(frozen=True)
class RunOutcome:
    """What became of one benchmark: a record, or why there is none.

    ``file`` is the run file below the root, when one was written, ``headlines`` the metrics that
    the benchmark is run for. ``recovered`` marks the run of somebody who was killed, found in the
    spool.
    """

    benchmark: str
    record: RunRecord | None = None
    file: str | None = None
    skipped: str | None = None
    fault: GamekitError | None = None
    joined: tuple[Joined, ...] = field(default=())
    headlines: tuple[str, ...] = ()
    recovered: bool = False
    refusal: MachineRefused | None = None

    @property
    def measured(self) -> bool:
        """Whether the run is done and gave figures."""
        return self.record is not None and self.record.run.outcome == "done"

    @property
    def interrupted(self) -> bool:
        """Whether the user ended the run: then nothing after it was run."""
        return self.record is not None and self.record.run.outcome == "interrupted"


def run_benchmarks(  # noqa: PLR0913 - one keyword an option of the command
    root: Path | None,
    names: Sequence[str] = (),
    *,
    urls: Sequence[str] = (),
    launches: Sequence[str] = (),
    subject: Sequence[str] = (),
    series: Sequence[str] = (),
    settings: Sequence[str] = (),
    append: bool = False,
    command: Sequence[str] | None = None,
    progress: Progress = lambda _: None,
    begins: Progress = lambda _: None,
) -> list[RunOutcome]:
    """Run the benchmarks of these names (all, if none is named) and say what became of each.

    ``subject`` and ``settings`` are the ``key=value`` texts of ``--subject`` and ``--set``. Several
    ``urls`` are measured in turn, sample by sample, each giving a run. ``launches`` are commands
    that start engines: those are measured likewise, once for each start and for each value of the
    settings that fill the commands' placeholders, and are ended before the next ones start.
    ``begins`` is told each case as it begins, ``progress`` every step in it. A benchmark that needs
    a server runs against a stand-in engine where neither is given. Under ``append`` the runs of
    others that were killed are recorded first, and each run gets its file; otherwise nothing is
    written.

    What cannot run here is an outcome with its reason, and so is a broken benchmark file and a
    failed or interrupted run, such as that of an engine that does not start; where no benchmark is
    named, also one that has nothing to measure at these engines. Raises ``UsageFault``
    for options that do not fit, ``BenchmarkFailed`` for a url that does not answer,
    ``MachineRefused`` where nothing can be written, and what loading the knowledge base raises. A
    ``UsageFault`` that comes up behind another outcome is an outcome as well.
    """
    if append and root is None:
        raise UsageFault(
            "--append needs a knowledge base to append to", mend="go to one, or: gamekit init DIR"
        )
    found = discover(root)
    selected = found.select(tuple(names))
    redactor = Redactor.of_this_process()
    commands = parse_launches(launches, selected)
    if not commands:
        check_unlaunched(settings)
    chosen = parse_settings(settings, selected, keys_of(commands))
    plan = plan_of(commands, chosen, urls)
    if plan is not None:
        redactor = plan.hidden_by(redactor)
    sweeps = {one.name: cases_of(one, chosen) for one in selected}
    told = parse_subject(subject)
    outcomes: list[RunOutcome] = []
    if append and root is not None:
        check_writable(root)
        outcomes += _recovered(root)
    base = None if root is None else load(root)
    metrics = list(dict.fromkeys(m.metric for one in selected for m in one.measures))
    series_told = told_series(base, series, metrics)
    needs_server = any(one.needs is Needs.SERVER for one in selected)
    if plan is not None and not needs_server:
        raise UsageFault(
            f"{', '.join(one.name for one in selected)} needs no server: nothing is to be launched",
            mend="leave --launch out, or name a benchmark that needs one",
        )
    setup = Setup(
        warnings=("--url was not used: no server is needed",) if urls and not needs_server else (),
        root=root,
        base=base,
        command=redactor.command(_command_line() if command is None else command),
        redactor=redactor,
        told=Told("--subject", firm=told.known()),
        series=series_told,
        host=host_name(redactor),
        append=append,
        progress=progress,
    )
    engines = [ask_engine(url, _api(sweeps), redactor) for url in urls] if needs_server else []
    if not names:
        outcomes += [RunOutcome(Path(one.file or "").stem, fault=one) for one in found.problems]
    work = _Work(setup, sweeps, begins, outcomes, all_there_are=not names)
    at_servers = [one for one in selected if one.needs is Needs.SERVER]
    with _signals():
        apart = selected if plan is None else [one for one in selected if one not in at_servers]
        if work.measure(apart, [_Server(one) for one in engines]) and plan is not None:
            _measure_launched(work, at_servers, engines, plan, _api(sweeps))
    return outcomes


@dataclass(frozen=True)
class _Server:
    """What is measured: an engine, one that this process started, or one that did not start."""

    engine: EngineFacts | None
    start: ServerStart | None = None


@dataclass
class _Work:
    """The benchmarks of one call, with what came of them so far."""

    setup: Setup
    sweeps: Mapping[str, Sequence[Mapping[str, Value]]]
    begins: Progress
    outcomes: list[RunOutcome]
    all_there_are: bool

    def measure(self, benchmarks: Sequence[Benchmark], servers: Sequence[_Server]) -> bool:
        """Run each of ``benchmarks`` at ``servers``; False when the user ended it."""
        for benchmark in benchmarks:
            interrupted: KeyboardInterrupt | None = None
            try:
                around = capture(self.setup.redactor)
            except KeyboardInterrupt as error:
                interrupted, around = error, capture(self.setup.redactor)
            reason = why_not_here(benchmark, around, self.sweeps[benchmark.name])
            if reason is not None:
                self.outcomes.append(RunOutcome(benchmark.name, skipped=reason))
                continue
            try:
                cases = self.sweeps[benchmark.name]
                run = _run(self.setup, benchmark, cases, servers, around, self.begins, interrupted)
                self.outcomes += run
                if any(outcome.interrupted for outcome in run):
                    return False
            except (UsageFault, BenchmarkFailed) as error:
                if self.all_there_are and isinstance(error, NotApplicable):
                    self.outcomes.append(RunOutcome(benchmark.name, skipped=str(error)))
                    continue
                if not self.outcomes:
                    raise
                # What ran before it is told all the same.
                self.outcomes.append(RunOutcome(benchmark.name, fault=error))
        return True


def _measure_launched(
    work: _Work,
    benchmarks: Sequence[Benchmark],
    engines: Sequence[EngineFacts],
    plan: LaunchPlan,
    api: Api | None,
) -> None:
    """All benchmarks at each start of the plan's engines, beside ``engines``, which run anyway."""
    for number in range(plan.starts):
        # There and back again, so that no value is always the one measured on the warmer machine.
        for values in plan.values if number % 2 == 0 else reversed(plan.values):
            with launched(
                plan,
                values,
                work.setup.redactor,
                api,
                begins=work.begins,
                progress=work.setup.progress,
                interrupted=_how_interrupted,
            ) as starts:
                servers = [_Server(one) for one in engines]
                servers += [_Server(one.engine, one) for one in starts]
                if not work.measure(benchmarks, servers):
                    return


def _recovered(root: Path) -> list[RunOutcome]:
    """The runs of others that were killed, and the spools that no run can be made of."""
    aside: list[RunOutcome] = []

    def set_aside(path: Path, why: str) -> None:
        where = f"its spool holds no run that can be recorded ({why}), and is now {path}"
        aside.append(RunOutcome(path.name.partition(".")[0], skipped=where, recovered=True))

    recorded = [
        RunOutcome(one.run.benchmark, one, one.file, recovered=True)
        for one in recover(root, set_aside)
    ]
    return [*recorded, *aside]


def _run(
    setup: Setup,
    benchmark: Benchmark,
    cases: Sequence[Mapping[str, Value]],
    servers: Sequence[_Server],
    around: Capture,
    begins: Progress,
    interrupted: KeyboardInterrupt | None,
) -> list[RunOutcome]:
    """One run a server; ``interrupted`` is what came before it could begin."""
    measured = [_Server(None)]
    with ExitStack() as stack:
        if benchmark.needs is Needs.SERVER:
            measured = list(servers)
            if not measured:
                stand_in = stack.enter_context(StandInEngine(STAND_IN))
                measured = [_Server(ask_engine(stand_in.url, None, setup.redactor))]
        executions: list[Execution] = []
        try:
            if interrupted is not None:
                raise interrupted
            for one in measured:
                execution = Execution(setup, benchmark, one.engine, cases, around, one.start)
                executions.append(execution)  # closed below if the next one fails
            _step_through(executions, cases, begins)
        except KeyboardInterrupt as error:
            # What had no time to begin was asked for as well.
            executions += [
                Execution(setup, benchmark, one.engine, cases, around, one.start)
                for one in measured[len(executions) :]
            ]
            for execution in executions:
                if isinstance(error, FloorInterrupted):
                    execution.end_without_floor()
                execution.fail("interrupted", f"interrupted by {_how_interrupted(error)}")
        except BaseException:
            for execution in executions:
                execution.discard()
                execution.close()
            raise
        return _recorded(setup, executions)


def _how_interrupted(error: KeyboardInterrupt) -> str:
    return str(error) or "Ctrl-C"  # of Terminated the name of the signal


def _step_through(
    executions: Sequence[Execution], cases: Sequence[Mapping[str, Value]], begins: Progress
) -> None:
    """All cases of all executions; within a case A and B take turns, and who is first changes."""
    if all(execution.failed for execution in executions):
        return
    swept = [name for name in cases[0] if len({case[name] for case in cases}) > 1]
    for number, case in enumerate(cases):
        values = ", ".join(f"{name}={case[name]}" for name in swept)
        begins(
            f"{executions[0].benchmark.name}: case {number + 1} of {len(cases)} begins"
            f"{f' ({values})' if values else ''}"
        )
        for execution in executions:
            execution.begin_case(number)
        live = list(executions)
        while live:
            live = [execution for execution in live if execution.step()][::-1]


def _recorded(setup: Setup, executions: Sequence[Execution]) -> list[RunOutcome]:
    outcomes = []
    try:
        with _undisturbed():
            for execution in executions:
                record = execution.finish()
                outcomes.append(
                    RunOutcome(
                        execution.benchmark.name,
                        record,
                        record.file if setup.append else None,
                        joined=tuple(execution.joined),
                        headlines=tuple(one.metric for one in execution.benchmark.headlines),
                        refusal=execution.refusal,
                    )
                )
    finally:
        for execution in executions:
            execution.close()
    return outcomes


def why_not_here(
    benchmark: Benchmark, around: Capture, cases: Sequence[Mapping[str, Value]] = ()
) -> str | None:
    """Why the benchmark cannot run on this machine; None when it can.

    A case whose parameter ``python`` names another interpreter has torch there.
    """
    if benchmark.needs in (Needs.GPU, Needs.GPUS):
        gpus = around.environment.gpus
        if gpus is None:
            why = around.unknown.get("gpus", "they are unknown")
            return f"it needs {benchmark.needs}, and no nvidia-smi answers here: {why}"
        wanted = 2 if benchmark.needs is Needs.GPUS else 1
        if len(gpus) < wanted:
            return f"it needs {benchmark.needs}, and there is {len(gpus) or 'none'} here"
    needs_torch = benchmark.needs in (Needs.TORCH, Needs.GPU, Needs.GPUS)
    elsewhere = bool(cases) and all(case.get("python") for case in cases)
    if needs_torch and not elsewhere and importlib.util.find_spec("torch") is None:
        named = "" if benchmark.parameter("python") is None else ": name a python that has it"
        return f"it needs torch, which is not installed here{named}"
    return None


def _api(sweeps: Mapping[str, Sequence[Mapping[str, Value]]]) -> Api | None:
    """The API that the user says the servers speak; None to find out (also for a sweep of both)."""
    said = {case.get("api") for cases in sweeps.values() for case in cases} - {None}
    if len(said) == 1:
        return "sglang" if said == {"sglang"} else "openai"
    return None


def _command_line() -> list[str]:
    return ["gamekit", *sys.argv[1:]]


@contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and SIGHUP are raised as ``Terminated`` meanwhile."""

    def terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's interface
        raise Terminated(signal.Signals(number).name)

    # nohup has SIGHUP ignored, and that is to stay so.
    hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    with _handling(dict.fromkeys([signal.SIGTERM, *([signal.SIGHUP] * hangs_up)], terminate)):
        yield


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP do nothing meanwhile: a record is being written."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    with _handling(dict.fromkeys(signals, signal.SIG_IGN)):
        yield


@contextmanager
def _handling(handlers: Mapping[signal.Signals, object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets the signals
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}  # type: ignore[arg-type]  # a handler is a function or one of signal's constants
    try:
        yield
    finally:
        for number, handler in before.items():
            # None is a handler that was not set from Python, and cannot be set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
