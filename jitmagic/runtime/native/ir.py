"""Takes LLVM IR of one small function, gives its address: from the kernel store, or compiled here in milliseconds."""

from __future__ import annotations

import llvmlite.binding as llvm

from jitmagic.backends.native.abi import Address
from jitmagic.backends.native.link import link
from jitmagic.backends.native.store import Stored, current_store

__all__ = ["load_ir"]


def load_ir(text: str, symbol: str) -> Address:
    """The function called ``symbol`` in ``text``; it stays loaded as long as somebody holds the address."""
    store = current_store()
    key = store.key(text, symbol, False)
    stored = store.get(key)
    if stored is None:
        stored = _generate(text, symbol)
        store.put(key, stored)
    return link(stored.object_code, stored.symbol)


def _generate(text: str, symbol: str) -> Stored:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, reloc="pic", codemodel="default")
    return Stored(symbol, machine.emit_object(module))
