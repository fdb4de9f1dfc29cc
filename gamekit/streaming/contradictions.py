"""Where the counts that a server told of one answer contradict each other, in words."""

from __future__ import annotations

import math

from gamekit.streaming.record import SpeculationCounters, StreamRecord

# Correct drafts of one cycle, where the server tells neither its steps nor anything of the drafts.
_MOST_DRAFTS = 16


def contradictions(record: StreamRecord, steps: int | None = None) -> list[str]:
    """What cannot be true at once, one sentence each; ``steps`` are the engine's draft steps.

    A chunk brings at least one token, and a verify one chunk at most. An answer has the token that
    the prefill sampled, one more for each time it was retracted and filled again, and of each
    verify the correct drafts and the bonus token. Drafts are counted at the verify, so that
    max_tokens or a stop token may cut off the last cycle's; one token is left to engines that do
    not count the prefill's, and one id to those that do not send the stop token's.
    """
    found = [] if record.fell is None else [record.fell]
    tokens = record.completion_tokens
    if tokens is not None and tokens < len(record.chunks):
        found.append(f"{tokens} tokens were counted, and {len(record.chunks)} chunks brought some")
    if tokens is not None and record.token_ids is not None:
        last, all_of_them = record.token_ids
        if tokens - last not in (0, 1) and tokens - all_of_them not in (0, 1):
            found.append(f"{tokens} tokens were counted, and {last} ids came")
    cached, prompt = record.cached_tokens, record.prompt_tokens
    if cached is not None and prompt is not None and cached > prompt:
        found.append(f"{cached} of {prompt} prompt tokens came from the prefix cache")
    told = record.speculation
    if told is not None:
        prefilled = 1 + (record.retractions or 0)
        if len(record.chunks) > prefilled + told.verify_count:
            found.append(f"{told.verify_count} verifies gave {len(record.chunks)} chunks")
        found += _of_speculation(told, steps)
        if tokens is not None:
            found += _of_cycles(told, tokens, prefilled, steps)
    return found


def _of_speculation(told: SpeculationCounters, steps: int | None) -> list[str]:
    found = []
    correct, proposed, histogram = told.correct_drafts, told.proposed_drafts, told.histogram
    if correct is not None and proposed is not None and correct > proposed:
        found.append(f"{correct} of {proposed} proposed drafts were correct")
    if steps is not None and correct is not None and correct > steps * told.verify_count:
        found.append(f"{told.verify_count} verifies of {steps} steps had {correct} correct drafts")
    if histogram is not None:
        if sum(histogram) != told.verify_count:
            found.append(f"the histogram has {sum(histogram)} of {told.verify_count} verifies")
        if correct is not None and _drafts(histogram) != correct:
            found.append(f"the histogram has {_drafts(histogram)} of {correct} correct drafts")
    return found


def _of_cycles(
    told: SpeculationCounters, tokens: int, prefilled: int, steps: int | None
) -> list[str]:
    correct = told.correct_drafts
    if correct is None and told.histogram is not None:
        correct = _drafts(told.histogram)
    verifies = f"{told.verify_count} verifies"
    if correct is None:
        return [f"{verifies} gave {tokens} tokens"] if told.verify_count > tokens else []
    made = prefilled + told.verify_count + correct
    if 0 <= made - tokens <= 1 + _most_drafts(told, steps):
        return []
    return [f"{verifies} with {correct} correct drafts make {made} tokens, and {tokens} came"]


def _drafts(histogram: tuple[int, ...]) -> int:
    return sum(drafts * times for drafts, times in enumerate(histogram))


def _most_drafts(told: SpeculationCounters, steps: int | None) -> int:
    """How many drafts of one cycle may have been correct: the least of what is told of it."""
    most = [] if steps is None else [steps]
    if told.histogram is not None:
        most.append(
            max((drafts for drafts, times in enumerate(told.histogram) if times), default=0)
        )
    if told.proposed_drafts is not None:
        most.append(math.ceil(told.proposed_drafts / told.verify_count))
    return min(most, default=_MOST_DRAFTS)
