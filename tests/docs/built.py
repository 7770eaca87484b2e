"""The built site, read back from its HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.page.anchors |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.page.links.append(str(given["href"]))
        if given.get(_LOADED.get(tag, "")):
            self.page.loaded.append(str(given[_LOADED[tag]]))
        self.page.classes |= set((given.get("class") or "").split())

    def handle_data(self, data: str) -> None:
        self.page.texts.append(data)


@dataclass
class Page:
    """What a page has: anchors, links, what it loads, its classes and its text."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        """Its text, with single spaces."""
        return " ".join("".join(self.texts).split())


@dataclass(frozen=True)
class Site:
    """A folder with a built site."""

    folder: Path
    _pages: dict[str, Page] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Its pages, such as ``reference/errors.html``."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.html"))

    def page(self, name: str) -> Page:
        """One page."""
        if name not in self._pages:
            reader = _Reader()
            reader.feed((self.folder / name).read_text(encoding="utf-8"))
            self._pages[name] = reader.page
        return self._pages[name]

    def is_there(self, page: str, link: str) -> bool:
        """Whether a link of a page leads to a file of the site, and to an anchor in it."""
        address = urlsplit(link)
        path = unquote(address.path)
        target = (self.folder / page).parent / path if path else self.folder / page
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            return False
        if not address.fragment or target.suffix != ".html":
            return True
        anchors = self.page(str(target.resolve().relative_to(self.folder.resolve()))).anchors
        return unquote(address.fragment) in anchors


def is_elsewhere(link: str) -> bool:
    """Whether a link leads to another host, or is no file at all (``mailto:``, ``data:``)."""
    address = urlsplit(link)
    return bool(address.scheme or address.netloc)
