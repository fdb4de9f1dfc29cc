"""Merges what user, engine and benchmark say of a subject; contradictions are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from gamekit.errors import GamekitError, UsageFault
from gamekit.findings import Subject
from gamekit.strict_yaml.limits import MAX_INTEGER

Field = str | int | float
# Fields whose values are names of models: a path or repository is the same model as its last part.
_MODELS = ("target", "drafter")
# What can be told. The rest, the benchmark's parameters, are those that it was run with.
_FIELDS = tuple(name for name in Subject.model_fields if name != "parameters")


@dataclass(frozen=True)
class Told:
    """What somebody says of the subject.

    ``firm`` fields contradict another value. ``also`` has further names under which a model of a
    firm field is known. ``hints`` fill what nobody says firmly: the last part of a local path is no
    name that anybody chose. ``fault`` is raised for a value that no subject can have: that of an
    engine is none of the command line.
    """

    who: str
    firm: Mapping[str, Field] = field(default_factory=dict)
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hints: Mapping[str, Field] = field(default_factory=dict)
    fault: type[GamekitError] = UsageFault


def parse_subject(pairs: Sequence[str]) -> Subject:
    """The subject that ``--subject key=value`` options tell.

    Raises ``UsageFault`` for a key that a subject does not have, and for a value of another type.
    """
    told: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not value:
            raise UsageFault(f"--subject {pair}: it is no pair", mend="write --subject key=value")
        if key not in _FIELDS:
            close = get_close_matches(key, _FIELDS, n=1)
            mend = f"did you mean {close[0]}?" if close else _known_fields()
            raise UsageFault(f"--subject {pair}: a subject has no {key}", mend=mend)
        if told.get(key, value) != value:
            raise UsageFault(
                f"--subject {key} is given twice, as {told[key]} and as {value}", mend="keep one"
            )
        told[key] = value
    try:
        subject = Subject.model_validate_strings(told)
        for key, value in told.items():
            if not isinstance(getattr(subject, key), str | bool) and "_" in value:
                mend = "write it in digits alone"
                raise UsageFault(f"--subject {key}={value} is not a number", mend=mend)
        return subject
    except ValidationError as error:
        name, message = _first_fault(error)
        shown = " ".join(f"{key}={told[key]}" for key in ([name] if name else told))
        raise UsageFault(
            f"--subject {shown}: {message}", mend="see the subject's fields in the schema"
        ) from None


def same_value(name: str, one: Field, other: Field) -> bool:
    """Whether two values of a subject's field are the same; names regardless of case and ``_``."""
    if isinstance(one, str) and isinstance(other, str):
        return _normal(name, one) == _normal(name, other)
    return one == other


def merge(sources: Sequence[Told]) -> Subject:
    """The subject on which ``sources`` agree; the first that names a field gives its spelling.

    Raises ``UsageFault`` where two contradict each other, and the ``fault`` of a source of whose
    values one cannot be.
    """
    merged: dict[str, tuple[Field, Told]] = {}
    for source in sources:
        for name, value in source.firm.items():
            if name not in merged:
                merged[name] = (value, source)
                continue
            first, by = merged[name]
            names = {first, value, *by.also.get(name, ()), *source.also.get(name, ())}
            agreed = (
                same_value(name, first, value)
                or any(same_value(name, first, other) for other in source.also.get(name, ()))
                or any(same_value(name, value, other) for other in by.also.get(name, ()))
            )
            if not agreed:
                raise UsageFault(
                    f"{by.who} says {name}={first}, {source.who} says {name}={value}",
                    mend=f"leave out what is wrong, or measure what was meant"
                    f"{_choices(names, first, value)}",
                )
    for source in sources:
        for name, value in source.hints.items():
            merged.setdefault(name, (value, source))
    fields: dict[str, Any] = {name: merged[name][0] for name in _FIELDS if name in merged}
    for name, value in fields.items():
        _check_size(merged[name][1], name, value)
    try:
        return Subject.model_validate(fields)
    except ValidationError as error:
        wrong, message = _first_fault(error)
        if wrong is None:  # the fields contradict each other
            _check_alone(sources)
            who = " and ".join(dict.fromkeys(source.who for _, source in merged.values()))
            raise UsageFault(
                f"{message} (as {who} say)", mend="leave out what is wrong, or say what is right"
            ) from None
        raise merged[wrong][1].fault(
            f"{merged[wrong][1].who} says {wrong}={fields[wrong]}, which a subject cannot have:"
            f" {message}",
            mend="see the subject's fields in the schema",
        ) from None


def _check_alone(sources: Sequence[Told]) -> None:
    """Raise the ``fault`` of a source that contradicts itself, whatever the others say."""
    for source in sources:
        try:
            Subject.model_validate(dict(source.firm))
        except ValidationError as error:
            wrong, message = _first_fault(error)
            if wrong is None:
                raise source.fault(
                    f"{message} (as {source.who} says)", mend="say what is right"
                ) from None


def model_name(name: str) -> str:
    """The last part of a path or repository, by which people know the model."""
    return name.rstrip("/").rpartition("/")[2] or name


def is_local_path(name: str) -> bool:
    """Whether a model's name is a folder of the machine rather than a repository."""
    return name.startswith(("/", ".", "~"))


def _normal(name: str, value: str) -> str:
    text = model_name(value) if name in _MODELS else value
    return "-".join(text.casefold().replace("_", " ").replace("-", " ").split())


def _check_size(source: Told, name: str, value: Field) -> None:
    if isinstance(value, int | float) and not abs(value) <= MAX_INTEGER:  # nor is NaN
        raise source.fault(
            f"{source.who} says {name}={value}, which no run file holds", mend="give what it is"
        )


def _choices(names: set[Field], first: Field, value: Field) -> str:
    more = sorted(str(name) for name in names - {first, value})
    return f" (it is also known as {', '.join(more)})" if more else ""


def _known_fields() -> str:
    return f"the fields are: {', '.join(_FIELDS)}"


def _first_fault(error: ValidationError) -> tuple[str | None, str]:
    """The field that is wrong (None: several do not fit together), and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    return (str(first["loc"][0]) if first["loc"] else None), message[0].lower() + message[1:]
