"""What all figures are drawn with: colours of both schemes, error bars, and the legend's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamekit.ranges import Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Colours:
    """One scheme's colours, by what they are for."""

    ink: str
    faint: str
    main: str
    good: str
    second: str
    third: str


# By Okabe and Ito, told apart with any colour vision; lighter on a dark page.
COLOURS = {
    "light": Colours("#333333", "#8a8a8a", "#0072b2", "#00795a", "#c04f00", "#a04a80"),
    "dark": Colours("#dddddd", "#8f8f96", "#56b4e9", "#2fc79a", "#f0a030", "#e59ac8"),
}
MARKERS = ("o", "^", "s", "D", "v", "P")
_LONGEST_IN_TWO_COLUMNS = 34


def error_bars(figures: list[Range]) -> list[list[float]]:
    """How far the ends lie from the middles, as matplotlib takes it."""
    return [
        [figure.mid - figure.low for figure in figures],
        [figure.high - figure.mid for figure in figures],
    ]


def legend(axes: Axes) -> None:
    """Below the plot, where it covers nothing."""
    labels = axes.get_legend_handles_labels()[1]
    # Two columns are as wide as the figure: a longer label would be cut off.
    columns = 2 if max(map(len, labels), default=0) <= _LONGEST_IN_TWO_COLUMNS else 1
    axes.figure.legend(loc="outside lower left", ncols=columns, handlelength=2.4, columnspacing=1.2)
