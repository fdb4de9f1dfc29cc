"""Whether the samples of a measurement are of one state of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from gamekit.findings import Measurement, Subject
from gamekit.stability import Instability, instabilities

# These tell of the prompts as much as of the engine: how they spread is no fault of a run.
_OF_THE_PROMPTS = ("accept_length", "conditional_accuracy", "cumulative_acceptance")
# Of speculation these follow the accept length of each request: how, as a power of it.
_WITH_ACCEPT_LENGTH = {"decode_rate": 1, "end_to_end_rate": 1, "time_per_output_token": -1}


def instabilities_of(
    measurement: Measurement, accept_lengths: Sequence[float] | None
) -> list[Instability]:
    """The faults of its samples, whatever their size; none where there are no samples.

    What differs from request to request by its nature is not judged: a rate under speculation is
    taken at equal accept length, by the ``accept_lengths`` of the same requests, and left alone
    where those are not known; a TTFT is left alone unless all prompts are of one length; and two
    modes are looked for only where requests do not wait for each other.
    """
    samples = _comparable(measurement, accept_lengths)
    subject = measurement.subject
    # What arrives at a rate waits for each other as well.
    alone = subject.concurrency in (None, 1) and "rate" not in subject.parameters
    return instabilities(samples, modes=alone)


def speculates(subject: Subject) -> bool:
    """Whether speculation is on; steps or a drafter say so where nobody named the algorithm."""
    if subject.speculation is not None:
        return subject.speculation != "none"
    return bool(subject.steps) or subject.drafter not in (None, "none")


def _comparable(
    measurement: Measurement, accept_lengths: Sequence[float] | None
) -> Sequence[float]:
    samples, subject = measurement.value.samples or (), measurement.subject
    if measurement.metric in _OF_THE_PROMPTS:
        return ()
    if measurement.metric == "ttft" and subject.input_tokens is None:
        return ()
    power = _WITH_ACCEPT_LENGTH.get(measurement.metric)
    if power is None or not speculates(subject):
        return samples
    if accept_lengths is None or len(accept_lengths) != len(samples) or min(accept_lengths) <= 0:
        return samples if subject.acceptance == "imposed" else ()
    mean = fmean(accept_lengths)
    return [x * (mean / length) ** power for x, length in zip(samples, accept_lengths, strict=True)]
