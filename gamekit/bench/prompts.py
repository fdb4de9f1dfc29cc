"""The prompts of serving benchmarks: a bundled set of text, a file of the user's, token ids."""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gamekit.errors import UsageFault

BUNDLED = "gamekit-prompts-1"
RANDOM_IDS = "random-token-ids"
# Ids that every vocabulary has, and that are no control tokens in any known one.
_LOWEST_ID, _HIGHEST_ID = 1_000, 20_000
_LARGEST_FILE = 64 << 20
_TEXT_FIELDS = ("prompt", "text", "question", "turns")
# JSON may escape half of a surrogate pair, which no request can hold.
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class PromptSet:
    """Prompts with the name that a subject's workload gives them.

    ``is_named`` tells whether the name is that of a known set; a user's file has a name only by its
    content, and the user may give it a better one.
    """

    name: str
    prompts: tuple[str, ...]
    is_named: bool

    def unique(self, number: int) -> str:
        """Prompt ``number`` (they repeat) behind a prefix that no other request has.

        The prefix is drawn at random and stands in front, so that no prefix cache holds any of it.
        """
        return f"Request {secrets.token_hex(6)}. {self.prompts[number % len(self.prompts)]}"


def prompt_set(file: str | None) -> PromptSet:
    """The bundled prompts, or those of ``file``: one a line, as text or JSON.

    Raises ``UsageFault`` for a file that cannot be read and for one that holds no prompts.
    """
    if file is None:
        return PromptSet(BUNDLED, _PROMPTS, is_named=True)
    try:
        about = Path(file).stat()
        if stat.S_ISREG(about.st_mode) and about.st_size > _LARGEST_FILE:
            raise UsageFault(
                f"{about.st_size} bytes of prompts are more than a benchmark can send",
                file=file,
                mend=f"give at most {_LARGEST_FILE >> 20} MiB",
            )
        if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
            raise UsageFault(
                "it is no file that has an end", file=file, mend="write the prompts into a file"
            )
        data = Path(file).read_bytes()
    except OSError as error:
        raise UsageFault(
            f"the prompts cannot be read: {error.strerror or error}",
            file=file,
            mend="give a file with one prompt a line: --set prompts=FILE",
        ) from error
    try:
        # Not splitlines: JSON may hold other separators than the line's end.
        lines = [one.removesuffix("\r") for one in data.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise UsageFault(f"the prompts are no UTF-8 text: {error}", file=file) from None
    prompts = tuple(
        _prompt(line, file, number) for number, line in enumerate(lines, 1) if line.strip()
    )
    if not prompts:
        raise UsageFault("there is no prompt in it", file=file, mend="write one prompt a line")
    digest = hashlib.sha256(data).hexdigest()[:8]
    return PromptSet(f"{Path(file).stem}-{digest}", prompts, is_named=False)


def random_ids(count: int) -> list[int]:
    """``count`` token ids drawn at random, for an engine without tokenizer."""
    # Not for secrecy: any ids do.
    return random.choices(range(_LOWEST_ID, _HIGHEST_ID), k=count)  # noqa: S311


def _prompt(line: str, file: str, number: int) -> str:
    if not line.lstrip().startswith(("{", '"')):
        return line
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line  # text that begins with a brace or quote
    if isinstance(value, dict):
        value = next((value[name] for name in _TEXT_FIELDS if name in value), None)
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[0]
    if not isinstance(value, str) or not value.strip() or _HALF_A_PAIR.search(value):
        raise UsageFault(
            "a JSON line without a prompt that is text",
            file=file,
            line=number,
            mend=f"give it one of: {', '.join(_TEXT_FIELDS)}",
        )
    return value


# One prompt a paragraph.
_TEXT = """\
A village by the sea wants to replace its wooden pier, which storms have damaged three winters in
a row. Some people want concrete, because it lasts; the fishermen want wood, because it gives when
a boat hits it and because they can repair it themselves. Explain both positions fairly, say what
you would want to know before deciding, and suggest a compromise.

Explain to somebody who has never programmed what happens between typing an address into a browser
and seeing the page. Go step by step: the name lookup, the connection, the request, the answer,
and how the browser turns text into a picture. Use one everyday comparison for the whole journey
and keep to it until the end.

Write a Python function that takes a list of meetings, each with a start and an end in minutes
since midnight, and returns the smallest number of rooms that lets all of them take place.
Describe the idea first, then give the code with comments, then state its running time and show on
a small example how the result comes about.

Two trains leave stations that are four hundred and twenty kilometres apart at the same moment and
travel towards each other, one at eighty and the other at sixty kilometres per hour. After an hour
the faster one stops for thirty minutes. When and where do they meet? Work through it in complete
sentences and check the answer at the end.

My grandmother's recipe for bread says only: flour as much as the water takes, salt, a little of
yesterday's dough, and patience. Turn this into instructions for a beginner with amounts, times
and temperatures, explain what each step does to the dough, and say how to tell by look and touch
that the bread is ready for the next step.

Compare how bees, ants and people decide together where to live. For each, describe who gathers
information, how it is passed on, how a bad proposal is dropped, and what happens when the group
is divided. Finish with what a committee of people could learn from the insects and where the
comparison breaks down.

A hospital stores patient records in a system that answers slowly every Monday morning. The
administrators have added memory twice without effect. Write a plan for finding the cause: which
measurements to take first, what each possible result would mean, how to avoid disturbing the
doctors meanwhile, and when to stop looking and change the schedule instead.

Tell the story of a lighthouse keeper who discovers that the light has been turning the wrong way
round for years and that every captain has quietly got used to it. Decide whether the keeper puts
it right, and let the reader understand why, without stating a moral. Keep the tone calm and the
sentences short.
"""
_PROMPTS = tuple(" ".join(one.split()) for one in _TEXT.split("\n\n"))
