"""Starts the engines of one round of a launch plan, and says what their start tells."""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median
from typing import Any

from gamekit.bench.context import Context, Progress
from gamekit.bench.engine_facts import EngineFacts, ask_engine
from gamekit.bench.launch_plan import LaunchPlan
from gamekit.bench.subject import Field, Told, model_name, same_value
from gamekit.errors import GamekitError
from gamekit.findings import Launch
from gamekit.findings.subject import Setting
from gamekit.host.capture import engine_variables
from gamekit.host.engine_process import environment_of_engine
from gamekit.host.redact import HIDDEN, Redactor
from gamekit.host.secret_names import is_secret_name
from gamekit.launch.command import LaunchCommand, ReadyCommand
from gamekit.launch.log import Tick
from gamekit.launch.process import LaunchedEngine, how_it_ended, wait_until_healthy
from gamekit.streaming.server_identity import Api
from gamekit.typed_numbers import any_number

_ACCEPTANCE = "SGLANG_SIMULATE_ACC_LEN"
# Flags and variables whose value a field of the subject tells, where it is that value.
_FIELDS = {
    "--model-path": "target",
    "--model": "target",
    "--served-model-name": "target",
    "--quantization": "quantization",
    "--load-format": "weights",
    "--speculative-algorithm": "speculation",
    "--speculative-draft-model-path": "drafter",
    "--speculative-num-steps": "steps",
    "--speculative-eagle-topk": "topk",
    "--speculative-num-draft-tokens": "draft_tokens",
    "--speculative-attention-mode": "attention_mode",
    "--steps": "steps",  # of gamekit simulate
    _ACCEPTANCE: "imposed_accept_length",
}
_TOLD_EVERY_S = 30.0
# How long a crash may take until the process that was started is gone too.
_CRASH_S = 3.0


@dataclass(frozen=True)
class ServerStart:
    """One start of one engine, as its runs record it.

    ``id`` is the environment's ``start``. ``failure`` is the outcome and reason of a start that
    came to nothing. ``engine`` is None then. ``environment`` has the
    fields of the environment that the engine's processes tell.
    """

    id: str
    process: LaunchedEngine
    parameters: Mapping[str, Setting]
    redactor: Redactor
    engine: EngineFacts | None = None
    told: tuple[Told, ...] = ()
    facts: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] | None = None
    failure: tuple[str, str] | None = None

    def record(self, *, with_log: bool = True) -> Launch:
        """The start as a run file has it."""
        return Launch(
            command=" ".join(self.redactor.text(self.process.command.text).split())[:20_000],
            parameters=self.redactor.data(dict(self.parameters)),
            log=self.process.log.excerpt(self.redactor.text) if with_log else [],
        )

    def why_ended(self, *, crashing: bool = False) -> str | None:
        """Why the engine has ended by itself, with its last words; None while it runs.

        ``crashing`` waits for the end of one that seems to be going down.
        """
        if self.failure is not None or not self.process.ended(_CRASH_S if crashing else 0.0):
            return None
        return _with_last_words(how_it_ended(self.process), self.process, self.redactor)


@contextmanager
def launched(
    plan: LaunchPlan,
    values: Mapping[str, str],
    redactor: Redactor,
    api: Api | None,
    *,
    begins: Progress,
    progress: Progress,
    interrupted: Callable[[KeyboardInterrupt], str],
) -> Iterator[list[ServerStart]]:
    """All engines of the plan with these values, started side by side; all are ended behind it.

    What does not start is among them, with its failure. One that is interrupted while it starts is
    as well; the others are then taken as interrupted too.
    """
    with ExitStack() as stack:
        processes = [stack.enter_context(LaunchedEngine(command)) for command in plan.ready(values)]
        shown = {key: value for key, value in values.items() if len(plan.all_values(key)) > 1}
        names = "".join(f", {key}={value}" for key, value in shown.items())
        begins(f"starting {len(processes)} engine{'s' if len(processes) > 1 else ''}{names}")
        waits = _both(begins, progress)
        yield _start_all(plan, values, processes, redactor, api, (begins, waits, interrupted))
    for process in processes:
        if process.left:
            begins(f"these processes of an engine could not be ended: {process.left}")


def _filled_in(
    command: LaunchCommand, ready: ReadyCommand, values: Mapping[str, str], redactor: Redactor
) -> dict[str, Setting]:
    """What its placeholders stand for; of a secret flag, variable or name it is hidden.

    However short it is. The rest is redacted before it is typed: a key may consist of digits, and
    no redactor finds it in a number.
    """
    hidden = {use.key for use in ready.uses if is_secret_name(use.name) or is_secret_name(use.key)}
    return {
        key: HIDDEN if key in hidden else _typed(redactor.text(value))
        for key, value in values.items()
        if key in command.placeholders
    }


def _both(begins: Progress, progress: Progress) -> Progress:
    """``progress``, of which ``begins`` is told twice a minute: it is seen in a file as well."""
    told = time.monotonic()

    def tell(text: str) -> None:
        nonlocal told
        progress(text)
        if time.monotonic() - told > _TOLD_EVERY_S:
            told = time.monotonic()
            begins(text)

    return tell


