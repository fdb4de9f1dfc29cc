"""How the environments of two measurements differ, what matters most first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gamekit.findings import Environment, Run

# What is known to move figures, the strongest first; a field is of the first group whose pattern it
# matches. What no pattern names comes after the groups and before boot and start, which move
# figures only by something that was not recorded.
_GROUPS = (
    ("the GPUs", r"gpus|gpu_memory_mib|mig|max_(sm|memory)_clock_mhz"),
    ("the driver", r"driver"),
    ("NCCL", r"packages\.nvidia-nccl.*|packages\.nccl|nccl.*|variables\.NCCL_.*"),
    ("the links between GPUs", r"(topology|p2p)\..*|pcie|state\.pcie_width|iommu|acs|numa"),
    ("CUDA", r"cuda.*|packages\.nvidia-cuda.*|variables\.CUDA_.*"),
    (
        "the engine",
        r"engine(\..*)?|launch\..*|engine_version|packages\.(sglang|vllm)|variables\.SGLANG_.*",
    ),
    ("the kernels", r"packages\.(sgl-kernel|sglang-kernel|flashinfer.*|torch|triton)"),
    ("clocks and throttling", r"power_limit_w|state\.(.*clock.*|.*throttle.*)"),
    ("the host's load", r"state\.load_average"),
    ("the processor", r"cpu|cpu_count|memory_gib|container|kernel"),
)
_IDENTIFIES = ("boot", "start")
# What else ran explains a shift between two runs; it makes no other machine.
LOAD = "state.load_average"
_LAST = len(_GROUPS)
# Of these there is a value for each pair of GPUs: what changed alike is told once.
_BY_PAIR = ("topology.", "p2p.")
# Not throttling: a GPU that has nothing to do.
_IDLE = "gpu_idle"
# Of another value in every start, without steering anything; earlier releases recorded it.
_NO_SETTING = "variables.SGLANG_RUN_ID"
# Clocks follow the load from second to second; less than this is no other state.
_CLOCK_SHARE = 0.05
_BUSY_LOAD = 2.0


@dataclass(frozen=True)
class States:
    """What was seen of a machine's state before a run and after it, as a run file has it."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @classmethod
    def of(cls, run: Run) -> States:
        """The states of a run."""
        return cls(run.state_before, run.state_after)


@dataclass(frozen=True)
class Difference:
    """A field that both environments know, with other values."""

    field: str
    before: str
    after: str

    @property
    def rank(self) -> int:
        """How much the field is known to matter: 0 the most."""
        if self.field in _IDENTIFIES:
            return _LAST + 1 + _IDENTIFIES.index(self.field)
        for place, (_, pattern) in enumerate(_GROUPS):
            if re.fullmatch(pattern, self.field):
                return place
        return _LAST

    @property
    def group(self) -> str | None:
        """What the field belongs to that is known to move figures, such as ``the driver``."""
        return _GROUPS[self.rank][0] if self.rank < _LAST else None

    @property
    def identifies(self) -> bool:
        """Whether the field only says which boot or start it was."""
        return self.field in _IDENTIFIES

    def in_words(self) -> str:
        """The field with both values."""
        return f"{self.field} {self.before} → {self.after}"


# Two engines of other kinds differ in hundreds of settings, and what matters most comes first.
_MOST_IN_WORDS = 20


@dataclass(frozen=True)
class Comparison:
    """Which known fields differ, which agree, and which only one of the two knows.

    ``differ`` begins with what is known to matter most. What neither knows is in none of the four.
    """

    differ: tuple[Difference, ...]
    same: tuple[str, ...]
    unknown_before: tuple[str, ...]
    unknown_after: tuple[str, ...]

    @property
    def explains(self) -> tuple[Difference, ...]:
        """The differences that are known to move figures."""
        return tuple(item for item in self.differ if item.group is not None)

    @property
    def only_identifies(self) -> bool:
        """Whether nothing recorded differs but which boot and which start it was, if these do."""
        return all(item.identifies for item in self.differ)

    def in_words(self) -> str:
        """One sentence part for a reader, such as ``driver 570 → 575; unknown before: boot``.

        Where another boot or start is all that was recorded, that is said, since a reader would
        take them for the cause.
        """
        parts = list(_in_words(self.differ))
        if len(parts) > _MOST_IN_WORDS:
            more = len(parts) - _MOST_IN_WORDS
            parts = [*parts[:_MOST_IN_WORDS], f"and {more} more, all in gamekit compare --json"]
        if self.differ and self.only_identifies:
            which = " and the ".join(item.field for item in self.differ)
            parts = [f"nothing recorded differs but the {which} ({', '.join(parts)})"]
        if not self.differ:
            parts.append(
                "nothing that both recorded differs"
                if self.same
                else "no part of the environment is recorded for both"
            )
        if self.unknown_before:
            parts.append(f"unknown before: {', '.join(_told_once(self.unknown_before))}")
        if self.unknown_after:
            parts.append(f"unknown after: {', '.join(_told_once(self.unknown_after))}")
        return "; ".join(parts)


