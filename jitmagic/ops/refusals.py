"""Takes a call that NumPy refuses, raises NumPy's own exception for it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from jitmagic.errors import InternalError, Unsupported
from jitmagic.ops.describe import find_arrays
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments
from jitmagic.ops.surrogates import hollow

__all__ = ["is_small", "refuse", "run_hollow", "unsupported", "worded_as_method"]

LARGEST = 1 << 16  # elements; a call that turns out to be legal must not take long


def refuse(call: Arguments) -> NoReturn:
    """Let NumPy refuse the call for arrays of the same sizes (in this trace).

    Raises what NumPy raises; InternalError if NumPy accepts the call after all.
    """
    run_hollow(call)
    raise InternalError(f"{call.op.name}: the rule refused a call that NumPy accepts: {call.args} {dict(call.kwargs)}")


def run_hollow(call: Arguments) -> Any:
    """Run the call on arrays of full shape over one element each."""
    with Quiet():
        return call.op.call(*hollow(call.args), **hollow(dict(call.kwargs)))


def worded_as_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    """``error``, raised for the function of a row, in the words of the method: ``_amax() got an unexpected ...``."""
    try:
        with Quiet():
            getattr(hollow(args[0]), name)(*hollow(args[1:]), **hollow(kwargs))
    except type(error) as found:
        return found.with_traceback(None)
    except Exception:  # for other reasons than the row's: there are no data behind the arrays
        return error
    return error


def is_small(call: Arguments) -> bool:
    """Whether running the call for real costs next to nothing."""
    metas = find_arrays((call.args, dict(call.kwargs)))
    return sum(int(np.prod(m.hint_shape)) for m in metas) <= LARGEST


def unsupported(call: Arguments, why: str) -> NoReturn:
    raise Unsupported("extern-unknown", f"{call.op.name}: {why}")
