"""What happens between training steps: hooks, replaced parameters, loaded states, batches of other sizes."""

from __future__ import annotations

from typing import Any

from tests.training.worlds import FIVE, PRELUDE, STEP, same_steps


def test_hooks_on_leaves_run() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
seen = []
"""
        + STEP
    )
    hook = "!handle = model.first.weight.register_hook(lambda g: (seen.append(float(g.numpy().sum())), g * 2)[1])"
    calls = [FIVE[0], hook, FIVE[1], FIVE[2], "!handle.remove()", FIVE[3]]
    same_steps(text, calls, breaks=None)


def test_parameters_that_are_replaced() -> None:
    text = PRELUDE + "opt = jm.optim.Adam(model.parameters(), lr=0.1)\n" + STEP
    replace = "!model.second.weight = nn.Parameter(np.ones((3, 7), DTYPE), requires_grad=True)"
    again = "!opt = jm.optim.Adam(model.parameters(), lr=0.1)"
    calls = [FIVE[0], FIVE[1], replace, FIVE[2], again, FIVE[3], FIVE[4], FIVE[0]]
    same_steps(text, calls)


def test_a_state_that_is_loaded() -> None:
    text = PRELUDE + "from copy import deepcopy\nopt = jm.optim.Adam(model.parameters(), lr=0.1)\n" + STEP
    calls = [FIVE[0], FIVE[1], "!known = deepcopy(opt.state_dict())", FIVE[2], "!opt.load_state_dict(known)", *FIVE]
    same_steps(text, calls, entries=2)


def test_a_batch_of_another_size() -> None:
    text = PRELUDE + "opt = jm.optim.SGD(model.parameters(), lr=0.1)\n" + STEP
    sizes = [6, 4, 5, 3, 6, 2]
    calls = [f"step(model, opt, X[{i}][:{n}], Y[{i}][:{n}])" for i, n in enumerate(sizes)]
    same_steps(text, calls, breaks=None)


def test_under_no_grad_there_is_nothing_to_differentiate() -> None:
    text: Any = PRELUDE + "opt = jm.optim.SGD(model.parameters(), lr=0.1)\n" + STEP
    text += "def quiet(*args):\n    with jm.no_grad():\n        return step(*args)\n"
    calls = [FIVE[0], "quiet(model, opt, X[1], Y[1])", FIVE[2]]
    same_steps(text, calls, breaks=None)
