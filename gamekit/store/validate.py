"""Turns what pydantic says of a document into errors that name file, line and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gamekit.errors import FindingError, KnowledgeErrors
from gamekit.strict_yaml import Document

Path = tuple[str | int, ...]
ModelT = TypeVar("ModelT", bound=BaseModel)


def validated(
    model: type[ModelT],
    document: Document,
    file: str,
    path: Path = (),
    finding: str | None = None,
) -> ModelT:
    """``document``'s data at ``path`` as ``model``.

    Raises ``FindingError``, or ``KnowledgeErrors`` when several fields are wrong; each knows the
    line of its field.
    """
    data = _at(document.data, path)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = list(_problems(error, model, document, file, path, finding))
    if len(problems) == 1:
        raise problems[0]
    raise KnowledgeErrors(problems)


def _problems(
    error: ValidationError,
    model: type[BaseModel],
    document: Document,
    file: str,
    path: Path,
    finding: str | None,
) -> Iterator[FindingError]:
    seen = set()
    for item in error.errors(include_url=False):
        inner = _real_path(_at(document.data, path), item["loc"])
        full = (*path, *inner)
        if item["type"] == "missing":
            # The parent exists; the missing field itself has no line.
            full = full[:-1] if full and full[-1] == item["loc"][-1] else full
        message, mend = _explain(item, model, document, full)
        where = _dotted(_named(inner, item))
        key = (full, message)
        if key in seen:
            continue
        seen.add(key)
        yield FindingError(
            f"{where}: {message}" if where else message,
            file=file,
            line=document.line_of(full),
            finding=finding,
            mend=mend,
        )


def _explain(
    item: Any, model: type[BaseModel], document: Document, full: Path
) -> tuple[str, str | None]:
    kind = item["type"]
    if kind == "extra_forbidden":
        name = str(item["loc"][-1])
        close = difflib.get_close_matches(name, _field_names(model), n=1)
        mend = (
            f"did you mean {close[0]}?" if close else "remove it, or see the schema for the names"
        )
        return "there is no such field", mend
    if kind == "missing":
        return "is missing", "add it"
    raw = document.raw.get(full)
    if kind == "string_type" and raw is not None:
        return f"is text, and {raw} was read as a number or a logical value", f'write "{raw}"'
    message = item["msg"].removeprefix("Value error, ")
    return message[0].lower() + message[1:], None


def _field_names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _named(inner: Path, item: Any) -> Path:
    last = item["loc"][-1] if item["loc"] else None
    if item["type"] == "missing" and (not inner or inner[-1] != last):
        return (*inner, last) if last is not None else inner
    return inner


def _real_path(data: Any, loc: Sequence[str | int]) -> Path:
    """``loc`` without the union tags that pydantic adds and the data does not have."""
    path: list[str | int] = []
    for step in loc:
        in_list = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if in_list or (isinstance(data, dict) and step in data):
            data = data[step]
            path.append(step)
    return tuple(path)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
