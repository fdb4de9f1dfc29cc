"""Takes user names, homes and secrets out of every text that a file gave, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gamekit.host.redact import Redactor
from gamekit.imports.figures import Field, Figure, Taken

# The longest name that a subject or an environment holds. It is cut only after the redaction: half
# a secret has no shape.
_LONGEST = 200
# Names of models: a path, address or repository is the same model as its last part.
_MODELS = ("target", "drafter")


def cleaned(taken: Taken, redactor: Redactor) -> Taken:
    """``taken`` as it may be printed and recorded; ``aside`` is left to ``kept_aside``.

    Of a model's name the last part is kept: the folders before it tell who keeps it where.
    """
    return replace(
        taken,
        figures=tuple(_figure(figure, redactor) for figure in taken.figures),
        version=None if taken.version is None else redactor.text(taken.version)[:_LONGEST],
        environment=_short(redactor.data(dict(taken.environment))),
        left_out=tuple(redactor.text(text) for text in taken.left_out),
    )


def _figure(figure: Figure, redactor: Redactor) -> Figure:
    return replace(
        figure,
        subject=_fields(figure.subject, redactor),
        hints=_fields(figure.hints, redactor),
        parameters=_fields(figure.parameters, redactor),
        convention=redactor.text(figure.convention),
    )


def _fields(fields: Mapping[str, Field], redactor: Redactor) -> dict[str, Field]:
    return {name: _field(name, value, redactor) for name, value in fields.items()}


def _field(name: str, value: Field, redactor: Redactor) -> Field:
    if not isinstance(value, str):
        return value
    text = redactor.text(value)
    if name in _MODELS:
        text = text.rstrip("/").rpartition("/")[2] or text
    return text[:_LONGEST]


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return value
