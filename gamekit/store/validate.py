"""Turns what pydantic says of a document into errors that name file, line and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gamekit.errors import FindingError, KnowledgeErrors
from gamekit.store.patterns import in_words
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
    faults: dict[Path, list[Any]] = {}
    for item in error.errors(include_url=False):
        inner = _real_path(_at(document.data, path), item["loc"])
        # The parent of a missing field exists; the field itself has no line.
        faults.setdefault(_named(inner, item), []).append(item)
    for where, items in faults.items():
        if all(item["type"] in _WRONG_TYPES for item in items) and any(
            len(other) > len(where) and other[: len(where)] == where for other in faults
        ):
            # It is of one of the types that may stand here, and a field of it is wrong.
            continue
        full = (*path, *where)
        # Several of one place: every type that may stand there has refused it.
        message, mend = _explain(items, model, document, full)
        named = _dotted(where)
        yield FindingError(
            f"{named}: {message}" if named else message,
            file=file,
            line=document.line_of(full),
            finding=finding,
            mend=mend,
        )


def _explain(
    items: Sequence[Any], model: type[BaseModel], document: Document, full: Path
) -> tuple[str, str | None]:
    wrong_types = [item for item in items if item["type"] in _WRONG_TYPES]
    item = next((item for item in items if item not in wrong_types), items[0])
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
    if kind == "string_pattern_mismatch":
        return in_words(item["ctx"]["pattern"])
    if kind in _WRONG_TYPES:
        wanted = list(dict.fromkeys(_WRONG_TYPES[item["type"]] for item in wrong_types))
        if "a number" in wanted and "a whole number" in wanted:
            wanted.remove("a whole number")
        return _wrong_type(wanted, _at(document.data, full), document.raw.get(full))
    message = item["msg"].removeprefix("Value error, ")
    return message[0].lower() + message[1:], None


# What pydantic says of a value of the wrong type, and what should stand there.
_WRONG_TYPES = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _wrong_type(wanted: list[str], found: Any, raw: str | None) -> tuple[str, str]:
    if wanted[0] == "a text" and raw is not None:
        return f"is text, and {raw} was read as a number or a logical value", f'write "{raw}"'
    shown = _TYPES_READ.get(type(found), "empty")
    if raw is not None and found is not None:
        shown = f"{shown}, {raw}"
    names = " or ".join(wanted)
    quoted = isinstance(found, str) and names in ("a number", "a whole number")
    return f"is {shown}, and not {names}", f"write {names}{' without quotes' if quoted else ''}"


_TYPES_READ: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number with a point",
    bool: "a logical value",
    list: "a list",
    dict: "a mapping",
}


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
