"""This machine now against what a run recorded: what differs, what matters most first."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from gamekit.errors import UsageFault
from gamekit.findings import Environment, Measurement, Run, RunSource, Series
from gamekit.host.fingerprint import Fingerprint
from gamekit.knowledge import Comparison, Knowledge, States, compare
from gamekit.knowledge.environments import LOAD, Difference, environment_of


@dataclass(frozen=True)
class Against:
    """``comparison`` is of now against what was recorded with ``of``, on the host ``host``.

    ``notes`` say what could not be compared.
    """

    of: str
    when: str | None
    host: str | None
    comparison: Comparison
    notes: tuple[str, ...]

    @property
    def answer(self) -> bool | None:
        """Whether this is the machine as it was, but for the boot and the load.

        None where nothing tells. The load of now is often that of whoever asks.
        """
        machine = self._machine
        if not machine.same and not machine.differ:
            return None
        return machine.only_identifies

    @property
    def first(self) -> Difference | None:
        """The difference of the machine that matters most, if there is one."""
        return next((item for item in self._machine.differ if not item.identifies), None)

    def in_words(self) -> str:
        """The comparison as one sentence part, the load last where it is all but the boot."""
        load = next((item for item in self.comparison.differ if item.field == LOAD), None)
        if load is None or not self.answer:
            return self.comparison.in_words()
        machine = replace(self._machine, unknown_before=(), unknown_after=()).in_words()
        unknown = self.comparison.in_words().partition("; unknown")
        return f"{machine}; what else ran does: {load.in_words()}{unknown[1]}{unknown[2]}"

    @property
    def _machine(self) -> Comparison:
        """The comparison without the load, which is none of the machine."""
        differ = tuple(item for item in self.comparison.differ if item.field != LOAD)
        return replace(self.comparison, differ=differ)

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "of": self.of,
            "when": self.when,
            "host": self.host,
            "as_it_was": self.answer,
            "differs": [
                {
                    "field": item.field,
                    "then": item.before,
                    "now": item.after,
                    "rank": item.rank,
                    "matters": item.group is not None,
                }
                for item in self.comparison.differ
            ],
            "same": list(self.comparison.same),
            "unknown_then": list(self.comparison.unknown_before),
            "unknown_now": list(self.comparison.unknown_after),
            "words": self.in_words(),
            "notes": list(self.notes),
        }


def against(knowledge: Knowledge, name: str, now: Fingerprint) -> Against:
    """``now`` against the run ``name``, or the run of that measurement or of a series' figure.

    Raises ``UsageFault`` for a name that is none of these.
    """
    record, run, then, host = _recorded(knowledge, name)
    notes: list[str] = []
    today = now.environment
    # What is an engine's is compared by its package; which start it was tells nothing here.
    version = today.packages.get(then.engine or "")
    today = today.model_copy(
        update={"engine": then.engine if version else None, "engine_version": version}
    )
    if (then.start is None) != (now.pid is None):
        told_of = ("the engine's process", "the process that measured")
        notes.append(
            f"variables are not compared: {told_of[then.start is None]} told them then, and"
            f" {now.variables_of} now; --pid names the engine's"
        )
        today, then = (one.model_copy(update={"variables": {}}) for one in (today, then))
    if now.pid is None and then.packages and not then.packages.keys() & today.packages.keys():
        notes.append(
            "packages are not compared: none of those is installed beside gamekit;"
            " --pid names the process of an engine"
        )
        today, then = (one.model_copy(update={"packages": {}}) for one in (today, then))
    then = then.model_copy(update={"start": None})
    return Against(
        record,
        None if run is None else run.started,
        host,
        compare(
            then,
            today,
            None if run is None else States.of(run),
            None if run is None else _states(now),
        ),
        tuple(notes),
    )


def _recorded(knowledge: Knowledge, name: str) -> tuple[str, Run | None, Environment, str | None]:
    """Run or measurement that is compared with, its run, its environment, and its host."""
    runs = knowledge.base.runs
    if name in runs:
        hosts = {case.subject.host for case in runs[name].cases} - {None}
        host = hosts.pop() if len(hosts) == 1 else None
        return name, runs[name], environment_of(runs[name]), host
    if name not in knowledge.base.records:
        close = difflib.get_close_matches(name, [*knowledge.base.records, *runs], n=3)
        raise UsageFault(
            f"there is no finding and no run '{name}'",
            mend=f"did you mean {' or '.join(close)}?" if close else "see: gamekit query",
        )
    record = knowledge.record(name)
    if isinstance(record.finding, Series):
        current = knowledge.series(name).current
        if current is None:
            raise UsageFault(
                f"series {name} has no current figure: {knowledge.figure(name).why_not}",
                mend="name a run, or a measurement",
            )
        record = current
    finding = record.finding
    if not isinstance(finding, Measurement):
        raise UsageFault(
            f"{name} is a {finding.kind}: it has no environment",
            mend="name a run, a measurement or a series",
        )
    run = runs[finding.source.run] if isinstance(finding.source, RunSource) else None
    return record.id, run, knowledge.environment(record.id), finding.subject.host


def _states(now: Fingerprint) -> States:
    """The state of now, without clocks: those of a GPU at rest say nothing of one at work."""
    state = now.captured.state
    gpus = [
        {name: value for name, value in gpu.items() if "clock" not in name}
        for gpu in state.get("gpus", ())
    ]
    return States(state, {"gpus": gpus})
