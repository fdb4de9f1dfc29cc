"""Which findings tell the time of a speculation cycle: timed ones, and pairs of rate and length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gamekit.findings import Measurement, Model, RunSource, Subject
from gamekit.knowledge import Grade, Knowledge
from gamekit.quantity import Quantity
from gamekit.ranges import Range
from gamekit.statistics import mean_interval
from gamekit.store.load import Record

# How a rate came to its accept length: of the same run; of another record whose subject agrees;
# imposed on the engine; or by the roles that gamekit.yaml gives two reported series.
Pairing = Literal["run", "subject", "imposed", "roles"]

# What an accept length belongs to. A field that either record leaves open matches nothing.
_PAIR_FIELDS = (
    "target", "quantization", "speculation", "drafter", "steps", "draft_tokens", "acceptance",
    "workload", "concurrency", "host",
)  # fmt: skip
_RATES = ("decode_rate", "end_to_end_rate")
_METRICS = (*_RATES, "cycle_time", "accept_length")
_REFUSED = {"superseded", "disputed", "retracted", "unreproduced"}
_USABLE = ("adequate", "reported", "published")


@dataclass(frozen=True)
class CycleEstimate:
    """The cycle time that one or two findings give, in ms.

    ``samples`` are one a request, None where the findings kept none, and where rate and accept
    length are not known to be of the same requests. ``stated`` and ``rounded`` are over stated
    ranges and with all roundings. ``accept_length`` (tokens a cycle) is the one that belongs to
    it, None where nobody told it. ``whole_requests`` says that prefill is in it, so that
    the cycle is at most this. ``start`` is the server start that it belongs to, None where unknown.
    ``untold`` are fields that a pair by roles should agree in and that neither finding tells.
    """

    ids: tuple[str, ...]
    subject: Subject
    grade: Grade
    pairing: Pairing | None
    whole_requests: bool
    accept_length: float | None
    samples: tuple[float, ...] | None
    stated: Range
    rounded: Range
    start: str | None
    boot: str | None
    untold: tuple[str, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether cycles were counted and timed, and not inferred from a rate."""
        return self.pairing is None


def cycle_estimates(knowledge: Knowledge) -> list[CycleEstimate]:
    """Every estimate that the findings that stand give, oldest first.

    A cycle that was counted and timed goes before a pair of the same subject and server start.
    """
    return _Estimates(knowledge).all()


