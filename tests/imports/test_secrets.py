"""Whatever text of a file holds a secret, a user or a home, none of it is told or recorded."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamekit.bench.imported import prepare
from gamekit.errors import UsageFault
from imports.reading import DATA, LAB, RECORDINGS, from_text

PLANTED = (
    "https://bob-of-lab:hunter2@host/x",
    "/home/alice-of-lab/models/sk-abcdefghijklmnop1234567890",
    "/home/alice-of-lab",
    f"{'x' * 180} https://bob-of-lab:hunter2{'2' * 40}@host/x",
)
SECRETS = ("hunter2", "-of-lab", "abcdefghijklmnop")
# Of each format one file, and of those whose subjects differ a second one.
FILES = (
    DATA / "aiperf.json", DATA / "guidellm.json", DATA / "vllm-serve.json",
    DATA / "sglang-serving.jsonl", DATA / "sglang-batch.jsonl", DATA / "nccl-tests.json",
    DATA / "specforge-best.json", DATA / "nccl-tests.txt", DATA / "specforge.log",
    LAB / "eagle3-length2-c1.jsonl", RECORDINGS / "eagle3-sim2.6" / "server.log",
)  # fmt: skip


def planted(path: Path) -> Iterator[tuple[str, str]]:
    """The file's text with each of its texts replaced, one at a time, and what was planted."""
    text = path.read_text("utf-8")
    for number, plant in enumerate(PLANTED):
        if path.suffix in (".json", ".jsonl"):
            lines = [text] if path.suffix == ".json" else text.strip().split("\n")
            first = json.loads(lines[0])
            # Units are alike, and of hundreds of a server's arguments six are tried at once.
            places = list({str(p[-1]) if p[-1] == "unit" else p: p for p in leaves(first)}.values())
            some = places if len(places) < 6 else places[number :: len(PLANTED)]
            at_once = 6 if len(places) > 60 else 1
            for start in range(0, len(some), at_once):
                whole = copy.deepcopy(first)
                for place in some[start : start + at_once]:
                    put(whole, place, plant)
                told = f"{plant} at {some[start : start + at_once]}"
                yield "\n".join([json.dumps(whole), *lines[1:]]), told
        else:
            words = list(
                re.finditer(
                    r"(?<==')[^']*|(?<=')[^'=]+(?=':)|(?<=^# )\S+|(?<=\] )\S.*$|\S+$", text, re.M
                )
            )
            unlike = {word.group(): word for word in words[:400]}
            for word in list(unlike.values())[number :: len(PLANTED)]:
                yield text[: word.start()] + plant + text[word.end() :], f"{plant} at {word}"


def leaves(data: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(data, str):
        yield place
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data[:2])
        if isinstance(data, list)
        else ()
    ):
        yield from leaves(value, (*place, key))


def put(data: Any, place: tuple[str | int, ...], text: str) -> None:
    for key in place[:-1]:
        data = data[key]
    data[place[-1]] = text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_text_of_a_file_brings_a_secret_in(path: Path, tmp_path: Path) -> None:
    """A secret or home in any text is in no figure, no failure and not in what is written."""
    tried = 0
    for text, what in planted(path):
        file = tmp_path / "given"
        file.write_text(text, "utf-8")
        try:
            prepared = prepare(None, file, (), ())
        except UsageFault as error:
            told = str(error).replace(str(file), "")
        else:
            topic, records = prepared.record.loaded()
            told = repr((topic, records, prepared.record, prepared.how))
        assert not [secret for secret in SECRETS if secret in told], (what, told[:2000])
        tried += 1
    assert tried >= 4


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("https://bob-of-lab:hunter2@host/x", "x"),
        ("/home/alice-of-lab/models/llama-8b/", "llama-8b"),
        ("/data/bob-of-lab/llama-8b", "llama-8b"),
        ("/home/alice-of-lab", "~"),
        ("meta-llama/Llama-3-8B", "Llama-3-8B"),
    ],
)
def test_a_model_is_known_by_its_last_part(tmp_path: Path, name: str, target: str) -> None:
    """Of a path, address or repository the last part names the model, as for an engine."""
    data = json.loads((DATA / "vllm-serve.json").read_text("utf-8"))
    found = from_text(tmp_path, json.dumps({**data, "model_id": name}))
    assert {figure.subject["target"] for figure in found.figures} == {target}
