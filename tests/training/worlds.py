"""Takes the text of a program with a function ``step``, runs it plainly and compiled side by side, compares everything.

Two namespaces start alike. After each call what ``step`` gave, parameters, gradients with their strides, buffers, the
state and the groups of optimisers, and the numbers of schedules must be the same, bit for bit.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import jitmagic as jm

__all__ = ["FIVE", "PRELUDE", "STEP", "World", "same_steps"]

_serial = itertools.count()

FIVE = [f"step(model, opt, X[{i}], Y[{i}])" for i in range(5)]

STEP = """
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss
"""
PRELUDE = """
rng = np.random.default_rng(0)
draws = np.random.default_rng(5)
X = [rng.normal(size=(6, 5)).astype(DTYPE) for _ in range(8)]
Y = [rng.integers(0, 3, 6) for _ in range(8)]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        start = np.random.default_rng(1)
        self.first = nn.Linear(5, 7, dtype=DTYPE, rng=start)
        self.second = nn.Linear(7, 3, dtype=DTYPE, rng=start)
    def forward(self, x):
        return self.second(np.maximum(self.first(x), 0))

def cross_entropy(logits, y):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[np.arange(len(y)), y])

model = Net().requires_grad_()
"""


class World:
    """One namespace in which the program ran."""

    def __init__(self, text: str, dtype: Any, options: dict[str, Any] | None = None) -> None:
        name = f"<training {next(_serial)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        self.names: dict[str, Any] = {"np": np, "jm": jm, "nn": jm.nn, "DTYPE": dtype, "__name__": "__main__"}
        np.random.seed(3)
        self.random = np.random.get_state()
        exec(compile(text, name, "exec"), self.names)
        if options is not None:
            self.names["step"] = jm.compile(self.names["step"], **options)

    def call(self, text: str) -> Any:
        np.random.set_state(self.random)
        try:
            return described(eval(text, self.names))
        except Exception as error:
            return (type(error).__name__, re.sub("record of .* was used", "record was used", str(error)))
        finally:
            self.random = np.random.get_state()

    def run(self, text: str) -> None:
        exec(text, self.names)

    def state(self) -> dict[str, Any]:
        names = sorted(n for n in self.names if not n.startswith("__"))
        return {name: found for name in names if (found := described(self.names[name])) is not None}

    @property
    def jit(self) -> Any:
        return self.names["step"].jit


def described(value: Any) -> Any:
    """What can be compared of a value; None for what is the same in both worlds anyhow."""
    if isinstance(value, np.ndarray | np.generic):
        flat = np.asarray(value)
        return (type(value).__name__, flat.dtype.str, flat.shape, flat.strides, np.ascontiguousarray(flat).tobytes())
    if isinstance(value, jm.Tensor):
        return ("Tensor", value.requires_grad, value.is_leaf, described(value._values), described(value.grad))
    if isinstance(value, jm.nn.Module):
        arrays = [*value.named_parameters(), *value.named_buffers()]
        return {name: described(array) for name, array in arrays}
    if isinstance(value, jm.optim.Optimizer):
        return described({name: part for name, part in value.state_dict().items()})
    if isinstance(value, jm.optim.lr_scheduler.LRScheduler):
        return described({k: v for k, v in vars(value).items() if k != "optimizer"})
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, dict):
        return {repr(k): described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    if isinstance(value, SimpleNamespace):
        return described(vars(value))
    return repr(value) if isinstance(value, int | float | str | complex | None) else None


def same_steps(
    text: str,
    calls: Sequence[str],
    *,
    entries: int | None = None,
    breaks: int | None = 0,
    dtypes: Sequence[Any] = (np.float32, np.float64),
    backends: Sequence[str] = ("eager",),
) -> World:
    """Raises AssertionError where the two differ, and for another number of entries or graph breaks."""
    found: World | None = None
    for dtype, backend in _versions(dtypes, backends):
        with jm.configure(demote=False, background=False):
            plain, found = World(text, dtype), World(text, dtype, {"backend": backend})
            for number, call in enumerate(calls):
                if call.startswith("!"):
                    plain.run(call[1:])
                    found.run(call[1:])
                    continue
                expected = plain.call(call)
                outcome = found.call(call)
                assert outcome == expected, f"call {number}: {call} ({backend})"
                mine, theirs = found.state(), plain.state()
                assert mine.keys() == theirs.keys()
                for name, value in theirs.items():
                    assert mine[name] == value, f"{name} after call {number}: {call} ({backend})"
        if breaks is not None:
            assert len(found.jit.breaks()) == breaks, found.jit.report()
        if entries is not None:
            assert found.jit.entries == entries, jm.recompiles(found.names["step"])
    assert found is not None
    return found


def _versions(dtypes: Sequence[Any], backends: Sequence[str]) -> Iterator[tuple[Any, str]]:
    """Every backend with the first dtype, every dtype with the last backend."""
    yield from ((dtypes[0], backend) for backend in backends)
    yield from ((dtype, backends[-1]) for dtype in dtypes[1:])
