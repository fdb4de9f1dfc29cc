"""A rendered document: a text, or a figure that is drawn only when its text is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gamekit.render.figures import Chart, Scheme, draw, inputs_digest
from gamekit.render.stamp import inputs_of, is_untouched, stamped, with_inputs


@dataclass(frozen=True)
class Document:
    """A rendered document. ``path`` is relative to the root; ``committed`` ones belong into git."""

    path: str
    text: str
    committed: bool

    def is_as(self, present: str) -> bool:
        """Whether ``present`` is this document."""
        return present == self.text


@dataclass(frozen=True)
class FigureDocument:
    """A figure of a generated page, in SVG for one colour scheme."""

    path: str
    chart: Chart
    scheme: Scheme
    committed: bool = False

    @cached_property
    def text(self) -> str:
        """The stamped SVG."""
        return stamped(self.path, with_inputs(draw(self.chart, self.scheme), self._inputs))

    @cached_property
    def _inputs(self) -> str:
        return inputs_digest(self.chart, self.scheme)

    def is_as(self, present: str) -> bool:
        """Whether ``present`` was drawn from the same inputs, by whatever matplotlib, and left so.

        Two versions of matplotlib draw the same figure with other bytes.
        """
        return inputs_of(present) == self._inputs and is_untouched(self.path, present)


AnyDocument = Document | FigureDocument
