"""Findings' texts are shown literally, by GitHub's reader (CommonMark) and by MkDocs' alike."""

from __future__ import annotations

from html.parser import HTMLParser

import markdown as python_markdown
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gamekit.render.markdown import address, block, cell, code, inline, paragraphs

HOSTILE = [
    "a | b\nc",
    "`x` ``y``",
    "__init__ and _x_ and a_b_c",
    "<unk> <script>alert(1)</script>",
    "${{ x }} {{ 7*7 }} $a$ {% raw %}",
    "~~gone~~ :smile: ^up^",
    "[x](javascript:alert(1)) ![y](z) [^1] [z]: w",
    "# heading",
    "- item",
    "1. item",
    "1) item",
    "+ item",
    "> quote",
    "--- ",
    "=== tab",
    "!!! note",
    "??? note",
    "%% x",
    ": definition",
    "&lt; &#60; &amp AT&T",
    "\\ \\\\ \\| \\n",
    "| --- | --- |",
    "text { : .class } {: #id}",
    "*[HTML]: abbreviation",
    "a\u202eb\u0000c\u200bd",
    "    indented",
    "2.46 is a number",
    "-1",
]
# Characters that mean something to some Markdown, in every neighbourhood.
NOISE = st.text(st.sampled_from(list("a1 _*`|\\<>[](){}#+-.!~$^:=&;%?\n\"'/@x")), max_size=40)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser gives it
        self.tags.append(tag)
        if tag == "br":
            self.text += "\n"
        if tag == "td":
            self.text = ""

    def handle_endtag(self, tag):
        if tag == "td":
            self.cells.append(self.text)

    def handle_data(self, data):
        self.text += data


def _readers():
    mkdocs = python_markdown.Markdown(
        extensions=["tables", "fenced_code", "admonition", "toc", "attr_list", "footnotes", "abbr"]
    )
    github = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return [("mkdocs", lambda source: mkdocs.reset().convert(source)), ("github", github.render)]


READERS = _readers()


def _read(convert, source: str) -> _Text:
    parser = _Text()
    parser.feed(convert(source))
    parser.close()
    return parser


def _shown(text: str) -> str:
    """The text as it should appear: one space for any run of space, hidden characters as codes."""
    spaced = " ".join(text.split())
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in spaced)


@pytest.mark.parametrize(("reader", "convert"), READERS)
@given(text=st.one_of(NOISE, st.text(max_size=40)))
@example("a | b\nc")
def test_inline_text_is_shown_literally(reader, convert, text):
    """A finding's text appears in a paragraph as exactly its own characters, as text only."""
    if not all(c.isprintable() or c.isspace() for c in text):
        return
    parsed = _read(convert, f"{inline(text)}\n")
    assert parsed.text.strip() == _shown(text)
    assert set(parsed.tags) <= {"p"}


@pytest.mark.parametrize(("reader", "convert"), READERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_literally(reader, convert, text):
    """Text that looks like markup, templates or workflow expressions is never interpreted."""
    parsed = _read(convert, f"{inline(text)}\n")
    assert parsed.text.strip() == _shown(text)
    assert set(parsed.tags) <= {"p"}


@pytest.mark.parametrize(("reader", "convert"), READERS)
@given(first=NOISE, second=NOISE)
@example("a|b", "`|`\n|")
@example("", "&#1")
def test_table_keeps_its_columns(reader, convert, first, second):
    """Whatever two cells hold, a row has exactly two, and each shows its own text."""
    source = f"| one | two |\n|---|---|\n| {cell(first)} x | {cell(second)} y |\n"
    parsed = _read(convert, source)
    assert len(parsed.cells) == 2
    for shown, text, end in zip(parsed.cells, (first, second), "xy", strict=True):
        lines = [_shown(line) for line in text.strip().splitlines()]
        expected = " ".join(("\n".join(lines) + f" {end}").split())
        assert " ".join(shown.split()) == expected


@pytest.mark.parametrize(("reader", "convert"), READERS)
@given(text=NOISE)
def test_code_in_a_table_is_shown_literally(reader, convert, text):
    """Code keeps its characters inside a table cell, pipes and backticks included."""
    source = f"| one | two |\n|---|---|\n| {code(text)} x | y |\n"
    parsed = _read(convert, source)
    assert len(parsed.cells) == 2
    assert " ".join(parsed.cells[0].split()) == " ".join(f"{text} x".split())


@pytest.mark.parametrize(("reader", "convert"), READERS)
@given(text=NOISE)
def test_code_block_cannot_be_left(reader, convert, text):
    """A fenced block holds the whole text, whatever fences the text has itself."""
    parsed = _read(convert, f"{block(text)}\n\nafter\n")
    expected = [line.rstrip() for line in text.rstrip().splitlines()]
    before, _, after = parsed.text.rpartition("after")
    shown = [line.rstrip() for line in before.strip("\n").splitlines()]
    assert _trim(shown) == _trim(expected)
    assert after.strip() == ""


def _trim(lines: list[str]) -> list[str]:
    while lines and not lines[0]:
        lines = lines[1:]
    return lines


def test_paragraphs_are_cut_at_blank_lines():
    """A blank line begins a paragraph; a single line break does not."""
    assert paragraphs("one\ntwo\n\nthree") == "one two\n\nthree"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "https://x y", "ftp://x"]
)
def test_only_web_addresses_become_links(url):
    """An address that is not plain http(s) is shown as code and leads nowhere."""
    assert "](" not in address(url)


def test_an_address_keeps_its_parentheses_inside_the_link():
    """Brackets in a web address cannot end the link early."""
    assert address("https://a.b/x(d)") == "[https://a.b/x(d)](https://a.b/x%28d%29)"
