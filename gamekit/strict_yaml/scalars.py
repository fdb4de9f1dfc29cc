"""What an unquoted scalar is to YAML 1.1 and to YAML 1.2, and whether the two agree.

Five tables, each written down from its own source and none derived from another. A scalar is read
only when all five give the same kind and value.

* YAML 1.1: the type repository (https://yaml.org/type/), with two of its float pattern's slips put
  right as every implementation does: digits and underscores after the dot (not dots), and a digit
  somewhere.
* PyYAML 6 and ruamel.yaml under version 1.1: what they read differently from that text.
* YAML 1.2: the core schema (https://yaml.org/spec/1.2.2/#103-core-schema).
* ruamel.yaml under version 1.2: what it reads beyond the core schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Kind = Literal[
    "null", "boolean", "integer", "float", "timestamp", "merge key", "default key", "text"
]


@dataclass(frozen=True)
class Reading:
    """What one reader makes of a scalar; ``value`` is its text where no number comes of it."""

    kind: Kind
    value: Scalar


@dataclass(frozen=True)
class _Rule:
    kind: Kind
    pattern: re.Pattern[str]
    value: Callable[[str], Scalar]


def _rule(kind: Kind, pattern: str, value: Callable[[str], Scalar]) -> _Rule:
    return _Rule(kind, re.compile(pattern), value)


def _null(_: str) -> None:
    return None


def _is_true(text: str) -> bool:
    return text.lower() in {"true", "yes", "on", "y"}


def _itself(text: str) -> str:
    return text


def _sign_and_digits(text: str) -> tuple[int, str]:
    return (-1 if text.startswith("-") else 1), text.lstrip("+-").replace("_", "")


def _decimal(text: str) -> int:
    sign, digits = _sign_and_digits(text)
    return sign * int(digits)


def _octal(text: str) -> int:
    sign, digits = _sign_and_digits(text)
    return sign * int(digits.removeprefix("0o") or "0", 8)


def _hexadecimal(text: str) -> int:
    sign, digits = _sign_and_digits(text)
    return sign * int(digits.removeprefix("0x"), 16)


def _binary(text: str) -> int:
    sign, digits = _sign_and_digits(text)
    return sign * int(digits.removeprefix("0b"), 2)


def _float(text: str) -> float:
    return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))


def _special_float(text: str) -> float:
    return _float(text.lower())


def _sexagesimal_integer(text: str) -> int:
    sign, digits = _sign_and_digits(text)
    value = 0
    for part in digits.split(":"):
        value = value * 60 + int(part)
    return sign * value


def _sexagesimal_float(text: str) -> float:
    sign, digits = _sign_and_digits(text)
    value = 0.0
    for part in digits.split(":"):
        value = value * 60 + float(part)
    return sign * value


_NULL = _rule("null", r"~|null|Null|NULL|", _null)
_NOT_FINITE = (
    _rule("float", r"[-+]?\.(?:inf|Inf|INF)", _special_float),
    _rule("float", r"\.(?:nan|NaN|NAN)", _special_float),
)
_TIMESTAMP = _rule(
    "timestamp",
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
    r"(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?",
    _itself,
)
_MERGE = _rule("merge key", r"<<", _itself)
_DEFAULT = _rule("default key", r"=", _itself)
_ON_OFF = r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"
_BINARY = _rule("integer", r"[-+]?0b[01_]+", _binary)
_SEXAGESIMAL_INTEGER = _rule("integer", r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+", _sexagesimal_integer)
_SEXAGESIMAL_FLOAT = _rule(
    "float", r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*", _sexagesimal_float
)
_INTEGERS_1_1 = (
    _BINARY,
    _rule("integer", r"[-+]?0[0-7_]+", _octal),
    _rule("integer", r"[-+]?(?:0|[1-9][0-9_]*)", _decimal),
    _rule("integer", r"[-+]?0x[0-9a-fA-F_]+", _hexadecimal),
    _SEXAGESIMAL_INTEGER,
)

_YAML_1_1 = (
    _NULL,
    _rule("boolean", rf"y|Y|n|N|{_ON_OFF}", _is_true),
    *_INTEGERS_1_1,
    _rule(
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?",
        _float,
    ),
    _SEXAGESIMAL_FLOAT,
    *_NOT_FINITE,
    _TIMESTAMP,
    _MERGE,
    _DEFAULT,
)
_PYYAML = (
    _NULL,
    _rule("boolean", _ON_OFF, _is_true),
    *_INTEGERS_1_1,
    _rule(
        "float",
        r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?",
        _float,
    ),
    _SEXAGESIMAL_FLOAT,
    *_NOT_FINITE,
    _TIMESTAMP,
    _MERGE,
    _DEFAULT,
)
_RUAMEL_1_1 = (
    _NULL,
    _rule("boolean", rf"y|Y|n|N|{_ON_OFF}", _is_true),
    _BINARY,
    _rule("integer", r"[-+]?0[0-7_]*", _octal),
    _rule("integer", r"[-+][0-9_]+|[0-9][0-9_]*", _decimal),
    _rule("integer", r"[-+]?0x[0-9a-fA-F_]+", _hexadecimal),
    _SEXAGESIMAL_INTEGER,
    _rule("float", r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?", _float),
    _rule("float", r"[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+", _float),
    _rule("float", r"\.[0-9_]+(?:[eE][-+][0-9]+)?", _float),
    _SEXAGESIMAL_FLOAT,
    *_NOT_FINITE,
    _TIMESTAMP,
    _MERGE,
    _DEFAULT,
)
_YAML_1_2 = (
    _rule("null", r"null|Null|NULL|~|", _null),
    _rule("boolean", r"true|True|TRUE|false|False|FALSE", _is_true),
    _rule("integer", r"[-+]?[0-9]+", _decimal),
    _rule("integer", r"0o[0-7]+", _octal),
    _rule("integer", r"0x[0-9a-fA-F]+", _hexadecimal),
    _rule("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", _float),
    _rule("float", r"[-+]?\.(?:inf|Inf|INF)", _special_float),
    _rule("float", r"\.(?:nan|NaN|NAN)", _special_float),
)
_RUAMEL_1_2 = (
    *_YAML_1_2[:2],
    _BINARY,
    _rule("integer", r"[-+]?0o[0-7_]+", _octal),
    _rule("integer", r"[-+][0-9_]+|[0-9][0-9_]*", _decimal),
    _rule("integer", r"[-+]?0x[0-9a-fA-F_]+", _hexadecimal),
    _rule("float", r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?", _float),
    _rule("float", r"[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?", _float),
    *_NOT_FINITE,
    _TIMESTAMP,
    _MERGE,
    _DEFAULT,
)

# In the order in which a disagreement is told: the two standards before their implementations.
_READERS = {
    "YAML 1.1": _YAML_1_1,
    "YAML 1.2": _YAML_1_2,
    "PyYAML": _PYYAML,
    "ruamel.yaml under 1.1": _RUAMEL_1_1,
    "ruamel.yaml under 1.2": _RUAMEL_1_2,
}


def _read(rules: tuple[_Rule, ...], text: str) -> Reading:
    for rule in rules:
        if rule.pattern.fullmatch(text):
            try:
                return Reading(rule.kind, rule.value(text))
            except ValueError:  # more digits than int() takes, or none, as in 0b_
                return Reading(rule.kind, text)
    return Reading("text", text)


def readings(text: str) -> dict[Reading, str]:
    """Every different reading of an unquoted scalar, each with the first reader that has it.

    One entry means that all readers agree. What looks like a number but cannot be converted
    (``0b_``) has its own text as value.
    """
    found: dict[Reading, str] = {}
    for reader, rules in _READERS.items():
        found.setdefault(_read(rules, text), reader)
    return found
