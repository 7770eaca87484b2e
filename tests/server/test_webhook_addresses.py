"""Where webhooks may not go: private addresses, when they are added and when they are sent."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from typing import Any

import httpx
import pytest

from imabo.errors import InvalidSetting
from imabo.server.webhooks import (
    addresses_of,
    check_address,
    make_webhook,
    target_of,
)
from imabo.stores import MemoryStore
from imabo.testing.stores.facts import Writer
from tests.server.calls import code_of
from tests.server.receiving import Receiver, eventually
from tests.server.webhooking import hook, sending, states

REFUSED = [
    "http://127.0.0.1/x",
    "http://127.1/x",
    "http://localhost:8766/x",
    "http://[::1]/x",
    "http://[::ffff:127.0.0.1]/x",
    "http://0.0.0.0/x",
    "http://10.1.2.3/x",
    "http://172.16.0.1/x",
    "http://192.168.1.1/x",
    "http://100.64.0.1/x",
    "http://169.254.169.254/latest/meta-data",
    "http://[fe80::1]/x",
    "http://[fd00::1]/x",
    "http://[64:ff9b::7f00:1]/x",
    "http://[2002:7f00:1::]/x",
    "http://224.0.0.1/x",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_private_address_is_refused_when_it_is_added(http: httpx.Client, url: str) -> None:
    answer = http.post("/v1/webhooks", json={"url": url})
    assert code_of(answer, 422) == "invalid_setting"
    assert "--allow-private-webhooks" in answer.json()["fix"]


@pytest.mark.parametrize(
    "url",
    ["ftp://a.example/x", "https://user:pass@a.example/", "https:///x", "https://a.example:0/",
     "https://a.example/#x", "https://a b/", "x", "https://a.example/" + "x" * 2000, "https://ä.de"],
)  # fmt: skip
def test_an_address_of_another_form_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        make_webhook(url, at=0.0)
    assert "pass@" not in str(refused.value)


def test_a_name_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="is not known"):
        asyncio.run(check_address("https://missing.invalid/x", allow_private=True))


def test_an_address_is_checked_again_whenever_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was public when it was added and is not any more: nothing is sent."""
    store = MemoryStore()
    with Receiver() as receiver:
        webhook = hook(store, f"http://rebound.example:{receiver.port}/x", kinds=["drift"])
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]
        real = asyncio.base_events.BaseEventLoop.getaddrinfo

        async def lead_home(self: Any, host: Any, *args: Any, **more: Any) -> Any:
            return found if host == "rebound.example" else await real(self, host, *args, **more)

        monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lead_home)
        Writer(store).drift(before=0.5)
        with sending(store, allow_private=False, tries=2):
            eventually(lambda: states(store, webhook) == ["given up"])
        assert receiver.got == []
        (delivery,) = store.deliveries(webhook)
        assert "leads to 127.0.0.1: it is an address of a private network" in str(delivery.problem)
        # And when it is allowed, what was looked up is what is called, by its name.
        with sending(store):
            store.test_webhook(webhook, at=2.0)
            eventually(lambda: len(receiver.got) == 1)
    assert receiver.got[0].headers["host"] == f"rebound.example:{receiver.port}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for hook.example that nobody knows, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=hook.example", "-keyout", key, "-out", cert,
            "-addext", "subjectAltName=DNS:hook.example"]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize(
    ("host", "is_believed", "expected"),
    [
        ("hook.example", True, "delivered"),
        ("hook.example", False, "given up"),
        ("other.example", True, "given up"),
    ],
)
def test_over_tls_the_name_counts_and_not_the_address(
    certificate: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    is_believed: bool,
    expected: str,
) -> None:
    """The connection goes to the address that was checked, and the certificate is the name's."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*certificate)
    store = MemoryStore()
    with Receiver(tls=serving) as receiver:

        async def lead_home(self: Any, *args: Any, **more: Any) -> Any:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

        monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lead_home)
        webhook = hook(store, f"https://{host}:{receiver.port}/x", kinds=["drift"])
        Writer(store).drift(before=0.5)
        tls = ssl.create_default_context(cafile=certificate[0]) if is_believed else None
        with sending(store, tls=tls, tries=1):
            eventually(lambda: states(store, webhook) == [expected])
    assert len(receiver.got) == (expected == "delivered")


def test_one_private_address_among_others_is_enough_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(self: Any, *args: Any, **more: Any) -> Any:
        return [(2, 1, 6, "", (ip, 443)) for ip in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", both)
    with pytest.raises(InvalidSetting, match=r"leads to 10\.0\.0\.1"):
        asyncio.run(addresses_of(target_of("https://two.example/"), allow_private=False))
