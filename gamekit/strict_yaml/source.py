"""From the bytes of a file to text that YAML 1.1 and 1.2 split into the same lines."""

from __future__ import annotations

import re
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from gamekit.errors import MachineRefused, YamlError
from gamekit.strict_yaml.limits import MAX_BYTES

# What is neither printable in YAML nor a line break, and what YAML 1.1 takes for a line break and
# YAML 1.2 does not (U+0085, U+2028, U+2029). A lone carriage return counts as a line to YAML and
# not to the editor that would look the line up.
_REFUSED = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
    "|\r(?!\n)"
)
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \t\r]|$)", re.MULTILINE)


def file_bytes(path: Path, file: str) -> bytes:
    """The content of the regular file at ``path``; ``file`` is the name used in errors.

    Raises ``YamlError`` when there is no file or it is no file, ``MachineRefused`` when the
    machine does not let it be read.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
            raise YamlError(
                f"this is {what}, not a file", file=file, line=1, mend="name a YAML file"
            )
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise YamlError(
            "there is no such file", file=file, line=1, mend="check its name"
        ) from error
    except OSError as error:
        raise MachineRefused(
            f"cannot be read: {error.strerror}",
            file=file,
            mend="check its permissions and disk",
        ) from error


def checked_text(data: bytes, file: str) -> str:
    """The text of a file, without byte order mark; ``YamlError`` for what is not plain UTF-8."""
    if len(data) > MAX_BYTES:
        raise YamlError(
            f"the file is larger than {MAX_BYTES // 1024**2} MiB",
            file=file,
            line=1,
            mend="split it into several files",
        )
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise YamlError("the file is UTF-16 or UTF-32", file=file, line=1, mend="save it as UTF-8")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise YamlError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8",
            file=file,
            line=data.count(b"\n", 0, error.start) + 1,
            mend="save the file as UTF-8",
        ) from error
    conflict = _CONFLICT.search(text)
    if conflict:
        raise YamlError(
            f"a conflict marker of an unfinished merge, {conflict[0]}",
            file=file,
            line=_line_at(text, conflict.start()),
            mend="settle the conflict and take its markers out",
        )
    refused = _REFUSED.search(text)
    if refused:
        code = ord(refused[0][0])
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        raise YamlError(
            f"the character U+{code:04X} cannot stand in a YAML file as it is",
            file=file,
            line=_line_at(text, refused.start()),
            mend=f"take it out, or write it as {escape} inside double quotes",
        )
    return text


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
