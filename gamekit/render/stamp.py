"""The stamp at the end of a rendered document, by which a hand edit is told from a stale text."""

from __future__ import annotations

import hashlib
import json
import re

# It names its own document: a copy that somebody keeps under another name is theirs.
_COMMENT = "<!-- {}, rendered by gamekit from findings/; edits here are overwritten. sha256:{} -->"
_COMMENT_PATTERN = re.compile(
    r"\n?<!-- (?P<path>.{1,300}), rendered by gamekit .*?sha256:(?P<digest>[0-9a-f]{64}) -->\s*\Z"
)
_INPUTS = "<!-- drawn from inputs sha256:{} -->"
_INPUTS_PATTERN = re.compile(r"<!-- drawn from inputs sha256:([0-9a-f]{64}) -->")
_CONFLICT = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
_JSON_KEY = "$comment"


def stamped(path: str, body: str) -> str:
    """``body`` with the digest of its own text: a comment in Markdown, ``$comment`` in JSON."""
    digest = _digest(body)
    if path.endswith(".json"):
        data = json.loads(body)
        return _json({_JSON_KEY: f"Rendered by gamekit; sha256:{digest}", **data})
    return f"{body}\n{_COMMENT.format(path, digest)}\n"


def with_inputs(body: str, digest: str) -> str:
    """An SVG body that names the digest of the inputs it was drawn from, for ``inputs_of``."""
    return f"{body.rstrip()}\n{_INPUTS.format(digest)}\n"


def inputs_of(text: str) -> str | None:
    """The digest of the inputs that a drawn figure names, None where it names none."""
    match = _INPUTS_PATTERN.search(text)
    return None if match is None else match.group(1)


def is_rendered(path: str, text: str) -> bool:
    """Whether ``text`` carries the stamp of the document ``path``, intact or not."""
    return _split(path, text)[1] is not None


def is_untouched(path: str, text: str) -> bool:
    """Whether ``text`` is exactly as gamekit once rendered it."""
    body, digest = _split(path, text)
    return digest is not None and digest == _digest(body)


def is_merge_conflict(text: str) -> bool:
    """Whether ``text`` holds the markers of a conflict that a merge left behind."""
    return len(set(_CONFLICT.findall(text))) == 2


def _split(path: str, text: str) -> tuple[str, str | None]:
    if path.endswith(".json"):
        try:
            data = json.loads(text)
            comment = data.pop(_JSON_KEY)
        except (ValueError, KeyError, AttributeError, TypeError):
            return text, None
        return _json(data), str(comment).rpartition("sha256:")[2]
    match = _COMMENT_PATTERN.search(text)
    if match is None or match["path"] != path:
        return text, None
    return text[: match.start()], match["digest"]


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
