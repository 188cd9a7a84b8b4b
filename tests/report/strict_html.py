"""Takes HTML of a report, fails unless it is well-formed and survives untrusted viewers."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from xml.etree import ElementTree

TAGS = frozenset({"div", "p", "b", "u", "small", "span", "code", "pre", "details", "summary", "img", "hr", "abbr"})
TABLE_TAGS = frozenset({"table", "tr", "th", "td"})
ATTRIBUTES = frozenset({"style", "class", "open", "alt", "src", "title"})
VOID = frozenset({"img", "hr"})
PICTURE = "data:image/svg+xml;base64,"


class StrictParser(HTMLParser):
    """Checks nesting, tags, attributes and style; collects the text, and the pictures."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.pictures: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS | TABLE_TAGS, f"<{tag}> would be dropped by an untrusted viewer"
        given = dict(attrs)
        assert set(given) <= ATTRIBUTES, f"<{tag}> has {sorted(given)}"
        assert "url(" not in (given.get("style") or "")
        if "src" in given:
            self._picture(given["src"] or "", given.get("alt") or "")
        if tag not in VOID:
            self.open.append(tag)

    def _picture(self, source: str, alt: str) -> None:
        assert source.startswith(PICTURE)
        assert alt, "a picture needs words for those who do not see it"
        svg = base64.b64decode(source.removeprefix(PICTURE)).decode()
        assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
        self.pictures.append(svg)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")


def read_html(html: str) -> StrictParser:
    """The parsed report, checked."""
    parser = StrictParser()
    parser.feed(html)
    parser.close()
    assert not parser.open, f"never closed: {parser.open}"
    return parser


def html_text(html: str) -> str:
    """What a reader sees, with single spaces."""
    return " ".join("".join(read_html(html).text).split())
