"""What an engine says of itself, as the record of a run and as the subject it fixes."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gamekit import event_loop
from gamekit.bench.subject import Field, Told, is_local_path, model_name
from gamekit.errors import BenchmarkFailed
from gamekit.findings import Engine
from gamekit.findings.subject import Setting
from gamekit.host.redact import Redactor
from gamekit.launch.log import EngineLog
from gamekit.streaming.address import parse_address
from gamekit.streaming.client import StreamClient
from gamekit.streaming.server_identity import Api, ServerIdentity, identify
from gamekit.strict_yaml.limits import MAX_INTEGER, MIN_INTEGER

STAND_IN_NAME = "gamekit simulate"
# What an engine answers as owner of its models, where that is the engine's own name.
_OWNERS = ("sglang", "vllm", "llamacpp")
# Formats that hold weights of any precision: their name does not tell the quantization.
_FORMATS_OF_ANY_PRECISION = ("auto", "compressed-tensors", "modelopt", "quark")
# Of what an engine says of itself: the levels and the size (as text) that are recorded.
_DEEPEST, _LONGEST, _LARGEST = 10, 2000, 200_000
# As long as a line of a run file may be.
_LONGEST_ADDRESS = 300
# Differs in every start without meaning anything.
_LEFT_OUT = ("random_seed", "port", "nccl_port", "host", "internal_states")


@dataclass(frozen=True)
class EngineFacts:
    """One engine: where it is, what it is, and what it says of the subject.

    ``log`` and ``parameters`` are those of an engine that this process started: its log, and what
    of its launch belongs to the subject and is told by none of the subject's fields.
    ``memory_gib`` is what the engine says that its parts take, in GiB.
    """

    url: str
    api: Api
    models: tuple[str, ...]
    engine: Engine
    told: Told
    is_local: bool
    memory_gib: Mapping[str, float] = field(default_factory=dict)
    log: EngineLog | None = None
    parameters: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def version(self) -> str | None:
        """The engine's version, if it told one."""
        return self.engine.version


def ask_engine(url: str, api: Api | None, redactor: Redactor) -> EngineFacts:
    """Ask the engine at ``url`` what it is. Raises ``BenchmarkFailed`` where it does not answer."""

    async def ask(_: object) -> tuple[ServerIdentity, tuple[str | None, str | None]]:
        async with StreamClient(url) as client:
            identity = await identify(client, api)
            if identity.server_info is not None or identity.model_info is not None:
                return identity, (None, None)
            return identity, await _openai_engine(client)

    identity, openai = event_loop.run(ask)
    return facts_of(url, identity, redactor, openai)


def facts_of(
    url: str,
    identity: ServerIdentity,
    redactor: Redactor,
    openai: tuple[str | None, str | None] = (None, None),
) -> EngineFacts:
    """The facts that an identity holds; ``openai`` is name and version where only ``/v1`` tells."""
    info = identity.server_info or {}
    name, version = openai
    if identity.is_stand_in:
        name, version = STAND_IN_NAME, _text(info.get("version"))
    elif identity.server_info is not None or identity.model_info is not None:
        name, version = "sglang", _text(info.get("version"))
    description = _description({**(identity.model_info or {}), **info}, redactor)
    if identity.models:
        description["models"] = [redactor.text(model[:200]) for model in identity.models[:100]]
    address = parse_address(url)
    return EngineFacts(
        url=url,
        api=identity.api,
        models=identity.models,
        engine=Engine(
            name=name,
            version=version,
            stand_in=identity.is_stand_in,
            address=redactor.text(address.authority + address.prefix)[:_LONGEST_ADDRESS],
            description=description,
        ),
        told=_told(identity, redactor),
        is_local=_is_loopback(url),
        memory_gib=_memory_gib(info),
    )


async def _openai_engine(client: StreamClient) -> tuple[str | None, str | None]:
    models = await client.request_json("GET", "/v1/models")
    data = models.body.get("data") if isinstance(models.body, dict) else None
    owners = [one.get("owned_by") for one in data or () if isinstance(one, dict)]
    name = next((owner for owner in owners if owner in _OWNERS), None)
    answer = await client.request_json("GET", "/version")
    told = answer.status == 200 and isinstance(answer.body, dict)
    return name, _text(answer.body.get("version")) if told else None


def _told(identity: ServerIdentity, redactor: Redactor) -> Told:
    info = identity.server_info
    firm: dict[str, Field] = {}
    also: dict[str, tuple[str, ...]] = {}
    hints: dict[str, Field] = {}
    paths = [info.get("model_path")] if info else []
    if identity.model_info:
        paths.append(identity.model_info.get("model_path"))
    served = [info.get("served_model_name")] if info else []
    _tell_model("target", [*served, *identity.models, *paths], firm, also, hints)
    if info is not None:
        _tell_arguments(info, firm)
        if "speculative_algorithm" in info:
            _tell_speculation(info, firm, also, hints)
    # What cannot be is told to the user as it is: a name may hold the key that it was asked with.
    for fields in (firm, hints):
        fields.update(
            {name: redactor.text(one) for name, one in fields.items() if isinstance(one, str)}
        )
    return Told("the engine", firm, also, hints, BenchmarkFailed)