def compare(
    before: Environment,
    after: Environment,
    states_before: States | None = None,
    states_after: States | None = None,
    settings: Sequence[Difference] = (),
) -> Comparison:
    """Compare two environments; packages and variables one by one, as ``packages.torch``.

    With the host states of both, what they say of clocks, throttling and load is compared as well,
    as ``state.NAME``; only what differs of it is told. A variable or package that only one of two
    captured environments has is a difference: in the other it was not set, or not installed.
    ``settings`` are those in which their engines differ; a variable of both is told once.
    """
    old, new = _flat(before), _flat(after)
    for family, word in _absent(before, after):
        for one, other in ((old, new), (new, old)):
            one.update(
                (name, word) for name in other if name.startswith(family) and name not in one
            )
    both = [field for field in old if field in new]
    differ = [Difference(f, old[f], new[f]) for f in both if old[f] != new[f]]
    if states_before is not None and states_after is not None:
        differ += _states_differ(states_before, states_after)
    variables = {f"launch.{item.field.removeprefix('variables.')}" for item in differ}
    differ += [item for item in settings if item.field not in variables]
    return Comparison(
        differ=tuple(sorted(differ, key=lambda item: item.rank)),
        same=tuple(field for field in both if old[field] == new[field]),
        unknown_before=tuple(field for field in new if field not in old),
        unknown_after=tuple(field for field in old if field not in new),
    )


def environment_of(run: Run) -> Environment:
    """The environment of a run, with what the engine told of itself where that leaves it open."""
    if run.engine is None:
        return run.environment
    told = {"engine": run.engine.name, "engine_version": run.engine.version}
    known = run.environment.model_dump(include=set(told), exclude_none=True)
    return run.environment.model_copy(update={**told, **known})


def _absent(before: Environment, after: Environment) -> Iterator[tuple[str, str]]:
    """Of which families both environments would name a member that was there, and the word if not.

    A captured environment, which knows its Python, has all of them; what somebody stated of one
    need not be all. Of variables both have to be those of the engine's own process, or neither.
    """
    if before.python is None or after.python is None:
        return
    yield "packages.", "not installed"
    if (before.start is None) == (after.start is None):
        yield "variables.", "not set"


def _flat(environment: Environment) -> dict[str, str]:
    flat: dict[str, str] = {}
    for field, value in environment.model_dump(exclude_none=True).items():
        if isinstance(value, dict):
            flat.update((f"{field}.{name}", str(value[name])) for name in sorted(value))
        elif isinstance(value, list):
            known = ["unknown" if one is None else f"{one}" for one in value]
            # Eight times the same says no more than once, with how often.
            alike = len(known) > 1 and len(set(known)) == 1
            flat[field] = f"{len(known)} x {known[0]}" if alike else ", ".join(known)
        else:
            flat[field] = str(value)
    flat.pop(_NO_SETTING, None)
    return flat


def _told_once(fields: Sequence[str]) -> list[str]:
    """Names of fields, those of pairs of GPUs by what they are of."""
    return list(
        dict.fromkeys(
            next((family[:-1] for family in _BY_PAIR if name.startswith(family)), name)
            for name in fields
        )
    )


def _in_words(differ: Sequence[Difference]) -> Iterator[str]:
    """Each difference in words; of the pairs of GPUs that changed alike the first for all."""
    for place, item in enumerate(differ):
        family = next((name for name in _BY_PAIR if item.field.startswith(name)), None)
        if family is None:
            yield item.in_words()
            continue
        alike = [
            at
            for at, other in enumerate(differ)
            if other.field.startswith(family)
            and (other.before, other.after) == (item.before, item.after)
        ]
        if alike[0] == place:
            more = f" (and {len(alike) - 1} pairs more)" if len(alike) > 1 else ""
            yield f"{item.in_words()}{more}"


def _states_differ(before: States, after: States) -> Iterator[Difference]:
    """What differs of the states that the runs ended in: there a GPU has just been at work."""
    old, new = _gpus(before.after), _gpus(after.after)
    for name in sorted({key for gpu in (*old, *new) for key in gpu}):
        values: list[list[Any]] = [
            [gpu[name] for gpu in gpus if gpu.get(name) is not None] for gpus in (old, new)
        ]
        if not all(values):
            continue
        if "clock" in name and all(map(_is_number, (*values[0], *values[1]))):
            # The slowest GPU is what the others wait for.
            slowest = [min(those) for those in values]
            if abs(slowest[1] - slowest[0]) > _CLOCK_SHARE * max(map(abs, slowest)):
                yield Difference(f"state.{name}", f"{slowest[0]:g}", f"{slowest[1]:g}")
        elif "throttle" in name:
            shown = [_reasons(those) for those in values]
            if shown[0] != shown[1]:
                yield Difference(f"state.{name}", *shown)
        # Not its generation: a GPU that rests lowers that by itself.
        elif name == "pcie_width" and min(values[0]) != min(values[1]):
            yield Difference(f"state.{name}", *(str(min(those)) for those in values))
    # Before the run: what it found, and not what it made.
    one, other = _load(before.before), _load(after.before)
    if one is not None and other is not None:
        low, high = min(one, other), max(one, other)
        if high - low > _BUSY_LOAD and high > _BUSY_LOAD * low:
            yield Difference(LOAD, f"{one:g}", f"{other:g}")


def _reasons(values: Sequence[Any]) -> str:
    """Why clocks were held down on any of the GPUs; ``none`` where they were not."""
    found = {
        str(one) for value in values for one in (value if isinstance(value, list) else [value])
    }
    return ", ".join(sorted(found - {_IDLE})) or "none"


def _gpus(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    gpus = state.get("gpus")
    return [gpu for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []


def _load(state: Mapping[str, Any]) -> float | None:
    averages = state.get("load_average")
    if isinstance(averages, list) and averages and _is_number(averages[0]):
        return float(averages[0])
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
