"""The site builds, holds together, and asks nobody else for anything."""

from __future__ import annotations

import re

import pytest

from tests.docs.built import Site, is_elsewhere

_IN_STYLES = re.compile(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)")


def test_every_link_of_the_site_leads_to_a_page_and_an_anchor(site: Site) -> None:
    dead = [
        (name, link)
        for name in site.names
        if name != "404.html"  # its links start at the root of wherever the site is put
        for link in site.page(name).links
        if not is_elsewhere(link) and not site.is_there(name, link)
    ]
    assert dead == []


def test_everything_that_a_page_loads_is_a_file_of_the_site(site: Site) -> None:
    missing = [
        (name, link)
        for name in site.names
        if name != "404.html"
        for link in site.page(name).loaded
        if not link.startswith("data:")
        and not (not is_elsewhere(link) and site.is_there(name, link))
    ]
    assert missing == []


def test_no_style_loads_anything_from_another_host(site: Site) -> None:
    sheets = [*site.folder.rglob("*.css"), *site.folder.rglob("*.html")]
    found = {
        url
        for sheet in sheets
        for urls in _IN_STYLES.findall(sheet.read_text(encoding="utf-8"))
        for url in urls
        if re.match(r"(https?:)?//", url)
    }
    assert found == set()


def test_no_page_needs_a_script_that_the_theme_would_fetch(site: Site) -> None:
    # Material fetches Mermaid from elsewhere where a page has a diagram in it.
    assert [name for name in site.names if "mermaid" in site.page(name).classes] == []


def test_the_search_finds_its_index_in_the_site(site: Site) -> None:
    index = (site.folder / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "reference/errors.html#classes" in index
    assert "imabo.Study.update_space" in index


@pytest.mark.parametrize(
    "section",
    ["Home", "Tutorial", "Guides", "Reference", "Explanation", "Research", "Decisions"],
)  # fmt: skip
def test_the_navigation_has_the_section(section: str, site: Site) -> None:
    assert section in site.page("index.html").text
