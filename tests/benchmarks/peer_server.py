"""Takes requests of one peer, a line of JSON each, gives a line of JSON for each. Runs in the peers' environment.

    python -m tests.benchmarks.peer_server jax

``{"program": ..., "size": ...}`` prepares a program and answers whether its bits are NumPy's; ``{"calls": n}`` runs
the prepared one once more than that and answers the seconds of one call, the first excepted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.peer_forms import FORMS
from tests.benchmarks.programs import arguments_of, function_of

WARM_UP = 3


def native(peer: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as the peer likes them best."""
    if peer == "jax":
        import jax

        return tuple(jax.device_put(a) for a in arrays)
    if peer == "torch":
        import torch

        return tuple(map(torch.from_numpy, arrays))
    return arrays


class Server:
    """One peer, and the program that it has prepared."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.form = FORMS[peer]()
        self.functions: dict[str, Callable[..., Any]] = {}
        self.function: Callable[..., Any] = lambda *arguments: None
        self.arguments: tuple[Any, ...] = ()

    def prepare(self, name: str, size: int) -> dict[str, Any]:
        arrays = arguments_of(name, size)
        expected = function_of(name)(*arrays)
        if name not in self.functions:
            self.functions[name] = self.form(name)
        self.function, self.arguments = self.functions[name], native(self.peer, arrays)
        for _ in range(WARM_UP):
            given = np.asarray(self.function(*self.arguments))
        np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-12)
        return {"exact": given.tobytes() == np.asarray(expected).tobytes()}

    def run(self, calls: int) -> dict[str, Any]:
        function, arguments = self.function, self.arguments
        function(*arguments)  # as the other contenders do
        begin = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        return {"seconds": (time.perf_counter() - begin) / calls}


def main(peer: str) -> int:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peers print is no answer
    server = Server(peer)
    for line in sys.stdin:
        request = json.loads(line)
        answer = server.run(**request) if "calls" in request else server.prepare(request["program"], request["size"])
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
