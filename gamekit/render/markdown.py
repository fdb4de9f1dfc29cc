"""Plain text as Markdown that shows it literally, for GitHub's reader and for MkDocs alike.

Findings hold plain text. Whatever it contains (pipes, backticks, tags, template or workflow
expressions), the reader sees those characters and nothing is executed. Escapes are used only where
a reader would otherwise see something else, because people and agents read the source as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType


class Markdown(str):
    """Text that is Markdown already; everything else is escaped on its way into a document."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell Jinja that this needs no further escaping."""
        return self


# Shown as something else than itself by one of the two readers, wherever it stands.
_ANYWHERE = re.compile(
    r"""
      (?P<backslash>[\\`\[\]|*])                 # code, links, footnotes, table cells, emphasis
    | (?P<tag><)
    | (?P<entity>&(?=\#|\w+;))
    | (?P<rare>[$~^])                            # GitHub's mathematics, strikethrough, superscript
    | (?P<emoji>:(?=[\w+-]+:))
    | (?P<under>(?<![^\W_])_|_(?![^\W_]))        # inside a word an underscore is only itself
    | (?P<attribute>\{(?=\s*:))
    """,
    re.VERBOSE,
)
# Begins a block where it is the first thing of a line.
_AT_START = re.compile(
    r"^(?:(?P<mark>[#!]|[+\-](?=[\s+\-]|$))|(?P<rare>[=>:%?])|(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$))"
)
# Invisible or reordering characters are shown by their code, as in a terminal.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


References = Mapping[str, Markdown]
_NO_REFERENCES: References = MappingProxyType({})


def inline(text: str, references: References = _NO_REFERENCES) -> Markdown:
    """``text`` on one line: line breaks and runs of spaces become one space.

    ``references`` are parts of the text to be put in as the Markdown given, here and below.
    """
    return Markdown(_at_start(_mixed(_spaced(text), references)))


def cell(text: str, references: References = _NO_REFERENCES) -> Markdown:
    """``text`` inside a table cell: its line breaks stay, as ``<br>``."""
    lines = [_mixed(_spaced(line), references) for line in text.strip().splitlines()]
    return Markdown("<br>".join(lines))


def paragraphs(text: str, references: References = _NO_REFERENCES) -> Markdown:
    """``text`` as paragraphs, cut at blank lines; other line breaks become spaces."""
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    return Markdown("\n\n".join(inline(part, references) for part in parts if part.strip()))


def code(text: str) -> Markdown:
    """``text`` as code on one line, good inside a table cell as well."""
    shown = _visible(" ".join(text.split("\n")))
    if not shown.strip():
        return Markdown("")
    if "|" in shown or "`" in shown:
        return Markdown(f"<code>{_entities(shown)}</code>")
    return Markdown(f"`{shown}`")


def block(text: str, language: str = "") -> Markdown:
    """``text`` as a fenced code block; the fence is longer than any inside it."""
    shown = "\n".join(_visible(line) for line in text.rstrip().splitlines())
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}{language}\n{shown}\n{fence}")


def link(shown: Markdown, target: str, title: str | None = None) -> Markdown:
    """A link to ``target``, which gamekit made itself; ``title`` is shown on hovering."""
    hover = f' "{title}"' if title else ""
    return Markdown(f"[{shown}]({target}{hover})")


def address(url: str) -> Markdown:
    """A web address as a link to itself; anything that is not http(s) is shown as code."""
    if re.fullmatch(r"https?://[\w.~:/?#@!$&'()*+,;=%-]+", url):
        safe = url.replace("(", "%28").replace(")", "%29").replace("'", "%27").replace("*", "%2A")
        return Markdown(f"[{_escaped(url)}]({safe})")
    return code(url)


def anchor(identifier: str) -> Markdown:
    """A place that links can name; both readers keep it, and no attribute syntax is needed."""
    return Markdown(f'<a id="{identifier}"></a>')


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _mixed(text: str, references: References) -> str:
    if not references:
        return _escaped(text)
    parts = re.split("|".join(f"({re.escape(part)})" for part in references), text)
    # The groups of one alternation: where one matched, the others are None.
    return "".join(references.get(part) or _escaped(part) for part in parts if part)


def _escaped(text: str) -> str:
    return _ANYWHERE.sub(_replace, _visible(text))


def _replace(match: re.Match[str]) -> str:
    char = match.group()
    if match.lastgroup in ("backslash", "under"):
        return "\\" + char
    return f"&#{ord(char)};"


def _at_start(text: str) -> str:
    match = _AT_START.match(text)
    if match is None:
        return text
    if match["mark"]:
        return "\\" + text
    if match["rare"]:
        return f"&#{ord(text[0])};{text[1:]}"
    digits = match["number"]
    return f"{digits}&#{ord(match['dot'])};{text[len(digits) + 1 :]}"


def _visible(text: str) -> str:
    return _HIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _entities(text: str) -> str:
    return "".join(f"&#{ord(char)};" if char in "&<>|`\\*_[]{}$~:" else char for char in text)
