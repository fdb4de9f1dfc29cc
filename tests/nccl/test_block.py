"""A block at a file's end: whatever bytes stand before it, taking it out leaves them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.errors import MachineRefused
from gamekit.nccl.block import attached, detached, found

VALUES = {"NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS"}
WHOLE = attached(None, VALUES, None)
# Statements in odd forms, and such as are near to what is searched for.
PIECES = st.lists(
    st.one_of(
        st.binary(max_size=12).map(lambda content: b"# " + bytes(set(content) - set(b"\0\r\n"))),
        st.sampled_from(
            [
                b"",
                b"\x0c",
                b"x = 1",
                b"# <<< gamekit nccl",
                b"if x:\n    x = (\r\n  1)",
                b"x = [\n" + WHOLE + b"]",
                b'x = """' + WHOLE + b'"""',
                b"x = b'''\n" + WHOLE.replace(b"'", b'"') + b"'''",
                b'x = """\n' + WHOLE.partition(b"<<<")[0] + b'"""',
                b"x = 1 + \\\n1",
            ]
        ),
    ).flatmap(lambda line: st.sampled_from([b"\n", b"\r\n", b"\r"]).map(line.__add__))
).map(lambda lines: b"# coding: latin-1\n" + b"".join(lines))
LAST = st.sampled_from([b"", b"x = 1", b"# mine", b"\x0c"])
LATIN = st.tuples(PIECES, LAST).map(b"".join)
SOURCES = LATIN | st.sampled_from([b"", b"\xef\xbb\xbf", b"x = 1"])
VARIABLES = st.dictionaries(
    st.from_regex(r"NCCL_[A-Z]{1,8}", fullmatch=True), st.text(min_size=1), min_size=1
)


@given(content=st.none() | SOURCES, values=VARIABLES, shadowed=st.none() | st.text(min_size=1))
def test_taking_out_restores_every_byte(
    content: bytes | None, values: dict[str, str], shadowed: str | None
) -> None:
    """A file with a block put in and taken out is what it was, and the block says its values."""
    written = attached(content, values, shadowed)
    assert written.startswith(content or b"")
    block = found(written, "f")
    assert block is not None
    assert (block.block.values, block.block.shadowed, block.edited) == (values, shadowed, False)
    assert detached(written, block) == content


@given(content=LATIN, added=PIECES)
def test_what_stands_behind_the_block_stays_a_line_of_its_own(content: bytes, added: bytes) -> None:
    """Text that was added behind the block outlives it, and joins no line of the text before."""
    written = attached(content, VALUES, None) + added
    block = found(written, "f")
    assert block is not None
    rest = detached(written, block)
    assert rest is not None
    assert rest.endswith(added)
    before = rest.removesuffix(added)
    assert before in (content, content + b"\n", content + b"\r\n")
    assert before.endswith(b"\n") or before == b""


# A lone carriage return and the line feed behind it would be one line end to the editor.
@given(content=SOURCES.filter(lambda content: not content.endswith(b"\r")))
def test_other_line_ends_are_no_edit(content: bytes) -> None:
    """A file whose line ends an editor changed has its block still, as it was written."""
    written = attached(content, VALUES, None)
    converted = written.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    block = found(converted, "f")
    assert block is not None
    assert not block.edited
    assert detached(converted, block) == content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def test_a_changed_letter_is_an_edit() -> None:
    """Each byte of the block's lines counts, the flags too."""
    written = attached(b"x = 1", VALUES, None)
    for old, new in ((b"Ring", b"Tree"), (b" newline", b""), (b"setdefault", b"setdefaulT")):
        block = found(written.replace(old, new), "f")
        assert block is not None
        assert block.edited


@pytest.mark.parametrize("count", [0, 2])
def test_a_damaged_or_second_block_is_refused_with_its_line(count: int) -> None:
    """Half a block, and two blocks, are told with file and line, not guessed at."""
    whole = attached(b"", VALUES, None)
    content = b"x = 1\n" + (whole * count or whole.partition(b"# <<<")[0])
    with pytest.raises(MachineRefused, match=r"site\.py:2: .*block.*by hand"):
        found(content, "site.py")


def test_a_file_with_carriage_returns_gets_a_block_with_them() -> None:
    """The block's line ends are those of its file."""
    assert attached(b"x = 1\r\n", VALUES, None).replace(b"\r\n", b"").count(b"\n") == 0


@pytest.mark.parametrize(
    ("before", "behind"),
    [(b'x = """\n', b'"""\n'), (b"x = [\n", b"]\n"), (b"x = 1 + \\\n", b"")],
)
def test_a_block_within_a_statement_is_the_users_text(before: bytes, behind: bytes) -> None:
    """What looks like a block in a string or bracket is none; a real one behind it is found."""
    content = before + WHOLE + behind
    assert found(content, "f") is None
    both = found(content + attached(b"", {"NCCL_ALGO": "Tree"}, None), "f")
    assert both is not None
    assert both.block.values == {"NCCL_ALGO": "Tree"}
    assert both.start == len(content)


@pytest.mark.parametrize("content", [b'x = """\n' + WHOLE, b"x = (\n" + WHOLE, b"\xff\n" + WHOLE])
def test_what_cannot_be_told_apart_is_refused(content: bytes) -> None:
    """Where the text is no Python, nobody can say what is a block: nothing is cut."""
    with pytest.raises(MachineRefused, match="no Python text") as refusal:
        found(content, "f")
    assert "\n" not in str(refusal.value)
