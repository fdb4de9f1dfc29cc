"""Addresses of servers as users write them."""

from __future__ import annotations

import pytest

from gamekit.errors import UsageFault
from gamekit.streaming.address import parse_address


@pytest.mark.parametrize(
    ("url", "base", "port"),
    [
        ("http://localhost:30000", "http://localhost:30000", 30000),
        ("http://localhost:30000/", "http://localhost:30000", 30000),
        ("https://host/a/b/", "https://host/a/b", 443),
        ("http://[::1]:8000/v1", "http://[::1]:8000", 8000),
        ("http://host:80", "http://host", 80),
        ("http://host/modèle/ü%20x", "http://host/mod%C3%A8le/%C3%BC%20x", 80),
        ("http://höhe.example", "http://xn--hhe-sna.example", 80),
    ],
)
def test_a_base_url_is_read(url: str, base: str, port: int) -> None:
    """Host, port and prefix are found, and spelt in one way."""
    address = parse_address(url)
    assert (address.url, address.port) == (base, port)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:30000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host/?a=b",
        "",
        "http://a b",
        "http://" + "ü" * 70,
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    """One line that says how to write it."""
    with pytest.raises(UsageFault, match="write it as http://host:port"):
        parse_address(url)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    """URLs are recorded, so keys do not belong there."""
    with pytest.raises(UsageFault) as caught:
        parse_address("http://me:hunter2@host:30000")
    assert "hunter2" not in str(caught.value)
    assert "GAMEKIT_API_KEY" in str(caught.value)
