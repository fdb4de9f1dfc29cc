"""How the engines of two runs were set: options of their launch, and what they told."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from gamekit.findings import Run
from gamekit.knowledge.environments import Difference

_NOT_SET = "not set"
# Another one in every start, or beside the settings: names, addresses, and what the engine found.
_NO_SETTING = re.compile(
    r"(nccl_|dist_init_|metrics_)?(port|addr|host)|random_seed|engine|version|status|left_out"
    r"|max_total_num_tokens|max_req_input_len|memory_usage_gib(\..*)?"
)
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_LONGEST = 60


def settings_differ(before: Run, after: Run) -> list[Difference]:
    """What was set otherwise: ``engine.NAME`` as the engines told it, else ``launch.NAME``.

    A setting that only one of two equal engines tells was not set in the other. Options of the
    launch are told where the engines did not tell the same by themselves.
    """
    told = list(_differ("engine", *(_described(run) for run in (before, after))))
    names = {item.field.rpartition(".")[2] for item in told}
    launched = [_launched(run) for run in (before, after)]
    return told + [item for item in _differ("launch", *launched) if _name(item) not in names]


def _differ(
    kind: str, old: Mapping[str, str] | None, new: Mapping[str, str] | None
) -> Iterator[Difference]:
    if old is None or new is None:
        return
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name, _NOT_SET), new.get(name, _NOT_SET)
        if one != other and not _NO_SETTING.fullmatch(name.lstrip("-").replace("-", "_")):
            yield Difference(f"{kind}.{name}", _short(one), _short(other))


def _described(run: Run) -> dict[str, str] | None:
    engine = run.engine
    return _flat(engine.description) if engine is not None and engine.description else None


def _flat(data: Mapping[str, Any]) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            flat.update((f"{name}.{inner}", text) for inner, text in _flat(value).items())
        elif value is not None:
            flat[name] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return flat


def _launched(run: Run) -> dict[str, str] | None:
    """The launch by option and variable; all that belongs to none is the command itself."""
    if run.launch is None:
        return None
    try:
        words = shlex.split(run.launch.command)
    except ValueError:  # redacted within quotes
        words = run.launch.command.split()
    found: dict[str, str] = {}
    free: list[str] = []
    option: str | None = None
    # A word with spaces may be a whole command, as behind bash -c.
    for word in (part for whole in words for part in whole.split()):
        variable = _VARIABLE.fullmatch(word)
        if word.startswith("--"):
            option, equals, value = word.partition("=")
            found[option] = value if equals else "set"
            option = None if equals else option
        elif option is not None:
            found[option] = word if found[option] == "set" else f"{found[option]} {word}"
        elif variable:
            found[variable[1]] = variable[2]
        else:
            free.append(word)
    return {"command": " ".join(free), **found}


def _name(item: Difference) -> str:
    """The name of an option of a launch as engines tell it."""
    return item.field.removeprefix("launch.").lstrip("-").replace("-", "_")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
