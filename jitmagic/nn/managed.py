"""Modules whose arrays an owner exchanges between calls: a parameter server, an optimiser over one flat buffer."""

from __future__ import annotations

from typing import Any

__all__ = ["KEEPS_PARAMETERS", "MARK", "is_managed", "keeps_parameters", "manage"]

MARK = "_is_managed_module"  # both stand in the dicts of the modules, where compiled functions look for them
KEEPS_PARAMETERS = "_managed_use_orig_params"


def manage(module: Any, *, use_orig_params: bool = False) -> Any:
    """Say that an owner exchanges the arrays of ``module`` and of what is below; gives the module.

    Compiled functions read them from the module at each call: another array of the same shape and dtype costs no
    compile. ``use_orig_params`` is the owner's promise that parameters stay under their own names (not as pieces of
    one flat parameter); without it no function that uses the module is compiled.
    """
    for each in module.modules():
        object.__setattr__(each, MARK, True)
        object.__setattr__(each, KEEPS_PARAMETERS, use_orig_params)
    return module


def is_managed(module: Any) -> bool:
    return bool(module.__dict__.get(MARK))


def keeps_parameters(module: Any) -> bool:
    return bool(module.__dict__.get(KEEPS_PARAMETERS))
