"""Draws what a host's forwards and all-reduces take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gamekit import numbers
from gamekit.analysis.machine_costs import AllReduces, Cost, SettingEffect, Stack
from gamekit.render.plotting import MARKERS, Colours, error_bars, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than these nobody tells apart; the table has all.
_MOST_SETTINGS = 4


def forwards(axes: Axes, chart: Stack, colours: Colours) -> None:
    """Times (ms) against the tokens of a forward, with the floor that the memory sets."""
    graph = [(row.tokens, row.graph) for row in chart.rows if row.graph is not None]
    eager = [(row.tokens, row.eager) for row in chart.rows if row.eager is not None]
    _line(axes, eager, "eager", colours.second, "^", (0, (5, 3)))
    _line(axes, graph, "in a CUDA graph", colours.main, "o", (0, ()))
    floors = [
        (row.tokens, row.graph.figure.mid / row.floor_ratio.figure.mid)
        for row in chart.rows
        if row.graph is not None and row.floor_ratio is not None
    ]
    axes.plot(
        [tokens for tokens, _ in floors],
        [floor for _, floor in floors],
        color=colours.good,
        linestyle=(0, (1, 1.5)),
        label="bandwidth floor",
    )
    axes.set_ylim(bottom=0)
    axes.set_xticks([row.tokens for row in chart.rows])
    axes.set_xlabel("tokens of a forward")
    axes.set_ylabel("time of a forward, ms")
    legend(axes)


def latencies(axes: Axes, chart: AllReduces, colours: Colours) -> None:
    """Latencies (us) against the message's bytes, and what the strongest settings make of them."""
    rows = chart.rows
    _line(
        axes,
        [(row.size, row.eager) for row in rows if row.eager is not None],
        "eager",
        colours.second,
        "^",
        (0, (5, 3)),
    )
    _line(
        axes,
        [(row.size, row.graph) for row in rows if row.graph is not None],
        "in a CUDA graph",
        colours.main,
        "o",
        (0, ()),
    )
    for number, (setting, points) in enumerate(_strongest(chart.effects)):
        colour = (colours.third, colours.good)[number % 2]
        _line(axes, points, setting, colour, MARKERS[2 + number], (0, (1, 1.5)))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = [row.size for row in rows]
    axes.set_xticks(sizes[::2], [numbers.bytes_in_words(size) for size in sizes[::2]])
    axes.tick_params(axis="x", labelrotation=30)
    axes.set_xlabel("message")
    axes.set_ylabel("time of an all-reduce, us")
    legend(axes)


def _strongest(effects: Sequence[SettingEffect]) -> list[tuple[str, list[tuple[int, Cost]]]]:
    """The settings that move the graphed latency most, with their points."""
    lines: dict[str, list[tuple[int, Cost]]] = {}
    strength: dict[str, float] = {}
    for one in effects:
        if one.mode == "graph" and one.latency is not None and one.effect != "inconclusive":
            moved = max(one.ratio.figure.mid, 1 / one.ratio.figure.mid)
            strength[one.setting] = max(moved, strength.get(one.setting, 0.0))
    for one in effects:
        if one.mode == "graph" and one.latency is not None and one.setting in strength:
            lines.setdefault(one.setting, []).append((one.size, one.latency))
    ranked = sorted(lines, key=lambda setting: -strength[setting])[:_MOST_SETTINGS]
    return [(setting, lines[setting]) for setting in ranked]


def _line(
    axes: Axes,
    points: Sequence[tuple[int, Cost]],
    label: str,
    colour: str,
    marker: str,
    dashes: tuple[int, tuple[float, ...]],
) -> None:
    if points:
        axes.errorbar(
            [x for x, _ in points],
            [cost.figure.mid for _, cost in points],
            yerr=error_bars([cost.figure for _, cost in points]),
            marker=marker,
            markersize=6,
            capsize=3,
            linestyle=dashes,
            color=colour,
            label=label,
        )
