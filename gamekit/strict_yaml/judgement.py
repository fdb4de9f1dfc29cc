"""Whether an unquoted scalar is read, and what is said about it where it is not."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from gamekit.strict_yaml.document import shortened
from gamekit.strict_yaml.limits import MAX_INTEGER, MAX_NUMBER_CHARACTERS, MIN_INTEGER
from gamekit.strict_yaml.scalars import Reading, Scalar, readings

# Plain "nan" and "Infinity" are texts to every YAML, but whoever writes them unquoted means the
# number: Python's and JavaScript's JSON writers do.
_NOT_A_MEASUREMENT = re.compile(r"[-+]?\.?(?:nan|inf|infinity)", re.IGNORECASE)
# Two shortcuts for what nearly every scalar is. No rule of any reader matches a text that begins
# otherwise, and all readers agree on such numbers; the tests hold both against the tables.
_FIRST_OF_A_RULE = frozenset("~-+.0123456789=<yYnNtTfFoOiI")
_ORDINARY_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,40})?")


@dataclass(frozen=True)
class Refused:
    """Why a scalar is not read, how to write the text, and how the number or boolean if any."""

    why: str
    mend: str
    or_else: str = ""


def judge(text: str) -> Scalar | Refused:
    """The value that every reader gives the unquoted scalar ``text``, or why there is none."""
    if text and text[0] not in _FIRST_OF_A_RULE:
        return text
    ordinary = _ORDINARY_NUMBER.fullmatch(text)
    if ordinary:
        return float(text) if ordinary[1] else int(text)
    return judge_by_tables(text)


@lru_cache(maxsize=1024)  # keys and words recur
def judge_by_tables(text: str) -> Scalar | Refused:
    """``judge`` without its shortcuts."""
    shown = shortened(text)
    quoted = f'write "{shown}" in quotes where the text is meant'
    if _NOT_A_MEASUREMENT.fullmatch(text):
        return Refused(
            f"{shown} is not a number that can be measured",
            f"say why the figure is unknown instead, or {quoted}",
        )
    found = readings(text)
    if len(found) > 1:
        return Refused(_disagreement(shown, found), *_how_to_write(shown, found))
    reading = next(iter(found))
    fault = _number_fault(shown, text, reading)
    return Refused(fault, f"write a number that fits, or {quoted}") if fault else reading.value


def number_text(value: float) -> str:
    """A finite float as all readers read it back, exactly: always a dot, a sign in the exponent."""
    text = float.__repr__(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def _number_fault(shown: str, text: str, reading: Reading) -> str | None:
    if reading.kind not in ("integer", "float"):
        return None
    if len(text) > MAX_NUMBER_CHARACTERS:
        return f"{shown} is a number of {len(text)} characters"
    if isinstance(reading.value, float):
        if math.isinf(reading.value):
            return f"{shown} is beyond what a double holds"
        if reading.value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
            return f"{shown} is so small that a double holds 0 for it"
    elif isinstance(reading.value, int) and not MIN_INTEGER <= reading.value <= MAX_INTEGER:
        return f"{shown} is beyond a 64-bit integer"
    return None


def _disagreement(shown: str, found: dict[Reading, str]) -> str:
    (first, reader), *others = found.items()
    said = [f"{reader} reads {shown} as {_described(first)}"]
    said += [f"{other} as {_described(reading)}" for reading, other in others]
    return ", ".join(said)


def _described(reading: Reading) -> str:
    match reading.kind:
        case "null":
            return "null"
        case "boolean":
            return str(_literal(reading))
        case "integer" | "float":
            literal = _literal(reading)
            return f"the number {literal}" if literal else "a number"
    return f"a {reading.kind}"


def _literal(reading: Reading) -> str | None:
    """The number or boolean in the form that all readers agree on; None where there is none."""
    match reading.value:
        case bool():
            return "true" if reading.value else "false"
        case int() if MIN_INTEGER <= reading.value <= MAX_INTEGER:
            return str(reading.value)
        case float() if math.isfinite(reading.value):
            return number_text(reading.value)
    return None


def _how_to_write(shown: str, found: dict[Reading, str]) -> tuple[str, str]:
    if any(reading.kind == "merge key" for reading in found):
        return "write the fields out instead of merging them", ""
    literals = dict.fromkeys(literal for reading in found if (literal := _literal(reading)))
    kind = "boolean" if any(reading.kind == "boolean" for reading in found) else "number"
    other = f", or the {kind} as {' or '.join(literals)}" if literals else ""
    return f'write "{shown}" in quotes for the text', other
