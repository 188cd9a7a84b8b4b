"""SVG pictures are well-formed, harmless and say in words what their colours say."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from jitmagic.report.drawing import ROLES, Box, Drawing
from jitmagic.report.graphtext import read_graph
from jitmagic.report.svg import FILLS, to_svg
from tests.report.golden import assert_golden
from tests.report.scenes import GRAPH

NS = "{http://www.w3.org/2000/svg}"
ALLOWED = {NS + tag for tag in ("svg", "g", "title", "rect", "text", "path")}


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(NS + "text")]


def test_the_picture_of_a_small_graph() -> None:
    drawing = read_graph(GRAPH)
    assert drawing is not None
    assert_golden("smooth.svg", to_svg(drawing))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(), st.text(), st.sampled_from(list(ROLES)), st.text()), max_size=6))
def test_any_text_gives_well_formed_svg_without_css_script_or_ids(
    faces: list[tuple[str, str, str, str]],
) -> None:
    boxes = [Box(f"n{i}", *face) for i, face in enumerate(faces)]
    root = ElementTree.fromstring(to_svg(Drawing.of(boxes)).encode())
    assert {e.tag for e in root.iter()} <= ALLOWED
    forbidden = {"id", "style", "class", "href"}
    assert not [e for e in root.iter() if forbidden & set(e.attrib)]


def test_markup_in_a_label_stays_text() -> None:
    svg = to_svg(Drawing.of([Box("a", "<script>alert(1)</script>", '"&', tooltip="</title><script>")]))
    assert "<script" not in svg
    assert "<script>alert(1)</script>" in texts(svg)


def test_a_break_says_so_in_words() -> None:
    assert "graph break · line 6" in texts(to_svg(Drawing.of([Box("b", "print", "line 6", "break")])))


def test_every_role_has_its_own_colours() -> None:
    assert set(FILLS) == set(ROLES)
    assert len(set(FILLS.values())) == len(ROLES)


def test_a_box_without_second_line_is_lower() -> None:
    root = ElementTree.fromstring(to_svg(Drawing.of([Box("a", "x"), Box("b", "y", "f64[3]")])))
    assert [r.get("height") for r in root.iter(NS + "rect")] == ["26.0", "36.0"]


def test_long_labels_are_cut_and_kept_whole_in_the_tooltip() -> None:
    svg = to_svg(Drawing.of([Box("a", "x" * 200)]))
    assert texts(svg) == ["x" * 29 + "..."]
    assert f"<title>{'x' * 200}</title>" in svg
