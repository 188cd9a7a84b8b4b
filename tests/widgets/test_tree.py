"""Guards as a tree."""

from __future__ import annotations

import numpy as np

from jitmagic.report.guardwords import GUARD_KINDS
from jitmagic.report.html import render_html
from jitmagic.report.text import render_text
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import constant_guard, identity_guard
from jitmagic.tracer.guards.source import AttributeSource, GlobalSource, ItemSource, LocalSource
from jitmagic_widgets.tree import Outcome, grow, matching, tree_parts

NP = GlobalSource("np")
P = LocalSource("p")
GUARDS = [
    identity_guard(NP, np),
    identity_guard(AttributeSource(NP, "sqrt"), np.sqrt),
    constant_guard(ItemSource(ItemSource(P, "grid"), 0), 5),
    identity_guard(AttributeSource(NP, "exp"), np.exp),
    constant_guard(ItemSource(ItemSource(P, "grid"), 1), 7),
    Guard("ERRSTATE", P, "True", "warn", about="np.geterr()"),
]
ASKED = [Outcome("held")] * len(GUARDS)


def test_guards_share_the_way_to_their_values() -> None:
    """Each step stands once, whatever the order of the guards."""
    np_root, p_root = grow(GUARDS, range(5))
    assert [(depth, branch.step, branch.guards) for depth, branch in np_root.walk()] == [
        (0, "np", [0]),
        (1, ".sqrt", [1]),
        (1, ".exp", [3]),
    ]
    assert [(depth, branch.step, branch.guards) for depth, branch in p_root.walk()] == [
        (0, "p", []),
        (1, "['grid']", []),
        (2, "[0]", [2]),
        (2, "[1]", [4]),
    ]


def test_every_guard_is_shown_once() -> None:
    text = render_text(tree_parts(GUARDS, [Outcome(f"outcome {i}") for i in range(len(GUARDS))]))
    assert all(text.count(f"outcome {i}") == 1 for i in range(len(GUARDS)))


def test_what_holds_for_the_session_stands_apart() -> None:
    """The guard on ``np.geterr()`` is no condition on the argument that it was noted with."""
    text = render_text(tree_parts(GUARDS, ASKED))
    assert "p (argument): 2 guards" in text
    assert "state of the session: 1 guard" in text


def test_the_filter_wants_every_word_anywhere() -> None:
    assert matching(GUARDS, "NP sqrt") == [1]
    assert matching(GUARDS, "constant grid") == [2, 4]
    assert matching(GUARDS, "nothing like it") == []
    assert matching(GUARDS, " ") == list(range(len(GUARDS)))
    assert "sqrt" not in render_text(tree_parts(GUARDS, ASKED, "exp"))


def test_each_kind_has_its_meaning_at_hand() -> None:
    """Of a value inside a line that broke, the name is readable, too."""
    guard = Guard("TYPE_MATCH", LocalSource("_jm_4_8_1"), "type({v}) is {k}", "int")
    html = render_html(tree_parts([guard], [Outcome("held")]))
    assert f'<abbr title="{GUARD_KINDS["TYPE_MATCH"]}"' in html
    assert "(a value made on line 4)" in html
    assert "_jm_" not in html
