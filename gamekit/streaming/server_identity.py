"""What a server says of itself: which API it speaks, which engine and models it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gamekit.errors import BenchmarkFailed
from gamekit.stand_in.config import ENGINE_NAME
from gamekit.streaming.client import StreamClient

Api = Literal["sglang", "openai"]


@dataclass(frozen=True)
class ServerIdentity:
    """``server_info`` and ``model_info`` as sglang answers them, None where there is no route."""

    api: Api
    server_info: dict[str, Any] | None
    model_info: dict[str, Any] | None
    models: tuple[str, ...]

    @property
    def is_stand_in(self) -> bool:
        """Whether this is gamekit's own stand-in engine: what it measures is simulated."""
        return self.server_info is not None and self.server_info.get("engine") == ENGINE_NAME


async def identify(client: StreamClient, api: Api | None = None) -> ServerIdentity:
    """Ask a server what it is; ``api`` is what the user says it speaks, None to find out.

    sglang is known by a ``/server_info`` or ``/model_info`` (or their old names ``/get_*``) that
    tells a model path; anything else with ``/v1/models`` speaks OpenAI's API. Raises
    ``BenchmarkFailed`` for a server that answers neither, that does not let us in, or that cannot
    be reached.
    """
    server_info = await _sglang_object(client, "/server_info", "/get_server_info")
    model_info = await _sglang_object(client, "/model_info", "/get_model_info")
    answer = await client.request_json("GET", "/v1/models")
    models = _model_names(answer.body) if answer.status == 200 else ()
    found: Api | None = None
    if server_info is not None or model_info is not None:
        found = "sglang"
    elif models:
        found = "openai"
    if api is None and found is None:
        if answer.status in (401, 403):
            raise BenchmarkFailed(
                f"{client.address.url} refuses the request ({answer.status})",
                mend="put its key into the environment variable GAMEKIT_API_KEY",
            )
        raise BenchmarkFailed(
            f"{client.address.url} answers neither sglang's /server_info nor OpenAI's /v1/models"
            f" ({answer.status})",
            mend="check the address and its path prefix, or say --set api=sglang or api=openai",
        )
    return ServerIdentity(api or found or "openai", server_info, model_info, models)


async def _sglang_object(client: StreamClient, *routes: str) -> dict[str, Any] | None:
    for route in routes:
        answer = await client.request_json("GET", route)
        if answer.status == 200 and isinstance(answer.body, dict) and "model_path" in answer.body:
            return answer.body
    return None


def _model_names(body: Any) -> tuple[str, ...]:
    data = body.get("data") if isinstance(body, dict) else None
    entries = data if isinstance(data, list) else []
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str))
