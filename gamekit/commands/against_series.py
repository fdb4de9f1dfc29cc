"""What ``gamekit bench`` says of a figure against the series that it joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamekit.commands.terminal import paragraph, say

if TYPE_CHECKING:
    from gamekit.analysis.against_series import AgainstSeries


def tell(against: AgainstSeries | None, *, appended: bool) -> None:
    """One line, and for a shift the review that one would write; nothing for None.

    A review names findings: it can be written only where the run was ``appended``.
    """
    if against is None:
        return
    paragraph(against.words, "    ")
    review = against.review
    if review is None:
        return
    if not appended:
        paragraph("with --append it is recorded, and a review can settle it", "    ")
        return
    paragraph(
        "settle it by a review: put this at the end of a file in findings/, with your name; or,"
        f" if the host was disturbed, dispute {review.evidence[0]} instead",
        "    ",
    )
    say(against.review_yaml() or "")
