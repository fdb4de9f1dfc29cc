"""Environments of the tools that are compared: each from the package index, apart from all else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gamekit.stand_in.config import MODEL_NAME

PLACE = Path(__file__).resolve().parents[2] / ".venv" / "peers"
# The cache of the tools' hub client, and the tokenizer's name in it.
HUB = PLACE / "hub"
HUB_NAME = "gamekit/tokenizer"
# Words of the stand-in's answers, and some more for prompts: a word is a token.
_WORDS = ("these", "words", "stand", "where", "model", "would", "speak")
_MORE_WORDS = 1000


def install(
    name: str, steps: Sequence[Sequence[str]], progress: Callable[[str], None]
) -> str | None:
    """Make the environment ``name`` by these ``pip install`` arguments, where it is not there yet.

    Returns why it could not be made, or None.
    """
    place = PLACE / name
    done = place / ".installed"
    wanted = json.dumps([list(step) for step in steps])
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return None
    progress(f"installing {name}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)  # noqa: S603
    for step in steps:
        ended = subprocess.run(  # noqa: S603 - the lists of tools.py
            [str(place / "bin" / "python"), "-m", "pip", "install", "--no-cache-dir", "-q", *step],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            lines = ended.stderr.strip().splitlines()
            return f"pip install {' '.join(step)}: {lines[-1] if lines else 'failed'}"
    done.write_text(wanted, encoding="utf-8")
    return None


def tokenizer() -> Path:
    """A folder with a tokenizer for which each word of the stand-in's answers is one token."""
    place = PLACE / "tokenizer"
    place.mkdir(parents=True, exist_ok=True)
    words = ["[UNK]", "[EOS]", *_WORDS, *(f"w{number:04}" for number in range(_MORE_WORDS))]
    model = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": "[UNK]",
        },
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "[UNK]",
        "eos_token": "[EOS]",
        "model_max_length": 1_000_000,
        "chat_template": "{% for m in messages %}{{ m['content'] }} {% endfor %}",
    }
    for name, content in (
        ("tokenizer.json", model),
        ("tokenizer_config.json", settings),
        ("config.json", {"model_type": "llama", "_name_or_path": MODEL_NAME}),
    ):
        (place / name).write_text(json.dumps(content), encoding="utf-8")
    _put_into_hub_cache(place)
    return place


def _put_into_hub_cache(tokenizer: Path) -> None:
    """The tokenizer as if it had been fetched: for a tool that knows only names on the hub."""
    cached = HUB / "hub" / f"models--{HUB_NAME.replace('/', '--')}"
    snapshot = cached / "snapshots" / ("0" * 40)
    shutil.copytree(tokenizer, snapshot, dirs_exist_ok=True)
    (cached / "refs").mkdir(exist_ok=True)
    (cached / "refs" / "main").write_text("0" * 40, encoding="utf-8")
