"""The address of a server as a user gives it: scheme, host, port and path prefix."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from gamekit.errors import UsageFault


@dataclass(frozen=True)
class ServerAddress:
    """Where a server listens; ``prefix`` is "" or begins with a slash and does not end with one."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def url(self) -> str:
        """The base URL in one spelling."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        """host:port as the Host header has it; the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def path(self, route: str) -> str:
        """The path of a request for ``route`` (such as ``/v1/models``)."""
        return self.prefix + route


_PORTS = {"http": 80, "https": 443}


def parse_address(url: str) -> ServerAddress:
    """Read a base URL such as ``http://host:30000`` or ``https://host/prefix``.

    Letters beyond ASCII are escaped, as percent signs in the path and as IDNA in the host. A
    trailing ``/v1`` is dropped, since the routes below carry it themselves. Raises ``UsageFault``
    for what is not such a URL, and for one that carries a password: URLs are recorded.
    """
    mend = "write it as http://host:port or https://host:port/prefix"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageFault(f"{url!r} is not a URL: {error}", mend=mend) from None
    if parts.username is not None or parts.password is not None:
        raise UsageFault(
            "a URL with a user or password in it would be recorded",
            mend="put the key into the environment variable GAMEKIT_API_KEY",
        )
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageFault(f"{url!r} is not the URL of a server", mend=mend)
    if parts.query or parts.fragment or not url.isprintable() or " " in url:
        raise UsageFault(f"{url!r} is not the base URL of a server", mend=mend)
    try:
        host = parts.hostname.encode("ascii" if parts.hostname.isascii() else "idna").decode()
    except UnicodeError as error:
        raise UsageFault(f"{url!r:.300} names no host: {error}", mend=mend) from None
    # As browsers do; what is escaped already has a % and stays.
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~[]")
    prefix = path.rstrip("/").removesuffix("/v1").rstrip("/")
    return ServerAddress(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, prefix)
