"""A prediction in sentences: what follows from it, and what was assumed on the way."""

from __future__ import annotations

from gamekit import numbers
from gamekit.analysis.prediction import OUTPUTS, Prediction, steps_words
from gamekit.ranges import Range
from gamekit.speculation import SAME_LENGTH

SHARES = ("accuracy", "required_accuracy", "limit_required_accuracy")


def figure(prediction: Prediction, key: str) -> str:
    """An output as its range with its unit; shares in percent."""
    return numbers.with_unit(numbers.span(*scaled(prediction, key)), unit(key))


def unit(key: str) -> str:
    """The unit an output is shown in."""
    return "%" if key in SHARES else OUTPUTS[key].unit


def scaled(prediction: Prediction, key: str) -> tuple[Range, Range | None]:
    """An output as it is shown: over stated ranges, and with all roundings."""
    rounded = prediction.rounded.get(key)
    shown = _scaled(key, prediction.figures[key])
    return shown, None if rounded is None else _scaled(key, rounded)


def _scaled(key: str, shown: Range) -> Range:
    if key not in SHARES:
        return shown
    return Range(shown.low * 100, shown.mid * 100, shown.high * 100)


def conclusion(prediction: Prediction) -> list[str]:
    """What follows, one sentence each: against the baseline, the break-even, the target."""
    sentences = [*_against_baseline(prediction), *_break_even(prediction), *_target(prediction)]
    sentences = sentences or _chain_alone(prediction)
    if sentences:
        return sentences
    hint = "" if prediction.given.findings else "; without options the knowledge base is asked"
    return [f"Nothing follows from so little{hint}."]


def _against_baseline(prediction: Prediction) -> list[str]:
    speedup = prediction.figures.get("speedup")
    if speedup is None:
        return []
    # The last digits of a float decide nothing.
    if speedup.low > 1 + SAME_LENGTH:
        how = "faster than"
    elif speedup.high < 1 - SAME_LENGTH:
        how = "slower than"
    else:
        how = "not clearly apart from"
    rate, without = figure(prediction, "throughput_tok_s"), figure(prediction, "baseline_tok_s")
    change = numbers.percent(speedup.mid - 1)
    return [f"Speculation gives {rate}, {how} the {without} without it ({change})."]


def _chain_alone(prediction: Prediction) -> list[str]:
    """What is known of a chain without anything to hold it against."""
    known = prediction.figures
    sentences = []
    if "throughput_tok_s" in known:
        length, cycle = figure(prediction, "accept_len"), figure(prediction, "cycle_ms")
        rate = figure(prediction, "throughput_tok_s")
        sentences.append(f"{length} in cycles of {cycle} give {rate}.")
    elif {"accept_len", "accuracy"} <= known.keys() and prediction.given.one_accuracy:
        at = steps_words(prediction.given.steps)
        accuracy, length = figure(prediction, "accuracy"), figure(prediction, "accept_len")
        sentences.append(f"{accuracy} right in every one of {at} give {length}.")
    elif prediction.given.steps is not None and "accept_len" in known:
        at = steps_words(prediction.given.steps)
        sentences.append(f"{at} with these accuracies give {figure(prediction, 'accept_len')}.")
    if "ceiling_tok_s" in known:
        at = steps_words(prediction.given.steps)
        ceiling = figure(prediction, "ceiling_tok_s")
        sentences.append(f"If every draft were right, {at} would give {ceiling}.")
    return sentences


def _break_even(prediction: Prediction) -> list[str]:
    known = prediction.figures.get("break_even_accept_len")
    if known is None:
        return []
    if known.high <= 1:
        return ["Speculation pays with every drafter: a cycle yields at least 1 token."]
    text = f"Speculation pays from {figure(prediction, 'break_even_accept_len')} on"
    if prediction.given.goal == "target_tok_s":
        return [f"{text}."]
    return [f"{text}{_asks_for(prediction)}."]


def _target(prediction: Prediction) -> list[str]:
    if "target_tok_s" not in prediction.figures:
        return []
    target = figure(prediction, "target_tok_s")
    if "required_accept_len" not in prediction.figures:
        return _cycle_for(prediction, target)
    if prediction.figures["required_accept_len"].high <= 1:
        return [f"Every drafter gives {target}: a cycle yields at least 1 token."]
    needs = f"{target} needs {figure(prediction, 'required_accept_len')}{_asks_for(prediction)}."
    return [needs, *_ways_out(prediction)]


def _asks_for(prediction: Prediction) -> str:
    """What an accept length asks for of every step, as the end of a sentence."""
    if "required_accuracy" in prediction.figures:
        at = steps_words(prediction.given.steps)
        part = ", and in part of the ranges more than any drafter has" * (
            "required_accuracy" in prediction.partly
        )
        return f": {figure(prediction, 'required_accuracy')} right in every one of {at}{part}"
    reason = prediction.reasons["required_accuracy"]
    return f"; {reason}" if reason.startswith("no drafter") else ""


def _ways_out(prediction: Prediction) -> list[str]:
    """What would have to change where a drafter alone cannot reach the target in all ranges."""
    if "required_accuracy" in prediction.figures and not prediction.partly.get("required_accuracy"):
        return []
    ways = []
    if "steps_needed" in prediction.figures:
        growth = "unchanged" if prediction.given.step_growth_ms is None else "grown by its drafts"
        fewest = figure(prediction, "steps_needed")
        ways.append(f"at least {fewest} steps at a cycle {growth}")
    if "longest_cycle_ms" in prediction.figures:
        cycle = figure(prediction, "longest_cycle_ms")
        ways.append(f"at most {cycle} a cycle at {steps_words(prediction.given.steps)}")
    if not ways:
        return []
    return [f"If every draft were right, it would take {', or '.join(ways)}."]


def _cycle_for(prediction: Prediction, target: str) -> list[str]:
    sentences = []
    if "required_cycle_ms" in prediction.figures:
        length = figure(prediction, "accept_len")
        cycle = figure(prediction, "required_cycle_ms")
        sentences.append(f"{target} needs a cycle of {cycle} at {length}.")
    if "longest_cycle_ms" in prediction.figures:
        cycle = figure(prediction, "longest_cycle_ms")
        sentences.append(f"Beyond a cycle of {cycle} no drafter gives {target}.")
    return sentences


def assumptions(prediction: Prediction) -> list[str]:
    """What was assumed, one sentence each; only of what the prediction has figures of."""
    given, known = prediction.given, prediction.figures
    sentences = list(given.remarks)
    if "cycle_ms" in known and given.steps is not None:
        at = steps_words(given.steps)
        sentences.append(f"The time of a cycle is that of {at}; another number has its own.")
    if "steps_needed" in known:
        sentences.append(
            "The fewest steps take the cycle as unchanged however many there are."
            if given.step_growth_ms is None
            else "The fewest steps take verify as unchanged, and one draft time more for each step."
        )
    if "required_accuracy" in known or ("accuracy" in known and given.one_accuracy):
        sentences.append("One accuracy holds for all draft steps.")
    if known.keys() & {"limit_accept_len", "limit_required_accuracy"}:
        sentences.append("The limits for steps → ∞ are no figures of any finite chain.")
    if "required_accept_len" in known and given.goal == "baseline_tok_s":
        sentences.append("Requirements are for the break-even, since no target is known.")
    return sentences
