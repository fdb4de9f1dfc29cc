"""The block that sets values in a sitecustomize.py: put at a file's end, found, and taken out.

It stands at the end. In front of a file's own text it would come before ``from __future__``
imports, the docstring and the coding cookie, which have to be first; and at the end the file's own
settings are made already, and win.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass

from gamekit.errors import MachineRefused

_ABOUT = '# Written by "gamekit nccl apply"; a value that is set already wins. Not to be edited.\n'
_END = "# <<< gamekit nccl\n"
_BEGIN = re.compile(rb"^# >>> gamekit nccl", re.MULTILINE)
_BLOCK = re.compile(
    rb"^# >>> gamekit nccl sha256:(?P<digest>[0-9a-f]{64})(?P<flags>(?: [a-z]+)*)"
    rb"(?P<line_end>\r?\n)(?P<body>.*?)^(?P<end># <<< gamekit nccl)(?:\r?\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Before a comment that stands for itself comes the end of a line, or of what is indented.
_BETWEEN = (
    *(tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL),
    *(tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT),
)
_LITERAL = re.compile(r"^    (values|shadowed) = (.+)$", re.MULTILINE)

_PLAIN = """\
def _gamekit_nccl():
    import os

    values = {values}
    for name, value in values.items():
        os.environ.setdefault(name, value)


_gamekit_nccl()
del _gamekit_nccl
"""
# As if Python had found the shadowed file itself: its names are this module's, and its exceptions
# go to Python, which reports them as it does without this file. It may hold such a block as well.
_CHAINED = """\
def _gamekit_nccl():
    import os

    values = {values}
    shadowed = {shadowed}
    own = globals().get("__file__")
    try:
        with open(shadowed, "rb") as file:
            source = file.read()
        globals()["__file__"] = shadowed
        exec(compile(source, shadowed, "exec", dont_inherit=True), globals())
    except (FileNotFoundError, NotADirectoryError) as error:
        if error.filename != shadowed:
            raise
    finally:
        globals()["__file__"] = own
        for name, value in values.items():
            os.environ.setdefault(name, value)


_gamekit_nccl()
globals().pop("_gamekit_nccl", None)
"""


@dataclass(frozen=True)
class Block:
    """What a block sets, and how it came into its file.

    ``shadowed`` is a sitecustomize.py that this file hides from Python, which the block runs.
    ``created``: there was no file before. ``newline``: a line end was put in front of the block.
    """

    values: Mapping[str, str]
    shadowed: str | None = None
    created: bool = False
    newline: bool = False


@dataclass(frozen=True)
class Found:
    """A block in a file's bytes, from ``start`` to ``end``; ``edited`` when its digest is off."""

    block: Block
    start: int
    end: int
    edited: bool
    crlf: bool


def attached(content: bytes | None, values: Mapping[str, str], shadowed: str | None) -> bytes:
    """``content`` (None: there is no file) with a block at its end, in the file's line ends."""
    text = content or b""
    newline = not (text == b"" or text.endswith(b"\n"))
    block = Block(values, shadowed, created=content is None, newline=newline)
    end = b"\r\n" if b"\r\n" in text else b"\n"
    written = _written(block).encode("ascii").replace(b"\n", end)
    return text + (end if newline else b"") + written


def _written(block: Block) -> str:
    body = _ABOUT + (_CHAINED if block.shadowed else _PLAIN).format(
        values=ascii(dict(sorted(block.values.items()))), shadowed=ascii(block.shadowed)
    )
    flags = _flags(block)
    return f"# >>> gamekit nccl sha256:{_digest(flags, body)}{flags}\n{body}{_END}"


def _flags(block: Block) -> str:
    return f"{' created' if block.created else ''}{' newline' if block.newline else ''}"


def _digest(flags: str, body: str) -> str:
    return hashlib.sha256(f"{flags}\n{body}".encode("utf-8", "surrogateescape")).hexdigest()


def found(content: bytes, file: str) -> Found | None:
    """The block in ``content``, or None. ``file`` is named by errors.

    Line ends that an editor changed are no edit. What looks like a block within a string or a
    bracket is the user's text. Raises ``MachineRefused`` when there are several blocks, a beginning
    without an end, or no telling, since the file is no Python text.
    """
    starts = [match.start() for match in _BEGIN.finditer(content)]
    comments = _comments(content, file) if starts else frozenset()
    starts = [start for start in starts if start in comments]
    if not starts:
        return None
    match = _BLOCK.match(content, starts[0])
    if len(starts) > 1 or match is None or match.start("end") not in comments:
        raise MachineRefused(
            "several blocks of gamekit nccl" if len(starts) > 1 else "half a block of gamekit nccl",
            file=file,
            line=content.count(b"\n", 0, starts[0]) + 1,
            mend="take the lines from '# >>> gamekit nccl' to '# <<< gamekit nccl' out by hand",
        )
    digest, flags, end, body = match.group("digest", "flags", "line_end", "body")
    text = body.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    known = _read_literals(text)
    values, shadowed = known.get("values"), known.get("shadowed")
    names = flags.decode("ascii").split()
    return Found(
        block=Block(
            values if isinstance(values, dict) else {},
            shadowed if isinstance(shadowed, str) else None,
            created="created" in names,
            newline="newline" in names,
        ),
        start=match.start(),
        end=match.end(),
        edited=_digest(flags.decode("ascii"), text) != digest.decode("ascii"),
        crlf=end == b"\r\n",
    )


def _comments(content: bytes, file: str) -> frozenset[int]:
    """Where the comments start that have a line of their own, between two statements."""
    # Python takes each sort of line end for one.
    lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    rows = set()
    depth, before = 0, tokenize.ENCODING
    try:
        for token in tokenize.tokenize(io.BytesIO(lines).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            elif token.type == tokenize.COMMENT and before in _BETWEEN and depth == 0:
                rows.add(token.start[0])
            before = token.type
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        raise MachineRefused(
            "what looks like a block of gamekit nccl stands in what is no Python text",
            file=file,
            mend="mend the file first: let Python compile it",
        ) from None
    ends = [match.end() for match in re.finditer(rb"\r\n|\r|\n", content)]
    return frozenset(start for row, start in enumerate([0, *ends], 1) if row in rows)


def _read_literals(text: str) -> dict[str, object]:
    """What the block's assignments say; an edited one that is no literal any more says nothing."""
    read: dict[str, object] = {}
    for name, literal in _LITERAL.findall(text):
        try:
            read[name] = ast.literal_eval(literal)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return read


def detached(content: bytes, block: Found) -> bytes | None:
    """``content`` without its block: the bytes that were there before, or None for no file.

    What somebody wrote behind the block stays, and so does the line end in front of it then: the
    file's last line and theirs are two lines.
    """
    before, after = content[: block.start], content[block.end :]
    if block.block.newline and not after:
        before = before.removesuffix(b"\r\n" if block.crlf else b"\n")
    rest = before + after
    return None if block.block.created and not rest else rest