def _start_all(
    plan: LaunchPlan,
    values: Mapping[str, str],
    processes: Sequence[LaunchedEngine],
    redactor: Redactor,
    api: Api | None,
    tells: tuple[Progress, Progress, Callable[[KeyboardInterrupt], str]],
) -> list[ServerStart]:
    begins, progress, interrupted = tells
    starts = {
        process: ServerStart(
            id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
            process=process,
            parameters=_filled_in(plan.commands[number], process.command, values, redactor),
            redactor=redactor,
        )
        for number, process in enumerate(processes)
    }
    failures: dict[LaunchedEngine, tuple[str, str]] = {}
    try:
        for process in processes:
            try:
                process.start()
            except GamekitError as error:
                failures[process] = ("failed", str(error))
        running = [one for one in processes if one not in failures]
        not_ready = wait_until_healthy(running, plan.start_timeout_s, progress, redactor.text)
        for process, reason in not_ready.items():
            failures[process] = ("failed", _with_last_words(reason, process, redactor))
            process.end()  # at once: the others may need what it holds
        for process in running:
            if process in failures:
                continue
            try:
                engine = ask_engine(process.url, api, redactor)
            except GamekitError as error:
                failures[process] = ("failed", _with_last_words(str(error), process, redactor))
                continue
            starts[process] = _told_by_start(plan, starts[process], engine)
            begins(f"{engine.url} is ready after {process.start_up_s or 0:.1f} s")
    except KeyboardInterrupt as error:
        how = f"interrupted by {interrupted(error)} while the engines were starting"
        failures = dict.fromkeys(processes, ("interrupted", how)) | failures
    return [
        replace(start, failure=failures.get(process), engine=None) if process in failures else start
        for process, start in starts.items()
    ]


def tick_facts(context: Context, ticks: Sequence[Tick]) -> None:
    """Keep what the engine's decode lines say of a case, and judge whether graphs were used."""
    if not ticks:
        return
    used = Counter(str(tick.fields[key]) for tick in ticks for key in _graph_key(tick))
    facts: dict[str, Any] = {"count": len(ticks)}
    if used:
        facts["cuda_graph"] = dict(used)
    for key in ("gen throughput", "accept len"):
        numbers = [number for tick in ticks if (number := tick.number(key)) is not None]
        if numbers:
            facts[f"{key.replace(' ', '_')}_median"] = median(numbers)
    context.fact("decode_ticks", facts)
    if used["False"] and context.subject.cuda_graphs == "captured":
        context.flaw(
            f"the graphs were captured, and {used['False']} of {used.total()} decode lines of the"
            " engine's log say that the forward ran without one"
        )


def _graph_key(tick: Tick) -> list[str]:
    return [key for key in ("cuda graph", "cpu graph") if key in tick.fields]


def _told_by_start(plan: LaunchPlan, start: ServerStart, engine: EngineFacts) -> ServerStart:
    process = start.process
    command = process.command
    environ = process.variables()
    firm: dict[str, Field] = {}
    if command.option("--load-format") == "dummy":
        firm["weights"] = "dummy"
    speculation = engine.told.firm.get("speculation")
    imposed = _imposed(environ.get(_ACCEPTANCE))
    if imposed is not None and speculation not in (None, "none"):
        firm |= {"acceptance": "imposed", "imposed_accept_length": imposed}
    by_launch = Told("--launch", firm=firm)
    steps = engine.told.firm.get("steps")
    graphs = process.log.graphs(
        speculates=speculation not in (None, "none"),
        steps=steps if isinstance(steps, int) else None,
    )
    told = [by_launch]
    forward = graphs.get("verify") or graphs.get("decode")
    if forward is not None and speculation is not None:
        told.append(Told("the engine's log", firm={"cuda_graphs": forward}))
    known = {**engine.told.hints, **engine.told.firm, **firm}
    facts: dict[str, Any] = {"start_up_s": round(process.start_up_s or 0.0, 3)}
    if engine.memory_gib:
        facts["memory_gib"] = dict(engine.memory_gib)
    if graphs:
        facts["graphs"] = graphs
    if captures := process.log.capture_times_s():
        facts["capture_s"] = captures
    return replace(
        start,
        # It runs here, whatever its address is.
        engine=replace(
            engine,
            is_local=True,
            log=process.log,
            parameters=_told_nowhere(plan, command, known, start.redactor),
        ),
        told=tuple(told),
        facts=facts,
        environment={
            **({} if process.process_id is None else environment_of_engine(process.process_id)),
            "variables": engine_variables(start.redactor, environ),
        },
    )


def _imposed(text: str | None) -> float | None:
    """The accept length that the engine is told to draw around; 0 and less turn it off."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def _told_nowhere(
    plan: LaunchPlan, command: ReadyCommand, known: Mapping[str, Field], redactor: Redactor
) -> dict[str, Setting]:
    """What placeholders stand for and no field of the subject tells, by flag or variable.

    Not by the placeholder's own name: that is anybody's choice, and the same launch written with
    another one belongs to the same series.
    """
    found: dict[str, list[str]] = {}
    for use in command.uses:
        field = _FIELDS.get(use.name)
        if field is not None and field in known and _tells(field, known[field], use.value):
            names = [model_name(value).casefold() for value in plan.all_values(use.key)]
            # Two folders of one name would be one model.
            if field not in ("target", "drafter") or len(set(names)) == len(names):
                continue
        values = found.setdefault(use.name, [])
        if use.value not in values:
            values.append(use.value)
    return {name: _typed(redactor.text(" ".join(values))) for name, values in found.items()}


def _tells(name: str, field: Field, value: str) -> bool:
    if isinstance(field, str):
        return same_value(name, field, value)
    typed = _typed(value)
    return not isinstance(typed, str) and typed == field


def _typed(text: str) -> Setting:
    """A number where the text is one: 0.50 and 0.5 are the same value, and so are 2 and 2.0."""
    try:
        value = any_number(text)
    except ValueError:
        return text
    if not abs(value) < 1e15:  # nor is NaN
        return text
    return int(value) if value.is_integer() else value


def _with_last_words(reason: str, process: LaunchedEngine, redactor: Redactor) -> str:
    said = process.log.last_word(redactor.text)
    return f"{reason}; its log says: {said}" if said else f"{reason}; its log is empty"