class _Estimates:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._usable = [
            record
            for record in knowledge.oldest_first(knowledge.of_kind("measurement"))
            if self._counts(record)
        ]
        self._lengths = self._of("accept_length")
        # By a target's name, what its own finding says of its weights: engines do not tell it.
        self._quantization = {
            model.name: model.quantization
            for record in knowledge.of_kind("model")
            if isinstance(model := record.finding, Model)
            and model.role == "target"
            and isinstance(model.quantization, str)
        }
        self._lengths_of_run: dict[str, list[Record]] = {}
        for record in self._lengths:
            source = record.finding.source
            if isinstance(source, RunSource):
                self._lengths_of_run.setdefault(source.run, []).append(record)

    def all(self) -> list[CycleEstimate]:
        timed = self._of("cycle_time")
        # By the subjects as they were recorded: an estimate's own is filled in from elsewhere.
        known = {
            _origin(_finding(record).subject, start)
            for record in timed
            if (start := self._start(record)) is not None
        }
        found = [self._timed(record) for record in timed]
        paired: set[str] = set()
        for record in self._of(*_RATES):
            estimate = self._paired(record)
            if estimate is None:
                continue
            paired.update(estimate.ids)
            if _origin(_finding(record).subject, self._start(record)) not in known:
                found.append(estimate)
        found += self._by_roles(paired)
        places = {record.id: place for place, record in enumerate(self._usable)}
        return sorted(found, key=lambda one: places[one.ids[0]])

    def _counts(self, record: Record) -> bool:
        finding = _finding(record)
        return (
            finding.metric in _METRICS
            and finding.subject.speculation != "none"
            and stands(self._knowledge, record)
            and all(number > 0 for number in _numbers(finding.value))
        )

    def _of(self, *metrics: str) -> list[Record]:
        return [record for record in self._usable if _finding(record).metric in metrics]

    def _timed(self, record: Record) -> CycleEstimate:
        finding = _finding(record)
        length, _ = self._length_of(record)
        imposed = _imposed(finding.subject)
        return self._estimate(
            record,
            length,
            None,
            finding.value.stated(),
            finding.value.with_rounding(),
            _samples(finding.value),
            accept_length=imposed if length is None else _finding(length).value.stated().mid,
        )

    def _paired(self, record: Record) -> CycleEstimate | None:
        """The estimate of a rate whose accept length is known without the roles."""
        length, pairing = self._length_of(record)
        if length is not None:
            return self._quotient(record, length, pairing)
        imposed = _imposed(_finding(record).subject)
        if imposed is None:
            return None
        return self._divided(record, None, Quantity(unit="tok/cycle", value=imposed), "imposed")

    def _length_of(self, record: Record) -> tuple[Record | None, Pairing]:
        """The accept length of its case, else of its run, else of an agreeing subject."""
        finding = _finding(record)
        source = finding.source
        if isinstance(source, RunSource):
            of_run = [
                other
                for other in self._lengths_of_run.get(source.run, ())
                if _finding(other).subject == finding.subject
            ]
            if of_run:
                of_case = [other for other in of_run if _of_one_case(record, other)]
                return (of_case or of_run)[0], "run"
        for other in reversed(self._lengths):
            if self._agree(record, other):
                return other, "subject"
        return None, "subject"

    def _agree(self, one: Record, other: Record) -> bool:
        starts = {self._start(one), self._start(other)}
        subjects = _finding(one).subject, _finding(other).subject
        return (
            (None in starts or len(starts) == 1)
            and not contradict(*subjects)
            and all(_tells(subject, _PAIR_FIELDS) for subject in subjects)
        )

    def _by_roles(self, paired: set[str]) -> Iterator[CycleEstimate]:
        roles = self._knowledge.config.model
        if roles is None:
            return
        rate = self._knowledge.figure(roles.speculative_rate).record
        length = self._knowledge.figure(roles.accept_length).record
        if rate is None or length is None or {rate.id, length.id} & paired:
            return
        reported = all(str(self._knowledge.grade(one.id)) == "reported" for one in (rate, length))
        if not reported or not (self._counts(rate) and self._counts(length)):
            return
        if not contradict(_finding(rate).subject, _finding(length).subject):
            estimate = self._quotient(rate, length, "roles")
            if estimate is not None:
                yield estimate

    def _quotient(self, rate: Record, length: Record, pairing: Pairing) -> CycleEstimate | None:
        return self._divided(rate, length, _finding(length).value, pairing)

    def _divided(
        self, rate: Record, length: Record | None, tokens: Quantity, pairing: Pairing
    ) -> CycleEstimate | None:
        """The length over the rate; ``length`` is None where ``tokens`` were imposed.

        None where one of the two may be 0 or less: that bounds no cycle.
        """
        value = _finding(rate).value
        samples = _divided_samples(rate, length, tokens)
        if samples is not None:
            stated = rounded = mean_interval(samples)
        else:
            # A length that was imposed, and one with samples, has no rounding.
            most = tokens.stated() if length is None else tokens.with_rounding()
            least = value.with_rounding()
            if most.low <= 0 or least.low <= 0 or _may_be_0(tokens) or _may_be_0(value):
                return None
            stated, rounded = _ratio(tokens.stated(), value.stated()), _ratio(most, least)
        return self._estimate(
            rate,
            length,
            pairing,
            stated,
            rounded,
            samples,
            accept_length=tokens.stated().mid,
        )

    def _estimate(
        self,
        record: Record,
        length: Record | None,
        pairing: Pairing | None,
        stated: Range,
        rounded: Range,
        samples: tuple[float, ...] | None,
        *,
        accept_length: float | None,
    ) -> CycleEstimate:
        own = _finding(record).subject
        both = (record,) if length is None else (record, length)
        other = Subject() if length is None else _finding(length).subject
        told = {
            field: getattr(other, field)
            for field in Subject.model_fields
            if getattr(own, field) is None
        }
        subject = own.model_copy(update=told)
        if subject.quantization is None and subject.target is not None:
            known = self._quantization.get(subject.target)
            subject = subject.model_copy(update={"quantization": known})
        return CycleEstimate(
            ids=tuple(one.id for one in both),
            subject=subject,
            grade=self._grade_of(both),
            pairing=pairing,
            whole_requests=_finding(record).metric == "end_to_end_rate",
            accept_length=accept_length,
            samples=samples,
            stated=stated,
            rounded=rounded,
            start=self._start(record),
            boot=self._knowledge.environment(record.id).boot,
            untold=tuple(
                field
                for field in _PAIR_FIELDS
                if pairing == "roles" and getattr(subject, field) is None
            ),
        )

    def _grade_of(self, records: Iterable[Record]) -> Grade:
        grades = [grade for one in records if (grade := self._knowledge.grade(one.id)) is not None]
        return max(grades, key=lambda grade: _USABLE.index(grade.name))

    def _start(self, record: Record) -> str | None:
        source = record.finding.source
        start = self._knowledge.environment(record.id).start
        if start is None and isinstance(source, RunSource):
            return source.run
        return start


