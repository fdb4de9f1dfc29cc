"""The template environment: sandboxed, strict about missing fields, and escaping by default."""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gamekit.errors import GamekitError, TemplateFault
from gamekit.render import markdown
from gamekit.render.markdown import Markdown


class _Missing(StrictUndefined):
    """A missing name or field; its message names the finding whose field was asked for."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        owner = getattr(self._undefined_obj, "id", None)
        if isinstance(owner, str):
            return f"finding {owner} has no field {self._undefined_name}"
        return super()._undefined_message


class _Compiled(BytecodeCache):
    """What templates were compiled to, for the next rendering of this process.

    Jinja takes it only for a template of the same name, file and text.
    """

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket of a template, where it was compiled before."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a filled bucket."""
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


class Templates:
    """The templates of one knowledge base: its own folder first, file by file, then the packaged.

    Every value that a template prints is escaped as one line of plain text unless it is
    ``Markdown`` already, so that a template cannot forget to.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = [str(folder) for folder in folders]
        self._environment = _Environment(
            loader=FileSystemLoader(self._folders, encoding="utf-8"),
            undefined=_Missing,
            # Autoescape makes macros and set blocks return markup, so that ``finalize`` can tell
            # them from plain text; the escaping itself is ours.
            autoescape=True,
            finalize=_finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            bytecode_cache=_COMPILED,
        )
        self._environment.filters.clear()
        self._environment.filters.update(_FILTERS)

    def names(self) -> list[str]:
        """The names of all templates."""
        return self._environment.list_templates(extensions=["j2"])

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """Render template ``name``.

        Raises ``TemplateFault`` with template, line and, for a missing field, the finding.
        """
        try:
            text = self._environment.get_template(name).render(context)
        except TemplateSyntaxError as error:
            place = error.name or name
            raise TemplateFault(
                error.message or "syntax error", file=f"templates/{place}", line=error.lineno
            ) from None
        except GamekitError as error:
            if error.file is not None:
                raise
            file, line = self._place(error, name)
            raise TemplateFault(error.message, file=file, line=line, mend=error.mend) from error
        except TemplateError as error:
            file, line = self._place(error, name)
            raise TemplateFault(
                error.message or f"there is no template {error}",
                file=file,
                line=line,
                mend="the fields of each kind are in findings/findings.schema.json",
            ) from None
        except Exception as error:  # a template is a user's code: whatever it does is its fault
            file, line = self._place(error, name)
            raise TemplateFault(f"{type(error).__name__}: {error}", file=file, line=line) from error
        return _tidy(text)

    def _place(self, error: BaseException, name: str) -> tuple[str, int | None]:
        """File and line of the innermost template that ``error`` passed through."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            for folder in self._folders:
                if Path(frame.filename).is_relative_to(folder):
                    inner = Path(frame.filename).relative_to(folder).as_posix()
                    return f"templates/{inner}", frame.lineno
        return f"templates/{name}", None


class _Environment(ImmutableSandboxedEnvironment):
    """Refuses the one operator that would join text and markup without our escaping."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        joined = template.find(nodes.Concat)
        if joined is not None:
            raise TemplateSyntaxError(
                "the operator ~ is not available; print the parts one after another",
                joined.lineno,
                name,
                filename,
            )
        return template


def _finalize(value: Any) -> Any:
    if value is None:
        raise TypeError("a template prints a value that is null; test for it first")
    if hasattr(value, "__html__"):
        return value
    return markdown.inline(str(value))


def _join(values: Iterable[Any], separator: str = ", ") -> Markdown:
    return Markdown(separator.join(_finalize(value) for value in values))


def _first(values: Iterable[Any]) -> Any:
    return next(iter(values))


# Jinja's own filters know HTML, not Markdown; these few are all that templates have.
_FILTERS: dict[str, Callable[..., Any]] = {
    "block": markdown.block,
    "cell": markdown.cell,
    "code": markdown.code,
    "first": _first,
    "inline": markdown.inline,
    "join": _join,
    "last": lambda values: values[-1],
    "length": len,
    "lines": "\n".join,
    "measurements": lambda records: [one for one in records if one.finding.kind == "measurement"],
    "paragraphs": markdown.paragraphs,
    "reversed": reversed,
    "spaced": shlex.join,
    "words": lambda name: name.replace("_", " "),
}


def _tidy(text: str) -> str:
    """One blank line at most between blocks, none at the end of a line, one newline at the end."""
    lines: list[str] = []
    fenced = False
    for raw in text.splitlines():
        line = raw if fenced else raw.rstrip()
        if line.startswith("```"):
            fenced = not fenced
        if line or fenced or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"
