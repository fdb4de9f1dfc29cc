"""The speculation model's formulas: one number at a time here, arrays of them in ``arrays``.

``arrays`` is imported by its own name where it is needed: formulas of findings do without numpy.
"""

from gamekit.speculation.chain import (
    SAME_LENGTH,
    NoSuchChain,
    Real,
    accept_length,
    accept_length_of_cumulative,
    accept_length_without_end,
    accuracy_for,
    accuracy_without_end,
    conditional_rates,
    cumulative_rates,
    require_accept_length,
    require_accuracy,
    require_steps,
    steps_needed,
)

__all__ = [
    "SAME_LENGTH",
    "NoSuchChain",
    "Real",
    "accept_length",
    "accept_length_of_cumulative",
    "accept_length_without_end",
    "accuracy_for",
    "accuracy_without_end",
    "conditional_rates",
    "cumulative_rates",
    "require_accept_length",
    "require_accuracy",
    "require_steps",
    "steps_needed",
]
