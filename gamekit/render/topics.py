"""Which page of the site a findings file is shown on."""

from __future__ import annotations

import posixpath

from gamekit.store.load import Topic

FINDINGS_PAGES = "docs/findings"


def page_of(topic: Topic) -> str:
    """The page of a topic: its own for a curated file, its month's for a run file."""
    if topic.run is not None:
        return f"{FINDINGS_PAGES}/measured-{topic.run.started[:7]}.md"
    # Two files of one name in different folders get different pages.
    inner = posixpath.splitext(topic.file)[0].split("/", 1)[-1].replace("/", "-")
    return f"{FINDINGS_PAGES}/{inner}.md"
