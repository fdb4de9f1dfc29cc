"""What follows from the findings: references, standing, series, figures, and questions to them."""

from gamekit.knowledge.dependents import Dependent
from gamekit.knowledge.environments import Comparison, Difference, States, compare
from gamekit.knowledge.figures import NOTHING_INSTEAD, Figure, Instead
from gamekit.knowledge.grades import Grade
from gamekit.knowledge.knowledge import Knowledge, build
from gamekit.knowledge.series import SeriesView
from gamekit.knowledge.shifts import Shift, disagree, interval_of, relative_change
from gamekit.knowledge.standing import STANDINGS, STATES, Standing

__all__ = [
    "NOTHING_INSTEAD",
    "STANDINGS",
    "STATES",
    "Comparison",
    "Dependent",
    "Difference",
    "Figure",
    "Grade",
    "Instead",
    "Knowledge",
    "SeriesView",
    "Shift",
    "Standing",
    "States",
    "build",
    "compare",
    "disagree",
    "interval_of",
    "relative_change",
]
