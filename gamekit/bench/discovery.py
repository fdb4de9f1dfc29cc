"""Finds the benchmarks: the files of the knowledge base's ``benchmarks/`` and the packaged ones."""

from __future__ import annotations

import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

from gamekit.bench.module import Benchmark
from gamekit.bundled import bundled, layers
from gamekit.errors import GamekitError, KnowledgeError, KnowledgeErrors, UsageFault

_MEND = "mend the file, or move it out of benchmarks/"


@dataclass(frozen=True)
class Found:
    """The benchmarks by name, and what is wrong with files that hold none that can be used."""

    benchmarks: dict[str, Benchmark]
    problems: tuple[GamekitError, ...]

    def select(self, names: tuple[str, ...]) -> list[Benchmark]:
        """The benchmarks of those names, in that order; without names, all of them.

        Raises ``UsageFault`` for a name that there is not; a broken file of that name says instead
        what is broken about it.
        """
        if not names:
            return list(self.benchmarks.values())
        return [self._one(name) for name in dict.fromkeys(names)]

    def _one(self, name: str) -> Benchmark:
        if name in self.benchmarks:
            return self.benchmarks[name]
        broken = [one for one in self.problems if one.file and Path(one.file).stem == name]
        if broken:
            raise broken[0]
        close = get_close_matches(name, self.benchmarks, n=1)
        known = f"did you mean {close[0]}?" if close else f"there are: {', '.join(self.benchmarks)}"
        raise UsageFault(f"there is no benchmark '{name}'", mend=known)


def discover(root: Path | None) -> Found:
    """Every benchmark of the knowledge base at ``root`` (None: only the packaged ones), by name.

    A file of the knowledge base takes the place of the packaged file of that name. Files whose name
    begins with ``_`` or ``.`` are helpers, not benchmarks. A broken file hides no other.
    """
    folders = (bundled("benchmarks"),) if root is None else layers(root, "benchmarks")
    files: dict[str, Path] = {}
    for folder in folders:
        for path in folder.glob("*.py"):
            if not path.name.startswith(("_", ".")):
                files.setdefault(path.name, path)
    benchmarks: dict[str, Benchmark] = {}
    problems: list[GamekitError] = []
    for _, path in sorted(files.items()):
        try:
            found = _load(path)
            first = benchmarks.setdefault(found.name, found)
            if first is not found:
                raise KnowledgeError(
                    f"the benchmark {found.name} is declared in {first.file} already",
                    file=path,
                    line=1,
                    mend="give one of the two another name",
                )
        except GamekitError as error:
            problems.append(error)
    return Found(dict(sorted(benchmarks.items())), tuple(problems))


def raise_problems(found: Found) -> None:
    """Raise what is wrong with the files, if anything is: one error, or all of them together."""
    if len(found.problems) == 1:
        raise found.problems[0]
    if found.problems:
        raise KnowledgeErrors(found.problems)


def _load(path: Path) -> Benchmark:
    name = f"gamekit_benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # a file whose suffix Python does not load
        raise KnowledgeError("is no Python module", file=path, mend=_MEND)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with _telling_ctrl_c():
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise KnowledgeError(
            f"is no Python: {error.msg}", file=path, line=error.lineno, mend=_MEND
        ) from error
    except _CtrlC:
        raise
    # sys.exit and KeyboardInterrupt of the file itself as well: it is broken, and gamekit goes on.
    except BaseException as error:
        raise KnowledgeError(
            f"cannot be imported: {type(error).__name__}: {error}",
            file=path,
            line=_line_in(path, error),
            mend=_MEND,
        ) from error
    finally:
        sys.dont_write_bytecode = written
    declared = getattr(module, "BENCHMARK", None)
    if not isinstance(declared, Benchmark):
        raise KnowledgeError(
            "declares no benchmark",
            file=path,
            line=1,
            mend="bind a Benchmark(...) to the name BENCHMARK, or begin the file's name with _",
        )
    return replace(declared, file=path)


class _CtrlC(KeyboardInterrupt):
    """The user's own Ctrl-C, and not one that a file raises."""


@contextmanager
def _telling_ctrl_c() -> Iterator[None]:
    """Ctrl-C is raised as ``_CtrlC`` meanwhile, where it is raised at all."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's interface
        raise _CtrlC

    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _line_in(path: Path, error: BaseException) -> int:
    """The last line of the file itself that the error came through."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) and frame.lineno is not None
    ]
    return lines[-1] if lines else 1
