"""Reads NCCL's own log: version, transports, channels, settings it took, choices it made.

The patterns hold for the releases 2.18 to 2.28: fields that a release does not print stay empty.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# "Channel 03/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "... [send] via NET/IB/0/GDRDMA",
# "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct". Before 2.19 a bus id is in the brackets.
_CHANNEL = re.compile(
    r"Channel (\d+)(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[\w+\])? via (\S.*)"
)
_COUNTS = re.compile(r"(\d+) coll channels,(?: (\d+) collnet channels,)?(?: (\d+) nvls channels,)?")
_SETTING = re.compile(r"\b([A-Z][A-Z0-9_]+) set by environment to (\S+?)\.?\s*$")
_VERSION = re.compile(r"NCCL version (\d+(?:\.\d+)+\S*)")
_WARNING = re.compile(r"NCCL WARN (.*)")
# 2.23 and later: "AllReduce: 8192 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}"; 2.19 to
# 2.22: "8192 Bytes -> Algo 1 proto 0 time 12.3".
_CHOSEN = re.compile(
    r"(?:(\w+): )?(\d+) Bytes -> Algo (\w+) proto (\w+)(?:.*?=\{(\d+)\.\.(\d+)\})?"
)
# 2.27 and later, for buffers in symmetric memory.
_SYMMETRIC = re.compile(r"AllReduce \[Symmetric\]: (\d+) Bytes -> Kernel (\w+) nchannels (\d+)")
_ALGORITHM_NUMBERS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE")
_PROTOCOL_NUMBERS = ("LL", "LL128", "SIMPLE")
_ALGORITHMS = re.compile(r"Algorithm\s+\|(.*)\|")
_PROTOCOLS = re.compile(r"Protocol\s+\|(.*)\|")
_ALLREDUCE = re.compile(r"\bAllReduce \|(.*)\|")
_LATENCY_AND_BANDWIDTH = re.compile(r"\s*([0-9.]+)/\s*([0-9.]+)\s*")
_MOST_WARNINGS = 20


@dataclass(frozen=True)
class Chosen:
    """What NCCL chose for one all-reduce of that many bytes; ``channels`` is not always told."""

    algorithm: str
    protocol: str
    channels: int | None = None

    def __str__(self) -> str:
        channels = "" if self.channels is None else f", {self.channels} channels"
        return f"{self.algorithm}/{self.protocol}{channels}"


@dataclass
class NcclLog:
    """What the logs of one group of ranks say, read on with every further text."""

    version: str | None = None
    # By transport: how many connections of a channel between two ranks, each direction its own.
    transports: Counter[str] = field(default_factory=Counter)
    channels: int | None = None
    nvls_channels: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    # Algorithm, then protocol: the bandwidth that NCCL's table gives an all-reduce, GB/s. Zero is
    # not allowed.
    table: dict[str, dict[str, float]] = field(default_factory=dict)
    chosen: dict[int, Chosen] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _algorithms: list[str] = field(default_factory=list)
    _protocols: list[str] = field(default_factory=list)
    _connections: set[tuple[str, str, str, str]] = field(default_factory=set)

    def read(self, text: str) -> None:
        """Take in a further text of whole lines."""
        for line in text.splitlines():
            self._read_line(line)

    def protocols_allowed(self) -> list[str]:
        """The protocols that the table gives a bandwidth under any algorithm."""
        names = dict.fromkeys(name for row in self.table.values() for name in row)
        return [one for one in names if any(row.get(one, 0) > 0 for row in self.table.values())]

    def algorithms_allowed(self) -> list[str]:
        """The algorithms that the table gives a bandwidth under any protocol."""
        return [name for name, row in self.table.items() if any(row.values())]

    def facts(self) -> dict[str, Any]:
        """What it says, as plain data without what is not known."""
        every = {
            "version": self.version,
            "transports": dict(sorted(self.transports.items())),
            "channels": self.channels,
            "nvls_channels": self.nvls_channels,
            "set_by_environment": dict(sorted(self.settings.items())),
            "protocols_allowed": self.protocols_allowed(),
            "algorithms_allowed": self.algorithms_allowed(),
            "warnings": list(self.warnings),
        }
        return {name: value for name, value in every.items() if value not in (None, {}, [])}

    def _read_line(self, line: str) -> None:
        if (found := _CHANNEL.search(line)) is not None:
            self._connection(found)
        elif (found := _COUNTS.search(line)) is not None:
            self.channels = int(found[1])
            self.nvls_channels = None if found[3] is None else int(found[3])
        elif (found := _SETTING.search(line)) is not None:
            self.settings[found[1]] = found[2]
        elif (found := _WARNING.search(line)) is not None:
            said = found[1].strip()
            if said and said not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
                self.warnings.append(said)
        elif (found := _VERSION.search(line)) is not None:
            self.version = found[1]
        else:
            self._read_choice(line)

    def _connection(self, found: re.Match[str]) -> None:
        channel, source, target, via = found.groups()
        transport = transport_of(via)
        # Both ends tell of a connection over the network; of the others one end does.
        connection = (transport, channel, source, target)
        if connection not in self._connections:
            self._connections.add(connection)
            self.transports[transport] += 1

    def _read_choice(self, line: str) -> None:
        if (found := _SYMMETRIC.search(line)) is not None:
            self.chosen[int(found[1])] = Chosen("SYMMETRIC", found[2], int(found[3]))
        elif (found := _CHOSEN.search(line)) is not None:
            if found[1] in (None, "AllReduce"):
                low, high = found[5], found[6]
                self.chosen[int(found[2])] = Chosen(
                    _named(found[3], _ALGORITHM_NUMBERS),
                    _named(found[4], _PROTOCOL_NUMBERS),
                    None if low is None else int(high) - int(low) + 1,
                )
        elif (found := _ALGORITHMS.search(line)) is not None:
            self._algorithms = found[1].replace("|", " ").split()
        elif (found := _PROTOCOLS.search(line)) is not None:
            self._protocols = found[1].replace("|", " ").split()
        elif (found := _ALLREDUCE.search(line)) is not None:
            self._read_table(found[1].split("|"))

    def _read_table(self, cells: list[str]) -> None:
        """A row of the table: for each algorithm of the block a cell a protocol."""
        every = len(self._algorithms)
        if not every or len(self._protocols) < len(cells) or len(cells) % every:
            return  # not the table as it is known
        width = len(cells) // every
        for number, cell in enumerate(cells):
            pair = _LATENCY_AND_BANDWIDTH.fullmatch(cell)
            if pair is None:
                return
            row = self.table.setdefault(self._algorithms[number // width], {})
            row[self._protocols[number]] = float(pair[2])


def transport_of(via: str) -> str:
    """The transport of a connection without what varies from channel to channel.

    ``P2P/CUMEM/read`` is P2P/CUMEM, ``NET/IB/3/GDRDMA`` is NET/IB/GDRDMA.
    """
    parts = [part.strip() for part in via.split("/")]
    if parts[0] == "NET":
        # The number of the device, and that of its port in brackets.
        return "/".join(part for part in parts if not re.fullmatch(r"\d+(\(\d+\))?", part))
    if parts[0] == "P2P":
        return "/".join(parts[:2]) + ("/CE" if "CE" in parts[2:] else "")
    return "/".join(parts)


def _named(word: str, names: tuple[str, ...]) -> str:
    if word.isdigit():
        return names[int(word)] if int(word) < len(names) else word
    return word
