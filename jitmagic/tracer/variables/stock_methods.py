"""Takes a module and the name of a method, says whether it is what ``nn.Module`` was defined with, and guards that.

What is known of these methods (that a call without hooks is ``forward``, what a walk gives) is true of no other.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from jitmagic.nn.module import Module
from jitmagic.tracer.variables.descriptors import find_in_class

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["STOCK", "are_stock", "is_plain_module_class"]

STOCK = dict(vars(Module))  # as imported: a program may replace any of them later
_CODES = {name: entry.__code__ for name, entry in STOCK.items() if type(entry) is FunctionType}


def is_plain_module_class(cls: type) -> bool:
    """Whether instances begin as ``Module.__new__`` makes them."""
    return issubclass(cls, Module) and find_in_class(cls, "__new__") is STOCK["__new__"]


def are_stock(tx: Evaluator, module: ObjectTracker, *names: str) -> bool:
    """Whether all these methods of the module's class are; the first that is not will be noticed if it is put back."""
    return all(_is_stock(tx, module, name) for name in names)


def _is_stock(tx: Evaluator, module: ObjectTracker, name: str) -> bool:
    if module.guarded_entry(tx, name) is not STOCK[name]:
        return False
    tx.output.builder.constant_object(tx, STOCK[name])  # with guards on its code
    return STOCK[name].__code__ is _CODES[name]