def _tell_model(
    name: str,
    known_as: list[Any],
    firm: dict[str, Field],
    also: dict[str, tuple[str, ...]],
    hints: dict[str, Field],
) -> None:
    """Names in the order of preference; one that only a local folder gives is a mere hint."""
    names = [one for one in known_as if isinstance(one, str) and one.strip()]
    chosen = [one for one in names if not is_local_path(one)]
    if chosen:
        firm[name] = model_name(chosen[0])
        also[name] = tuple(dict.fromkeys(model_name(one) for one in names))
    elif names:
        hints[name] = model_name(names[0])


def _tell_arguments(info: Mapping[str, Any], firm: dict[str, Field]) -> None:
    quantization = _text(info.get("quantization"))
    # Null says nothing: a checkpoint's own configuration may still be quantized.
    if quantization is not None and quantization not in _FORMATS_OF_ANY_PRECISION:
        firm["quantization"] = quantization
    loader = _text(info.get("load_format"))
    if loader is not None:
        firm["weights"] = "dummy" if loader == "dummy" else "real"
    if info.get("disable_cuda_graph") is True or info.get("disable_decode_cuda_graph") is True:
        # The other way round it does not follow: graphs may be enabled and not used.
        firm["cuda_graphs"] = "eager"


def _tell_speculation(
    info: Mapping[str, Any],
    firm: dict[str, Field],
    also: dict[str, tuple[str, ...]],
    hints: dict[str, Field],
) -> None:
    algorithm = _text(info.get("speculative_algorithm"))
    if algorithm is None or algorithm.lower() == "none":
        firm["speculation"] = firm["drafter"] = "none"
        return
    firm["speculation"] = algorithm
    _tell_model("drafter", [info.get("speculative_draft_model_path")], firm, also, hints)
    for name, argument in (
        ("steps", "speculative_num_steps"),
        ("topk", "speculative_eagle_topk"),
        ("draft_tokens", "speculative_num_draft_tokens"),
    ):
        value = info.get(argument)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER:
            firm[name] = value
    mode = _text(info.get("speculative_attention_mode"))
    if mode is not None:
        firm["attention_mode"] = mode


def _description(info: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Arguments and facts without what is empty: hundreds of arguments are null in every engine.

    What is too large is left out, and the description says how much that is.
    """
    kept: dict[str, Any] = {}
    size = left_out = 0
    for name, value in info.items():
        if name in _LEFT_OUT or value in (None, "", [], {}):
            continue
        writable = _writable(value)
        length = len(str(writable))
        if length > _LONGEST or size + length + len(name) > _LARGEST:
            left_out += 1
            continue
        size += length + len(name)
        kept[_writable_text(name)] = writable
    if left_out:
        kept["left_out"] = f"{left_out} arguments, as too large to be recorded"
    states = info.get("internal_states")
    if isinstance(states, list) and states and isinstance(states[0], dict):
        memory = states[0].get("memory_usage")
        if isinstance(memory, dict) and len(str(_writable(memory))) <= _LONGEST:
            kept["memory_usage_gib"] = _writable(memory)
    redacted: dict[str, Any] = redactor.data(kept)
    return redacted


def _memory_gib(info: Mapping[str, Any]) -> dict[str, float]:
    """What sglang's ``internal_states[0].memory_usage`` tells, which it calls GB and are GiB."""
    states = info.get("internal_states")
    state = states[0] if isinstance(states, list) and states else None
    usage = state.get("memory_usage") if isinstance(state, dict) else None
    found: dict[str, float] = {}
    for name, told in (("weights", "weight"), ("kv_cache", "kvcache"), ("graphs", "graph")):
        value = usage.get(told) if isinstance(usage, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6:
            found[name] = float(value)
    return found


def _writable(value: Any, levels: int = _DEEPEST) -> Any:
    """JSON as a run file can hold it: NaN, infinity and giant integers as their text.

    What is nested deeper than ``levels`` is cut, with a note in its place.
    """
    if isinstance(value, dict | list) and levels == 0:
        return f"left out: nested more than {_DEEPEST} levels deep"
    if isinstance(value, dict):
        return {_writable_text(str(key)): _writable(one, levels - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_writable(item, levels - 1) for item in value]
    if isinstance(value, str):
        return _unicode(value)
    infinite = isinstance(value, float) and not math.isfinite(value)
    giant = isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER
    return str(value) if infinite or giant else value


def _writable_text(key: str) -> str:
    return _unicode(key)[:200]


def _unicode(text: str) -> str:
    """``text`` as UTF-8 can hold it: JSON may hold half a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _text(value: Any) -> str | None:
    line = " ".join(_unicode(value).split())[:200] if isinstance(value, str) else ""
    return line or None


def _is_loopback(url: str) -> bool:
    host = parse_address(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
