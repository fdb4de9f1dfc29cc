"""The groups of one run: each started once, side by side with those to come, and ended in time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from gamekit.collective.group import GroupFailed, Place, RankGroup, probe
from gamekit.collective.setting import parse_setting


@dataclass(frozen=True)
class GroupKey:
    """What groups are told apart by."""

    place: Place
    backend: str
    setting: str
    python: str
    timeout_s: float
    ready_s: float


@dataclass
class GroupPool:
    """The groups that are alive; leaving the ``with`` block ends them all."""

    redact: Callable[[str], str] = str
    _groups: dict[GroupKey, RankGroup] = field(default_factory=dict)
    _failed: dict[GroupKey, GroupFailed] = field(default_factory=dict)
    _probed: dict[str, dict[str, Any]] = field(default_factory=dict)
    _numbers: dict[GroupKey, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end(list(self._groups))

    def probe(self, python: str, timeout_s: float) -> Mapping[str, Any]:
        """What that interpreter's torch is and sees, asked once. Raises ``BenchmarkFailed``."""
        if python not in self._probed:
            self._probed[python] = probe(python, timeout_s)
        return self._probed[python]

    def plan(self, keys: Iterable[GroupKey]) -> None:
        """Number the groups of the run: where several hosts call the same, they number the same."""
        self._numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}

    def keep_only(self, keys: Iterable[GroupKey]) -> None:
        """End the groups that are none of these: nobody needs them any more."""
        needed = set(keys)
        self._end([key for key in self._groups if key not in needed])

    def begin(self, keys: Iterable[GroupKey]) -> None:
        """Start these groups side by side, as many as this machine has cores for."""
        room = (os.cpu_count() or 1) - sum(key.place.ranks for key in self._groups)
        for key in dict.fromkeys(keys):
            if key in self._groups or key in self._failed:
                continue
            room -= key.place.ranks
            if room < 0:
                return
            self._start(key)

    def get(self, key: GroupKey) -> RankGroup:
        """The group of that key, ready for work.

        Raises ``GroupFailed`` where it does not start, and at once where it has failed before.
        """
        if key in self._failed:
            raise self._failed[key]
        if key not in self._groups:
            self._start(key)
        group = self._groups[key]
        try:
            group.wait_until_ready()
        except GroupFailed as error:
            self.failed(key, error)
            raise
        return group

    def failed(self, key: GroupKey, error: GroupFailed) -> None:
        """End a group that failed, for good."""
        self._failed[key] = error
        self._end([key])

    def _start(self, key: GroupKey) -> None:
        group = RankGroup(
            place=key.place,
            backend=key.backend,
            variables=parse_setting(key.setting),
            python=key.python,
            timeout_s=key.timeout_s,
            ready_s=key.ready_s,
            number=self._numbers.get(key, 0),
            redact=self.redact,
        )
        self._groups[key] = group  # ended with the others, also if it does not begin
        group.begin()

    def _end(self, keys: Iterable[GroupKey]) -> None:
        groups = [self._groups.pop(key) for key in keys if key in self._groups]
        for group in groups:
            group.dismiss()
        for group in groups:
            group.end()