def stands(knowledge: Knowledge, record: Record) -> bool:
    """Whether a measurement is known, real and still believed: neither simulated nor inadequate."""
    grade = knowledge.grade(record.id)
    return (
        _finding(record).value.is_known
        and grade is not None
        and grade.name in _USABLE
        and not _REFUSED & set(knowledge.standing(record.id).statuses)
    )


def contradict(one: Subject, other: Subject) -> bool:
    """Whether some field is known in both and differs."""
    known = other.known()
    return any(known.get(field, value) != value for field, value in one.known().items())


def _origin(subject: Subject, start: str | None) -> tuple[str, str | None]:
    return subject.model_dump_json(), start


def _tells(subject: Subject, fields: Iterable[str]) -> bool:
    return all(getattr(subject, field) is not None for field in fields)


def _finding(record: Record) -> Measurement:
    assert isinstance(record.finding, Measurement)  # noqa: S101 - asked for by kind
    return record.finding


def _imposed(subject: Subject) -> float | None:
    """The accept length that the engine was told to draw around, if it was."""
    return subject.imposed_accept_length if subject.acceptance == "imposed" else None


def _samples(value: Quantity) -> tuple[float, ...] | None:
    return None if value.samples is None else tuple(map(float, value.samples))


def _numbers(value: Quantity) -> list[float]:
    numbers = (*(value.samples or ()), value.value, value.low, value.high)
    return [number for number in numbers if number is not None]


def _may_be_0(value: Quantity) -> bool:
    """Whether samples leave open that the figure is 0 or less, though none of them was."""
    return value.samples is not None and mean_interval(value.samples).low <= 0


def _divided_samples(
    rate: Record, length: Record | None, tokens: Quantity
) -> tuple[float, ...] | None:
    """Cycle times in ms request by request; None where the lengths are not of the same requests.

    A length that was imposed (``length`` is None) is that of every request. A measured one is where
    both findings are of one case of one run and have as many samples.
    """
    rates = _finding(rate).value.samples
    if rates is None:
        return None
    if length is None:
        lengths = [tokens.stated().mid] * len(rates)
    elif _of_one_case(rate, length) and len(tokens.samples or ()) == len(rates):
        lengths = list(map(float, tokens.samples or ()))
    else:
        return None
    return tuple(1000 * one / other for one, other in zip(lengths, rates, strict=True))


def _of_one_case(one: Record, other: Record) -> bool:
    """Whether one case of one run gave both."""
    sources = one.finding.source, other.finding.source
    return (
        all(isinstance(source, RunSource) for source in sources)
        and sources[0] == sources[1]
        # A run names its figures by itself, the case's number where it has several, and the metric.
        and one.id.rpartition(".")[0] == other.id.rpartition(".")[0]
    )


def _ratio(tokens: Range, rate: Range) -> Range:
    return Range(
        1000 * tokens.low / rate.high, 1000 * tokens.mid / rate.mid, 1000 * tokens.high / rate.low
    )
