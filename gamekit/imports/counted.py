"""Whether the counts and lists of requests of one file can be of one run."""

from __future__ import annotations

from gamekit.imports.given import Fields

# Lists with an entry a request, with those that failed or without them.
_A_REQUEST = ("input_lens", "output_lens", "ttfts", "itls", "latencies", "generated_texts")


def completed_of(fields: Fields) -> int:
    """The requests that succeeded.

    Raises ``UsageFault`` where none did, where there are more than were sent, and where a list of
    all requests has fewer entries, or more than succeeded and failed.
    """
    completed = fields.count("completed")
    if not completed:
        raise fields.wrong("completed", "no completed request")
    failed, sent = fields.count("failed"), fields.count("num_prompts")
    if sent is not None and completed + (failed or 0) > sent:
        raise fields.wrong("completed", f"more than num_prompts allows, {sent}")
    most = sent if failed is None else completed + failed
    for name in _A_REQUEST:
        told = fields.data.get(name)
        if not isinstance(told, list) or not told:  # left out, or not asked for
            continue
        if len(told) < completed or (most is not None and len(told) > most):
            raise fields.wrong("completed", f"not of the {len(told)} requests in {name}")
    return completed
