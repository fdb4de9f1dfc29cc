"""Other people's YAML readers, as judges of what is read and written here."""

from __future__ import annotations

import io
from typing import Any

import yaml
from ruamel.yaml import YAML


def read_1_1(text: str) -> Any:
    """What PyYAML's SafeLoader (YAML 1.1) makes of the text."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def read_1_1_pure(text: str) -> Any:
    """What PyYAML makes of the text without libyaml."""
    return yaml.load(text, Loader=yaml.SafeLoader)


def read_1_2(text: str) -> Any:
    """What ruamel.yaml makes of the text under version 1.2."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(io.StringIO(text))


def same(left: Any, right: Any) -> bool:
    """Equal, with equal types all the way down, key order and the sign of zero included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return left.hex() == right.hex()
    return bool(left == right)
