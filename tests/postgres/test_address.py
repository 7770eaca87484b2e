"""URLs, and what is said about a server that cannot be used: never the password."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest
from sqlalchemy.engine import make_url

from imabo.errors import InvalidSetting, StoreError
from imabo.stores import open_store

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
    url = make_url(postgres_url).set(database="nowhere").render_as_string(hide_password=False)
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


@pytest.mark.parametrize("missing", ["sqlalchemy", "psycopg"])
def test_a_missing_driver_names_the_extra(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from imabo.errors import MissingExtra\nfrom imabo.stores import open_store\n"
        "try:\n    open_store('postgresql://host/tuning')\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert missing in ran.stdout
    assert 'pip install "imabo[postgres]"' in ran.stdout
