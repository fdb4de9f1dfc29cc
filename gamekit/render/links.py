"""Where links lead: the plan at the root and the pages of the site need different targets."""

from __future__ import annotations

import posixpath

from gamekit.render.topics import page_of
from gamekit.store.load import Record, Topic

SITE_FOLDER = "docs"


class Links:
    """The targets of links inside one document, relative to where it lies."""

    def __init__(self, document: str) -> None:
        self._folder = posixpath.dirname(document)
        self._on_site = document.startswith(f"{SITE_FOLDER}/")

    def to_record(self, record: Record) -> str:
        """On the site the record's place on its topic's page, elsewhere the file that holds it.

        No line number: a comment added above a record must not change a document.
        """
        if self._on_site:
            return f"{self._relative(page_of(record.topic))}#{record.id}"
        return self._relative(record.file)

    def to_topic(self, topic: Topic) -> str:
        """The topic's page, or its file."""
        return self._relative(page_of(topic) if self._on_site else topic.file)

    def _relative(self, path: str) -> str:
        return posixpath.relpath(path, self._folder or ".")
