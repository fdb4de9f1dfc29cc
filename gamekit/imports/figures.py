"""What a format's parser takes out of a file: figures with their conventions, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gamekit.metrics import METRICS

Field = str | int | float


@dataclass(frozen=True)
class Figure:
    """One figure in the unit of its metric.

    ``key`` tells it apart from the others of the file, ``place`` names the field of the file that
    holds it. ``convention`` says how the tool defines it.
    ``subject`` contradicts what others say, ``hints`` only fill what nobody says; ``parameters``
    are those of ``Subject``. ``joins``: it is defined as gamekit's own, so that it may join their
    series without being told to. ``interval`` has low, high and what they are.
    """

    key: str
    place: str
    metric: str
    value: float
    convention: str
    line: int
    subject: Mapping[str, Field] = field(default_factory=dict)
    hints: Mapping[str, Field] = field(default_factory=dict)
    parameters: Mapping[str, Field] = field(default_factory=dict)
    count: int | None = None
    interval: tuple[float, float, str] | None = None
    joins: bool = True

    @property
    def unit(self) -> str:
        """The unit of its metric."""
        return METRICS[self.metric].unit


@dataclass(frozen=True)
class Taken:
    """All that was taken from a file.

    ``aside`` holds the fields that became no figure; ``left_out`` says of some why they did not.
    ``environment`` has fields of ``Environment``. ``measured`` is a UTC time.
    """

    tool: str
    figures: tuple[Figure, ...]
    version: str | None = None
    measured: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    aside: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    stand_in: bool = False
