"""Prompts: bundled, from a file, and unique for every request."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.bench.prompts import BUNDLED, prompt_set, random_ids
from gamekit.errors import UsageFault


def test_every_request_has_a_prefix_of_its_own() -> None:
    """No two prompts begin alike, also where the texts repeat."""
    prompts = prompt_set(None)
    sent = [prompts.unique(number) for number in range(100)]
    assert len({prompt[:20] for prompt in sent}) == 100
    assert sent[0].endswith(prompts.prompts[0])
    assert sent[len(prompts.prompts)].endswith(prompts.prompts[0])


def test_the_bundled_prompts_are_text_of_some_length() -> None:
    """The bundled set has a name, and its prompts are different texts of 40 words or more."""
    prompts = prompt_set(None)
    assert (prompts.name, prompts.is_named) == (BUNDLED, True)
    assert len(set(prompts.prompts)) == len(prompts.prompts) >= 8
    assert min(len(prompt.split()) for prompt in prompts.prompts) >= 40


def test_a_file_has_one_prompt_a_line(tmp_path: Path) -> None:
    """Text, JSON texts and JSON objects are read; empty lines and odd braces do no harm."""
    file = tmp_path / "mine.jsonl"
    file.write_text(
        'plain text\n\n"quoted"\n{"prompt": "a"}\n{"turns": ["first", "second"]}\n{ not json\n'
    )
    prompts = prompt_set(str(file))
    assert prompts.prompts == ("plain text", "quoted", "a", "first", "{ not json")


def test_only_line_ends_part_prompts(tmp_path: Path) -> None:
    """A byte order mark is no part of the first, and other separators none between two."""
    file = tmp_path / "mine.jsonl"
    lines = ('{"prompt": "a\u2028b"}', "page\fbreak", '{"prompt": ' + "[" * 100_000)
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert prompt_set(str(file)).prompts == ("a\u2028b", "page\fbreak", lines[2])


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    """Two files of one name and different content are different workloads."""
    names = set()
    for text in ("one\n", "two\n"):
        (tmp_path / "mine.txt").write_text(text)
        prompts = prompt_set(str(tmp_path / "mine.txt"))
        assert not prompts.is_named
        names.add(prompts.name)
    assert len(names) == 2
    assert all(name.startswith("mine-") for name in names)


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b'{"id": 1}\n', b'{"prompt": "\\ud800"}\n', b"\xff\xfe\n"]
)
def test_a_file_without_prompts_is_refused(tmp_path: Path, text: bytes) -> None:
    """Nothing, an object without a prompt and bytes that are no text are usage errors."""
    (tmp_path / "mine.txt").write_bytes(text)
    with pytest.raises(UsageFault, match=r"mine\.txt"):
        prompt_set(str(tmp_path / "mine.txt"))


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(UsageFault, match=r"nowhere\.txt"):
        prompt_set(str(tmp_path / "nowhere.txt"))


def test_random_ids_are_as_many_as_asked_for() -> None:
    """Token ids are plain numbers, drawn anew each time."""
    assert len(random_ids(50)) == 50
    assert random_ids(50) != random_ids(50)


def test_what_has_no_end_and_what_is_too_large_is_refused(tmp_path: Path) -> None:
    """A device or a pipe is no file of prompts, and gigabytes are not read to find that out."""
    with pytest.raises(UsageFault, match="no file that has an end"):
        prompt_set("/dev/zero")
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(UsageFault, match="more than a benchmark can send"):
        prompt_set(str(large))
