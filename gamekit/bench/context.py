"""What a running benchmark is given, and where it says what it saw besides its samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, TypeVar

from gamekit.bench.engine_facts import EngineFacts
from gamekit.bench.kept import Kept
from gamekit.bench.module import Benchmark, Value
from gamekit.bench.subject import Field, Told, merge
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.findings import Subject
from gamekit.store.plain import plain

T = TypeVar("T")
Progress = Callable[[str], None]


class Context:
    """One case of a run: ``context["requests"]`` is a parameter's value, ``.engine`` the server.

    What the benchmark tells here is kept with the case. ``facts``, ``warnings``, ``flaws`` and
    ``unknown`` are read by the runner when the case is over.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        parameters: Mapping[str, Value],
        engine: EngineFacts | None,
        sources: Sequence[Told],
        root: Path | None,
        progress: Progress,
        kept: Kept | None = None,
    ) -> None:
        self.benchmark = benchmark
        self.parameters = dict(parameters)
        self.root = root
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.flaws: dict[str, list[str]] = {}
        self.unknown: dict[str, str] = {}
        self.environment: dict[str, Any] = {}
        self._engine = engine
        self._sources = list(sources)
        self._own: dict[str, Field] = {}
        self._progress = progress
        self._kept = Kept() if kept is None else kept
        self.subject: Subject = merge(self._sources)
        self.cases: Sequence[Mapping[str, Value]] = [self.parameters]
        self.number = 0

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    @property
    def engine(self) -> EngineFacts:
        """The engine that is measured. Raises ``UsageFault`` in a benchmark that needs none."""
        if self._engine is None:
            raise UsageFault(
                f"{self.benchmark.name} asks for an engine and does not declare that it needs one",
                mend="declare needs=Needs.SERVER",
            )
        return self._engine

    @property
    def has_engine(self) -> bool:
        """Whether there is an engine at all."""
        return self._engine is not None

    def tell(self, **fields: Field) -> None:
        """Say what this benchmark itself fixes of the subject, such as ``concurrency=1``.

        Raises ``UsageFault`` where it contradicts what the user or the engine says. Tell before the
        first sample: then a contradiction costs nothing.
        """
        own = {**self._own, **fields}
        self.subject = merge([*self._sources, Told(self.benchmark.name, firm=own)])
        self._own = own

    def within(self, cases: Sequence[Mapping[str, Value]], number: int) -> Self:
        """Itself, as case ``number`` of these: ``cases`` tell what is worth starting ahead."""
        self.cases, self.number = cases, number
        return self

    def settle(self, **values: Value) -> None:
        """Say what parameters that were not given have come to, such as the number of GPUs here.

        They are recorded, and belong to the subject, as if they had been given.
        """
        self.parameters.update(values)

    def belonging(self, *, expected: bool = False) -> Subject:
        """``subject`` with the parameters that belong to it and that no field of it tells.

        Those are the ones that are no effort and have not their default, and those of the engine's
        launch. ``expected`` leaves those out that the benchmark may still tell, as before its last
        sample.
        """
        parameters = {
            one.name: self.parameters[one.name]
            for one in self.benchmark.parameters
            if not one.effort
            and self.parameters[one.name] not in (None, one.default)
            and (one.tells or one.name) not in self._own
            and not (expected and one.tells)
        }
        launched = {} if self._engine is None else self._engine.parameters
        return self.subject.model_copy(update={"parameters": {**parameters, **launched}})

    def keep(self, key: str, open_it: Callable[[], AbstractContextManager[T]]) -> T:
        """What ``open_it`` gives, opened by the run's first case that asks and closed at its end.

        For what is costly to start and the same for several cases, such as worker processes. It is
        closed whatever the run ends with.
        """
        return self._kept.get(key, open_it)

    def ran_in(self, environment: Mapping[str, Any]) -> None:
        """Say what surrounded the processes that were measured, where that was not this process.

        By the fields of an ``Environment``, as ``gamekit.host.engine_process`` reads them.
        """
        self.environment.update(environment)

    def fact(self, name: str, value: Any) -> None:
        """Keep something that was seen besides the samples: numbers, texts, lists, dicts.

        Raises ``FindingError`` for what a run file cannot hold, ``BenchmarkFailed`` without a name.
        """
        self.facts[_said("the name of a fact", name)] = plain(value, f"the fact {name}")

    def warn(self, text: str) -> None:
        """Say what a reader of the figures must know; once, however often it is said."""
        if _said("a warning", text) not in self.warnings:
            self.warnings.append(text)

    def flaw(self, text: str, *metrics: str) -> None:
        """Say why the figures of these metrics (or of all) cannot count as adequate."""
        for metric in metrics or [one.metric for one in self.benchmark.measures]:
            flaws = self.flaws.setdefault(metric, [])
            if _said("a flaw", text) not in flaws:
                flaws.append(text)

    def not_known(self, metric: str, why: str) -> None:
        """Say why a metric that a reader expects has no figure in this case."""
        self.unknown[metric] = _said(f"why {metric} is not known", why)

    def progress(self, text: str) -> None:
        """Tell the user how far it is; shown on a terminal only, and not recorded."""
        self._progress(text)


def _said(what: str, text: Any) -> str:
    """``text``. Raises ``BenchmarkFailed`` for what says nothing."""
    if not isinstance(text, str) or not text.strip():
        raise BenchmarkFailed(f"{what} is {text!r:.100}, and not a text", mend="say it in words")
    return text
