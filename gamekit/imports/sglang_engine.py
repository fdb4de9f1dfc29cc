"""What sglang's server says of itself in files of its benches and in its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamekit.imports.figures import Field
from gamekit.stand_in.config import MODEL_NAME

# Fields of a subject and the arguments of sglang 0.5.15 and 0.5.23 that tell them.
_ARGUMENTS = {
    "steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "draft_tokens": "speculative_num_draft_tokens",
}


def subject_of(arguments: Mapping[str, Any]) -> tuple[dict[str, Field], dict[str, Field]]:
    """The subject that resolved arguments tell: firmly, and as names that nobody chose.

    The name of a local folder is a hint only.
    """
    firm: dict[str, Field] = {}
    hints: dict[str, Field] = {}
    _name("target", arguments.get("served_model_name") or arguments.get("model_path"), firm, hints)
    if "speculative_algorithm" in arguments:
        algorithm = arguments["speculative_algorithm"]
        firm["speculation"] = algorithm if isinstance(algorithm, str) and algorithm else "none"
    if firm.get("speculation", "none") != "none":
        for name, argument in _ARGUMENTS.items():
            value = arguments.get(argument)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10_000:
                firm[name] = value
        _name("drafter", arguments.get("speculative_draft_model_path"), firm, hints)
    if isinstance(quantization := arguments.get("quantization"), str) and quantization:
        firm["quantization"] = quantization
    if arguments.get("load_format") == "dummy":
        firm["weights"] = "dummy"
    return firm, hints


def _name(field: str, value: Any, firm: dict[str, Field], hints: dict[str, Field]) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        return
    (hints if value.startswith(("/", ".", "~")) else firm)[field] = value


def is_stand_in(name: object) -> bool:
    """Whether a model's name is that of gamekit's stand-in engine."""
    return name == MODEL_NAME
