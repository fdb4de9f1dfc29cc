"""The figures as SVG, drawn by matplotlib, one for a light and one for a dark page.

Series differ by marker and line style, not by colour alone. Letters are drawn as paths of
matplotlib's own font, so that a label takes the same room everywhere. The bytes depend on the
version of matplotlib; what a figure is judged by is the digest of its inputs (see ``stamp``).
"""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gamekit.analysis.charts import Accuracy, Required, Throughput, Tornado
from gamekit.analysis.machine_costs import AllReduces, Stack
from gamekit.ranges import Range
from gamekit.render import machine_figures, plotting
from gamekit.render.plotting import COLOURS, MARKERS, Colours, error_bars, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
Chart = Throughput | Accuracy | Tornado | Stack | AllReduces
# All that a figure is drawn by: a change there is another figure.
_DRAWING = (__file__, machine_figures.__file__, plotting.__file__)


_SETTINGS = {
    "svg.hashsalt": "gamekit",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def inputs_digest(chart: Chart, scheme: Scheme) -> str:
    """The digest of all that a figure is made of: its data, its scheme and how it is drawn."""
    drawing = "".join(Path(file).read_text(encoding="utf-8") for file in _DRAWING)
    return hashlib.sha256(f"{chart!r}\n{scheme}\n{drawing}".encode()).hexdigest()


@lru_cache(maxsize=64)
def draw(chart: Chart, scheme: Scheme) -> str:
    """The figure as SVG text with a transparent background; the same bytes every time."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to load, and only a figure needs it
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    colours = COLOURS[scheme]
    told = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"),
        colours.ink,
    )
    # Whatever a matplotlibrc on this machine says.
    settings: dict[Any, Any] = {**mpl.rcParamsDefault, **_SETTINGS, **told}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(5.0, 4.3), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        if isinstance(chart, Throughput):
            _throughput(axes, chart, colours)
        elif isinstance(chart, Accuracy):
            _accuracy(axes, chart, colours)
        elif isinstance(chart, Stack):
            machine_figures.forwards(axes, chart, colours)
        elif isinstance(chart, AllReduces):
            machine_figures.latencies(axes, chart, colours)
        else:
            _tornado(axes, chart, colours)
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    return buffer.getvalue()


def _throughput(axes: Axes, chart: Throughput, colours: Colours) -> None:
    top = chart.steps + 1
    longest = max([top, *(one.steps + 1 for one in chart.published)])
    ends = [1.0, float(top)]

    def rate(length: float, cycle: float) -> float:
        return length / cycle * 1000

    def line(cycle: float, lengths: list[float]) -> list[float]:
        return [rate(length, cycle) for length in lengths]

    cycle = chart.cycle
    if cycle.high > cycle.low:
        axes.fill_between(
            ends,
            line(cycle.high, ends),
            line(cycle.low, ends),
            color=colours.main,
            alpha=0.25,
            lw=0,
        )
    axes.plot(
        ends, line(cycle.mid, ends), color=colours.main, label=f"{chart.steps} steps, cycle of now"
    )
    if longest > top:
        more = [float(top), float(longest)]
        axes.plot(
            more,
            line(cycle.mid, more),
            color=colours.main,
            linestyle=(0, (5, 3)),
            label="more steps, same cycle",
        )
    _level(axes, chart.baseline, "no speculation", colours.good, 1.03)
    if chart.target is not None:
        _level(axes, chart.target, "target", colours.second, 1.03)
    axes.plot(
        [top],
        [rate(top, cycle.mid)],
        marker="*",
        markersize=13,
        linestyle="none",
        color=colours.main,
        markeredgecolor=colours.ink,
        label=f"ceiling at {chart.steps} steps",
        zorder=2,
    )
    axes.plot(
        [chart.break_even.mid],
        [rate(chart.break_even.mid, cycle.mid)],
        marker="X",
        markersize=9,
        linestyle="none",
        color=colours.good,
        markeredgecolor=colours.ink,
        label="break-even",
        zorder=4,
    )
    axes.errorbar(
        [chart.break_even.mid],
        [rate(chart.break_even.mid, cycle.mid)],
        xerr=error_bars([chart.break_even]),
        fmt="none",
        capsize=3,
        ecolor=colours.good,
        zorder=3,
    )
    labels = dict.fromkeys(point.label for point in chart.measured)
    for number, label in enumerate(labels):
        points = [point for point in chart.measured if point.label == label]
        axes.errorbar(
            [point.accept_length.mid for point in points],
            [point.rate.mid for point in points],
            xerr=error_bars([point.accept_length for point in points]),
            yerr=error_bars([point.rate for point in points]),
            fmt=("s", "o", "D", "v", "P")[number % 5],
            markersize=7,
            capsize=3,
            color=colours.ink,
            label=label,
            zorder=4,
        )
    for number, one in enumerate(chart.published):
        marker = MARKERS[(number + 1) % len(MARKERS)]
        axes.plot(
            [point.accept_length.mid for point in one.points],
            [point.rate.mid for point in one.points],
            linestyle="none",
            marker=marker,
            markersize=6.5,
            fillstyle="none",
            color=(colours.second, colours.third)[number % 2],
            label=one.label,
            zorder=3,
        )
    sinking = [
        point
        for one in chart.published
        for point in one.points
        if one.assumed and point.rate.mid > chart.baseline.mid
    ]
    if sinking:
        axes.vlines(
            [point.accept_length.mid for point in sinking],
            chart.baseline.mid,
            [point.rate.mid for point in sinking],
            color=colours.faint,
            lw=1,
            linestyle=(0, (1, 1.5)),
            label="sinks as the cycle grows",
            zorder=1,
        )
    axes.set_xlim(1, longest + 0.15)
    highest = [rate(longest, cycle.mid), chart.baseline.high]
    highest += [chart.target.high] if chart.target is not None else []
    axes.set_ylim(0, max(highest) * 1.12)
    axes.set_xlabel("accept length, tokens a cycle")
    axes.set_ylabel("decode rate, tok/s")
    legend(axes)


def _accuracy(axes: Axes, chart: Accuracy, colours: Colours) -> None:
    styles = (("o", colours.good, (0, ())), ("^", colours.second, (0, (5, 3))))
    most = max((steps for one in chart.required for steps, _ in one.accuracy), default=1)
    axes.axhspan(100, 112, facecolor=colours.faint, alpha=0.25, lw=0)
    axes.text(most + 0.4, 106, "impossible", ha="right", va="center", color=colours.ink)
    for number, one in enumerate(chart.required):
        marker, colour, dashes = styles[number % len(styles)]
        _required(axes, one, (marker, colour, dashes), offset=(-0.06, 0.06)[number % 2])
    if chart.now is not None:
        _level(axes, chart.now, "our drafter", colours.main, 0.65)
    axes.set_xlim(0.6, most + 0.5)
    lowest = [found.known.low for one in chart.required for _, found in one.accuracy if found.known]
    lowest += [chart.now.low] if chart.now is not None else []
    bottom = int(max(0, min(lowest, default=50) - 5) // 10 * 10)
    axes.set_ylim(bottom, 112)
    axes.set_xticks(range(1, most + 1))
    axes.set_yticks(range(bottom, 101, 10))
    axes.set_xlabel("draft steps")
    axes.set_ylabel("accuracy that each step needs, %")
    legend(axes)


def _required(
    axes: Axes, one: Required, style: tuple[str, str, tuple[int, tuple[int, ...]]], offset: float
) -> None:
    marker, colour, dashes = style
    possible = [(steps, found.known) for steps, found in one.accuracy if found.known is not None]
    known = [(steps, figure) for steps, figure in possible if figure is not None]
    ranges = [figure for _, figure in known]
    axes.errorbar(
        [steps + offset for steps, _ in known],
        [figure.mid for figure in ranges],
        yerr=error_bars(ranges) if ranges else None,
        fmt=marker,
        markersize=7,
        capsize=3,
        linestyle=dashes,
        color=colour,
        label=one.label,
        zorder=4,
    )
    refused = [steps + offset for steps, found in one.accuracy if found.words == "impossible"]
    axes.plot(
        refused,
        [104 if offset < 0 else 108] * len(refused),
        linestyle="none",
        marker=marker,
        markersize=7,
        fillstyle="none",
        color=colour,
        zorder=4,
    )


def _tornado(axes: Axes, chart: Tornado, colours: Colours) -> None:
    places = list(range(len(chart.bars)))[::-1]
    now = chart.now.mid
    labelled = False
    for place, bar in zip(places, chart.bars, strict=True):
        if bar.rate is None:
            axes.text(now + 3, place, "unknown", va="center", color=colours.faint)
            continue
        axes.barh(
            place,
            bar.rate.mid - now,
            left=now,
            height=0.5,
            color=colours.main,
            alpha=0.75,
            label=None if labelled else "rate now to plausible best",
        )
        axes.errorbar(
            [bar.rate.mid],
            [place],
            xerr=error_bars([bar.rate]),
            fmt="none",
            capsize=4,
            ecolor=colours.ink,
            zorder=4,
        )
        if bar.ceiling is not None:
            axes.plot(
                [bar.ceiling.mid],
                [place],
                marker="*",
                markersize=12,
                linestyle="none",
                color=colours.main,
                markeredgecolor=colours.ink,
                zorder=5,
                label=None if labelled else "ceiling then: every draft right",
            )
        labelled = True
    _upright(axes, chart.now, "now", colours.ink, (0, ()))
    _upright(axes, chart.baseline, "no speculation", colours.good, (0, (5, 2)))
    if chart.target is not None:
        _upright(axes, chart.target, "target", colours.second, (0, (1, 1.5)))
    axes.set_yticks(places, [bar.title.replace(" ", "\n", 1) for bar in chart.bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(chart.bars) - 0.4)
    ends = [figure.high for bar in chart.bars for figure in (bar.rate, bar.ceiling) if figure]
    ends += [chart.target.high] if chart.target is not None else []
    lowest = min([chart.now.low, *(bar.rate.low for bar in chart.bars if bar.rate)])
    axes.set_xlim(lowest * 0.8, max([chart.baseline.high, *ends]) * 1.06)
    axes.set_xlabel("decode rate, tok/s")
    legend(axes)


def _level(axes: Axes, figure: Range, label: str, colour: str, at: float) -> None:
    """A horizontal line, or a band where the figure has a range, with its label above it."""
    if figure.high > figure.low:
        axes.axhspan(figure.low, figure.high, color=colour, alpha=0.35, lw=0)
    axes.axhline(figure.mid, color=colour, lw=1)
    axes.annotate(label, (at, figure.high), xytext=(2, 3), textcoords="offset points", color=colour)


def _upright(
    axes: Axes, figure: Range, label: str, colour: str, dashes: tuple[int, tuple[float, ...]]
) -> None:
    if figure.high > figure.low:
        axes.axvspan(figure.low, figure.high, color=colour, alpha=0.25, lw=0)
    axes.axvline(figure.mid, color=colour, lw=1.4, linestyle=dashes, label=label)
