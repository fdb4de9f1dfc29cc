"""Claims: a sentence, a formula over findings, and the figure somebody stated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from gamekit.findings.base import Finding, Line, Strict, Text
from gamekit.quantity import Quantity

Formula = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=500)]


class OtherModel(Strict):
    """Another model under which the stated figure comes out, and why it does not apply here."""

    title: Line
    formula: Formula
    why_not_here: Text


class Claim(Finding):
    """A sentence with a formula over findings, and the figure somebody stated, if anybody did.

    gamekit evaluates it; a verdict is never written down. Where ``other_model`` gives the stated
    figure and ``formula`` does not, the claim rests on another model.
    """

    kind: Literal["claim"]
    statement: Text
    formula: Formula
    unit: Line
    stated: Quantity | None = Field(
        default=None,
        description="As stated, with its rounding; absent for what gamekit alone concludes.",
    )
    other_model: OtherModel | None = None

    @model_validator(mode="after")
    def _stated_figure_fits(self) -> Claim:
        if self.stated is not None:
            if self.stated.unit != self.unit:
                raise ValueError(f"stated is in {self.stated.unit}, the claim in {self.unit}")
            if not self.stated.is_known:
                raise ValueError("a stated figure is known; leave stated out instead")
        if self.other_model is not None and self.stated is None:
            raise ValueError("other_model explains a stated figure, and there is none")
        return self
