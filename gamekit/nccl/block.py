"""The block that sets values in a sitecustomize.py: put at a file's end, found, and taken out.

It stands at the end. In front of a file's own text it would come before ``from __future__``
imports, the docstring and the coding cookie, which have to be first; and at the end the file's own
settings are made already, and win.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gamekit.errors import MachineRefused

_ABOUT = '# Written by "gamekit nccl apply"; a value that is set already wins. Not to be edited.\n'
_END = "# <<< gamekit nccl\n"
_BEGIN = re.compile(rb"^# >>> gamekit nccl", re.MULTILINE)
_BLOCK = re.compile(
    rb"^# >>> gamekit nccl sha256:([0-9a-f]{64})((?: [a-z]+)*)(\r?\n)"
    rb"(.*?)^# <<< gamekit nccl(?:\r?\n|\Z)",
    re.MULTILINE | re.DOTALL,
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

    Line ends that an editor changed are no edit. Raises ``MachineRefused`` when there are several
    blocks, or a beginning without an end.
    """
    matches = list(_BLOCK.finditer(content))
    if len(matches) != len(_BEGIN.findall(content)) or len(matches) > 1:
        raise MachineRefused(
            "several blocks of gamekit nccl"
            if len(matches) > 1
            else "half a block of gamekit nccl",
            file=file,
            line=content.count(b"\n", 0, _first(content)) + 1,
            mend="take the lines from '# >>> gamekit nccl' to '# <<< gamekit nccl' out by hand",
        )
    if not matches:
        return None
    digest, flags, end, body = matches[0].groups()
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
        start=matches[0].start(),
        end=matches[0].end(),
        edited=_digest(flags.decode("ascii"), text) != digest.decode("ascii"),
        crlf=end == b"\r\n",
    )


def _first(content: bytes) -> int:
    match = _BEGIN.search(content)
    return match.start() if match else 0


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
