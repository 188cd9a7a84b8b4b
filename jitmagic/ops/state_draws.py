"""Takes the row of a random draw, gives it as a function of values: the generator's state goes in, the next comes out.

    %normal = random_normal(%rng, 0.0, 1.0, 4)    =>    %drawn = state_normal(%state, 0.0, 1.0, 4)
                                                        %normal = %drawn[0];  %state_1 = %drawn[1]

Such a node may be dropped, moved and computed twice: it draws the same numbers each time, and from no stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import PyMeta
from jitmagic.ops.draws import put_back, states_of
from jitmagic.ops.record import Arguments, Inferred, Op

__all__ = ["GENERATOR_OF", "STATE_OF_SEED", "GeneratorState", "draw_from_state", "restore", "state_of"]


@dataclass(frozen=True, slots=True)
class GeneratorState:
    """What a ``kind`` (``Generator`` or ``RandomState``) over NumPy's bit generator ``bits`` draws from next."""

    kind: type
    bits: str
    state: Mapping[str, Any]

    def generator(self) -> Any:
        """A new generator in this state."""
        made = self.kind(getattr(np.random, self.bits)(0))
        put_back([made], [self.state])
        return made


STATE = PyMeta(GeneratorState)


def state_of(generator: Any) -> GeneratorState:
    """Raises Unsupported for a bit generator that is not one of NumPy's."""
    kind = type(generator)
    bits = type(generator.bit_generator if kind is np.random.Generator else generator._bit_generator)
    if getattr(np.random, bits.__name__, None) is not bits:
        raise Unsupported("random", f"the bit generator {bits.__name__}, whose state has no form here")
    return GeneratorState(kind, bits.__name__, states_of([generator])[0])


def restore(generator: Any, state: GeneratorState) -> None:
    """Let ``generator`` go on from ``state``."""
    put_back([generator], [state.state])


@cache
def draw_from_state(row: Op, kind: type) -> Op:
    """``row`` from a state. Raises Unsupported for draws that write into an operand."""
    if row.writes:
        raise Unsupported("random", f"{row.name}, which writes into its operand, as a function of the state")

    def call(state: GeneratorState, *args: Any, **kwargs: Any) -> tuple[Any, GeneratorState]:
        generator = state.generator()
        return row.call(generator, *args, **kwargs), state_of(generator)

    def infer(call: Arguments) -> Inferred:
        found = row.meta(Arguments(row, (PyMeta(kind), *call.args[1:]), call.kwargs, call.env))
        if found.run_time_sizes or isinstance(found.meta, tuple) or found.same_as is not None:
            raise Unsupported("random", f"this form of {row.name} as a function of the state")
        return Inferred((found.meta or PyMeta(type(None)), STATE))

    name = row.name.replace("random_", "state_", 1)
    return replace(row, name=name, call=call, meta=infer, effects=False, forms=())


def _state_of_seed(seed: Any) -> GeneratorState:
    return state_of(np.random.default_rng(seed))


STATE_OF_SEED = Op("state_of_seed", _state_of_seed, lambda call: Inferred(STATE))
GENERATOR_OF = Op(
    "generator_of", GeneratorState.generator, lambda call: Inferred(PyMeta(call.args[0].kind)), effects=True
)
