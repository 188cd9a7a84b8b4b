"""Takes a function, gives it through ``jm.aot.aot_function`` with compilers that remember what they were asked for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.autograd.trees import leaves_of
from jitmagic.graph import Graph, print_graph

__all__ = ["Recorded", "same_as_plain", "tensor"]


class Recorded:
    """``self(*args)`` calls the compiled function; ``kinds`` and ``graphs`` say which compilers got what so far."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.kinds: list[str] = []
        self.graphs: list[Graph] = []
        compilers = {
            "bw_compiler": self.compiler("backward"),
            "inference_compiler": self.compiler("inference"),
        }
        self.run = jm.aot.aot_function(function, self.compiler("forward"), **{**compilers, **options})

    def compiler(self, kind: str) -> Callable[..., Any]:
        def compile(graph: Graph, examples: Any) -> Any:
            self.kinds.append(kind)
            self.graphs.append(graph)
            return jm.aot.aot_eager(graph, examples)

        return compile

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)

    @property
    def entry(self) -> Any:
        return list(self.run.entries.values())[-1]

    def graph(self, kind: str) -> Graph:
        """The last graph of that kind."""
        return self.graphs[len(self.kinds) - 1 - self.kinds[::-1].index(kind)]

    def text(self, kind: str) -> str:
        return print_graph(self.graph(kind))


def tensor(values: Any) -> Any:
    return jm.Tensor(np.array(values, float), requires_grad=True)


def same_as_plain(function: Callable[..., Any], *args: Any, **options: Any) -> Recorded:
    """Results, arguments afterwards and exceptions are those of the plain function, twice."""
    recorded = Recorded(function, **options)
    for _ in range(2):
        plain_args, args_too = copy.deepcopy(args), copy.deepcopy(args)
        wanted, found = _outcome(function, plain_args), _outcome(recorded, args_too)
        assert type(wanted) is type(found)
        for a, b in zip(leaves_of((wanted, plain_args)), leaves_of((found, args_too)), strict=True):
            np.testing.assert_array_equal(a, b)
            if isinstance(a, np.ndarray):
                assert (a.dtype, a.strides, a.flags.writeable) == (b.dtype, b.strides, b.flags.writeable)
    return recorded


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
