"""URLs, and what is said about a server that cannot be used: never the password."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest

from imabo.errors import InvalidSetting, StoreError
from imabo.stores import open_store
from imabo.stores.postgres.address import parsed
from tests.postgres.server import of_database

SECRET = "s3cr3t-Pa55"
NOBODY = f"postgresql://anna:{SECRET}@127.0.0.1:1/tuning"  # nothing listens on port 1


def told(error: BaseException) -> str:
    """An error as a log shows it, with everything that led to it."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("url", [NOBODY, f"{NOBODY}?password={SECRET}&sslmode=disable"])
def test_an_absent_server_is_named_without_the_password(url: str) -> None:
    with pytest.raises(StoreError, match=r"anna@127\.0\.0\.1:1/tuning could not") as caught:
        open_store(url)
    assert "check that the server runs" in str(caught.value)
    assert SECRET not in told(caught.value)


def test_an_absent_database_is_an_error_of_the_store(postgres_url: str) -> None:
    url = of_database(postgres_url, "nowhere")
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        open_store(url)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET}@host:port/tuning",
        f"postgresql://anna:{SECRET}/@host:54x/tuning",
        f"postgresql+asyncpg://anna:{SECRET}@host/tuning",
        f"postgres://anna:{SECRET}@host/tuning",
        f"mysql://anna:{SECRET}@host/tuning",
    ],
)
def test_a_url_that_is_no_good_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(InvalidSetting, match="postgresql://") as caught:
        open_store(url)
    assert SECRET not in told(caught.value)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("postgresql:///tuning", {"dbname": "tuning"}),
        (
            "postgresql+psycopg://an%40na:p%2Fw@h:5433/my%20db?sslmode=require",
            {"user": "an@na", "password": "p/w", "host": "h", "port": "5433", "dbname": "my db"}
            | {"sslmode": "require"},
        ),
        ("postgresql://anna:p/:w@h/db", {"user": "anna", "password": "p/:w", "host": "h"}),
        ("postgresql://[::1]:5433/db", {"host": "::1", "port": "5433"}),
        ("postgresql://anna:@/db?host=/run/postgresql", {"host": "/run/postgresql"}),
        ("postgresql:///db?host=a:1&host=b:2", {"host": "a,b", "port": "1,2"}),
        ("postgresql:///db?host=a,b&port=1,2", {"host": "a,b", "port": "1,2"}),
        ("postgresql://h1,h2/db?connect_timeout=3", {"host": "h1,h2", "connect_timeout": "3"}),
    ],
)
def test_a_url_becomes_what_the_driver_is_told(url: str, options: dict[str, str]) -> None:
    usual = {"dbname": "db", "user": "anna"} if "anna:" in url else {"dbname": "db"}
    assert parsed(url).options == usual | options


def test_a_missing_driver_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from imabo.errors import MissingExtra\nfrom imabo.stores import open_store\n"
        "try:\n    open_store('postgresql://host/tuning')\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs psycopg" in ran.stdout
    assert 'pip install "imabo[postgres]"' in ran.stdout
