"""Which page of the site a findings file is shown on."""

from __future__ import annotations

import posixpath

from gamekit.store.load import Topic

FINDINGS_PAGES = "docs/findings"


def page_of(topic: Topic) -> str:
    """The page of a topic: its own for a curated file, its month's for a run file."""
    if topic.run is not None:
        return f"{FINDINGS_PAGES}/measured-{topic.run.started[:7]}.md"
    inner = posixpath.splitext(topic.file)[0].split("/", 1)[-1]
    # The index of a folder is a page of its own, by either of these names.
    if posixpath.basename(inner).lower() in ("index", "readme"):
        inner += "-topic"
    return f"{FINDINGS_PAGES}/{inner}.md"
