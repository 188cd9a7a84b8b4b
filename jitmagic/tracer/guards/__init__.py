"""Takes what a trace read, gives guards: tests that must hold for a cache entry to be used again."""

from jitmagic.tracer.guards.guard import Guard, GuardSet
from jitmagic.tracer.guards.orders import key_order_guard, member_order_guard
from jitmagic.tracer.guards.source import (
    AttributeSource,
    CellSource,
    ClosureSource,
    ConstantSource,
    DictSource,
    EntrySource,
    GlobalSource,
    InsideSource,
    ItemSource,
    LengthSource,
    LocalSource,
    MemberSource,
    Source,
    TypeSource,
    inside,
)

__all__ = [
    "AttributeSource",
    "CellSource",
    "ClosureSource",
    "ConstantSource",
    "DictSource",
    "EntrySource",
    "GlobalSource",
    "Guard",
    "GuardSet",
    "InsideSource",
    "ItemSource",
    "LengthSource",
    "LocalSource",
    "MemberSource",
    "Source",
    "TypeSource",
    "inside",
    "key_order_guard",
    "member_order_guard",
]
