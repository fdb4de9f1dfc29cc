"""``gamekit bench``: runs benchmarks and, when asked, records what they measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamekit.commands import against_series, several_runs, wording
from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import ProgressLine, paragraph, print_json, say, table
from gamekit.errors import BenchmarkFailed, MachineRefused, UsageFault

if TYPE_CHECKING:
    from gamekit.bench.module import Benchmark
    from gamekit.bench.runner import RunOutcome
    from gamekit.bench.series import Joined
    from gamekit.knowledge import Knowledge

# Of an engine's log, with a run that failed.
_LAST_LINES = 12


@click.command("bench", short_help="Run benchmarks; say and record what they measured.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "as_list", is_flag=True, help="List the benchmarks and their parameters.")
@click.option(
    "--url",
    "urls",
    multiple=True,
    metavar="URL",
    help="The server to measure; two are measured in turn. Without one, and without --launch, a"
    " stand-in engine.",
)
@click.option(
    "--launch",
    "launches",
    multiple=True,
    metavar="COMMAND",
    help="The command of an engine to start, measure and end, such as 'sglang serve --model-path M"
    " --port {port}'; {port} is a free port, {key} the values of --set key=VALUE,VALUE. Two are"
    " started side by side and measured in turn. --set starts=N starts each N times.",
)
@click.option(
    "--subject",
    multiple=True,
    metavar="KEY=VALUE",
    help="What is measured, where the engine and the host do not say; such as host=NAME. Names are"
    " matched without regard to case, and recorded as the series joined spells them.",
)
@click.option(
    "--series", multiple=True, metavar="ID", help="The series to join; one for each metric."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the benchmark; values separated by commas are measured one by one.",
)
@click.option("--append", is_flag=True, help="Record each run in a new file of the knowledge base.")
@as_json_option
def command(
    names: tuple[str, ...],
    as_list: bool,
    urls: tuple[str, ...],
    launches: tuple[str, ...],
    subject: tuple[str, ...],
    series: tuple[str, ...],
    settings: tuple[str, ...],
    append: bool,
    as_json: bool,
) -> None:
    """Run the benchmarks NAME (all, if none is named) that can run here.

    Says what was skipped and why, and which series each figure joined. A url that does not answer
    is exit 6, and so is a benchmark that failed or a call that measured nothing; where this machine
    refused what it needs, such as open files, it is exit 7. One that is
    interrupted (Ctrl-C, SIGTERM, SIGHUP) keeps what it measured, and is exit 130.

    An engine that --launch starts is ended with all that it started, however the call ends. It may
    take --set start_timeout=SECONDS to be ready. Each start is a run of its own.
    """
    from gamekit.bench.discovery import discover, raise_problems
    from gamekit.bench.report import knowledge_with
    from gamekit.bench.runner import run_benchmarks

    root = _root()
    if as_list:
        found = discover(root)
        _list(found.select(names), as_json=as_json)
        raise_problems(found)
        return
    knowledge_with(root, [])  # a wrong knowledge base is told before an hour of measuring
    with ProgressLine(quiet=as_json) as progress:
        outcomes = run_benchmarks(
            root,
            names,
            urls=urls,
            launches=launches,
            subject=subject,
            series=series,
            settings=settings,
            append=append,
            progress=progress,
            begins=progress.begins,
        )
    _tell(root, outcomes, as_json=as_json)
    _judge(outcomes)


def _root() -> Path | None:
    """The knowledge base of the current folder; benchmarks also run without one."""
    from gamekit.store.root import find_root

    try:
        return find_root(Path.cwd())
    except UsageFault:
        return None


def _list(selected: Sequence[Benchmark], *, as_json: bool) -> None:
    from gamekit.bench.runner import why_not_here
    from gamekit.host.capture import capture
    from gamekit.host.redact import Redactor

    around = capture(Redactor.of_this_process())
    reasons = {benchmark.name: why_not_here(benchmark, around) for benchmark in selected}
    if as_json:
        print_json([{**_declared(one), "why_not_here": reasons[one.name]} for one in selected])
        return
    for number, benchmark in enumerate(selected):
        if number:
            say()
        metrics = ", ".join(
            one.metric if one.unit == "1" else f"{one.metric} ({one.unit})"
            for one in benchmark.measures
        )
        say(f"{benchmark.name}: {benchmark.description}", "strong")
        paragraph(f"needs {benchmark.needs}; measures {metrics}", "  ")
        paragraph(_here(benchmark, reasons[benchmark.name]), "  ")
        if benchmark.parameters:
            rows = [
                (
                    f"  {one.name}",
                    one.default_words,
                    "" if one.unit == "1" else one.unit,
                    one.description,
                )
                for one in benchmark.parameters
            ]
            table(("  --set", "default", "unit", ""), rows)


def _here(benchmark: Benchmark, reason: str | None) -> str:
    from gamekit.bench.module import Needs

    if reason is not None:
        return f"cannot run here: {reason}"
    stand_in = "; without --url and --launch it measures the stand-in engine"
    return f"can run here{stand_in if benchmark.needs is Needs.SERVER else ''}"


def _declared(benchmark: Benchmark) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "description": benchmark.description,
        "needs": str(benchmark.needs),
        "metrics": [{"metric": one.metric, "unit": one.unit} for one in benchmark.measures],
        "parameters": [
            {
                "name": one.name,
                "type": one.type.__name__,
                "unit": one.unit,
                "default": one.default,
                "description": one.description,
            }
            for one in benchmark.parameters
        ],
    }


def _tell(root: Path | None, outcomes: Sequence[RunOutcome], *, as_json: bool) -> None:
    from gamekit.bench.report import against_their_series, knowledge_with, measured_rows

    knowledge = knowledge_with(root, outcomes)
    rows = [(outcome, measured_rows(knowledge, outcome)) for outcome in outcomes]
    if as_json:
        print_json([row for outcome, given in rows if not outcome.recovered for row in given])
        return
    begun: set[str] = set()
    against = against_their_series(knowledge, outcomes)
    engines = several_runs.engine_names([one.record.run for one in outcomes if one.record])
    for outcome, given in rows:
        run = None if outcome.record is None else outcome.record.run
        _tell_outcome(outcome, None if run is None else engines.get(run.id))
        if run is not None and run.outcome == "failed":
            # Why is told above, once for all of them.
            say(f"  no figure of {', '.join(row['metric'] for row in given)}")
            continue
        joined = iter(outcome.joined)
        headings = {} if run is None else several_runs.case_headings(run)
        for row in given:
            heading = headings.pop(row["id"].removesuffix(f".{row['metric']}"), None)
            if heading is not None:
                say(f"  {heading}", "strong")
            _tell_figure(knowledge, row)
            # In one order: each measurement of a run that is done has joined something, or nothing.
            _tell_series(next(joined, None), begun)
            against_series.tell(against.get(row["id"]), appended=outcome.file is not None)
        _tell_percentiles(outcome)
    several_runs.tell(knowledge, rows)


def _tell_outcome(outcome: RunOutcome, engine: str | None) -> None:
    if outcome.record is None:
        if outcome.skipped is not None:
            say(f"{outcome.benchmark}: skipped, {outcome.skipped}")
        return
    run = outcome.record.run
    again = " (it was killed earlier)" if outcome.recovered else ""
    say(f"{outcome.benchmark}: {run.outcome}{again}, run {run.id}", "strong")
    if engine is not None:
        paragraph(f"engine: {engine}", "  ")
    log = [] if run.launch is None or not run.reason else run.launch.log[-_LAST_LINES:]
    if run.reason:
        paragraph(_without(log, run.reason), "  ")
    if log:
        say("  the engine's log ends with")
        for line in log:
            say(f"    {line}", "dim")
    if run.outcome == "interrupted":
        paragraph(_kept(outcome), "  ")
    for warning in several_runs.warnings(run):
        paragraph(f"warning: {warning}", "  ")
    if outcome.file is not None:
        say(f"  appended {outcome.file}")


def _kept(outcome: RunOutcome) -> str:
    """What is left of a run that was interrupted, and where."""
    from gamekit.bench.module import PART
    from gamekit.findings import Measurement

    if outcome.record is None:
        return ""
    run, findings = outcome.record.run, outcome.record.findings
    measured = [one for one in findings if isinstance(one, Measurement) and one.value.is_known]
    cases = len({one.id.removesuffix(f".{one.metric}") for one in measured})
    counts = [
        sum(part is None for part in case.samples[PART])
        if PART in case.samples
        else len(next(iter(case.samples.values()), []))
        for case in run.cases
    ]
    kept = [f"{wording.counted(sum(counts), 'sample')} of {wording.counted(len(counts), 'case')}"]
    kept.append(f"figures of {cases or 'none'} of them")
    recorded = "" if outcome.file is not None else "; nothing is recorded without --append"
    return f"kept: {', '.join(kept)}{recorded}"


def _without(log: Sequence[str], reason: str) -> str:
    """A reason without the line of the log that it ends with, where the log is told beside it."""
    for line in sorted(log, key=len, reverse=True):
        reason = reason.replace(f"; its log says: {line}", "")
    return reason


def _tell_figure(knowledge: Knowledge, row: dict[str, Any]) -> None:
    figure = wording.figure(knowledge, row["id"]) or "no figure"
    say(f"  {row['metric']}: {figure}, {knowledge.grade(row['id'])}")


def _tell_percentiles(outcome: RunOutcome) -> None:
    """How the requests of each load were spread, of which the figures are means."""
    headings = {} if outcome.record is None else several_runs.case_headings(outcome.record.run)
    for number, case in enumerate([] if outcome.record is None else outcome.record.run.cases, 1):
        heading = next((of for name, of in headings.items() if name.endswith(f".{number}")), None)
        for line in wording.percentiles(case.facts):
            paragraph(f"{f'{heading}: ' if heading else ''}{line}", "  ")


def _tell_series(joined: Joined | None, begun: set[str]) -> None:
    """Which series a figure joined; ``begun`` has those that were told to begin already."""
    if joined is None:
        return
    if joined.begins is not None and joined.begins.id not in begun:
        begun.add(joined.begins.id)
        paragraph(f"begins series {joined.series}", "    ")
        return
    series = "no series" if joined.series is None else f"series {joined.series}"
    how = joined.how if joined.begins is None else "begun above"
    paragraph(f"joins {series}: {how}", "    ")


def _judge(outcomes: Sequence[RunOutcome]) -> None:
    """Raise what the exit code has to say: interrupted, broken file, failed, nothing measured."""
    own = [outcome for outcome in outcomes if not outcome.recovered]
    if any(outcome.interrupted for outcome in own):
        raise KeyboardInterrupt
    for outcome in own:
        if outcome.fault is not None:
            raise outcome.fault
    failed = [one.record.run for one in own if one.record is not None and not one.measured]
    if failed:
        names = ", ".join(dict.fromkeys(run.benchmark for run in failed))
        refused = any(one.refusal is not None for one in own)
        raise (MachineRefused if refused else BenchmarkFailed)(
            f"{names} failed: {failed[0].reason}", mend="what came of each run is told with it"
        )
    if not any(outcome.measured for outcome in own):
        reasons = "; ".join(f"{one.benchmark}: {one.skipped}" for one in own if one.skipped)
        raise BenchmarkFailed(
            f"nothing was measured{f' ({reasons})' if reasons else ''}",
            mend="see what each benchmark needs: gamekit bench --list",
        )
