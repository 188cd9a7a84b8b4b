"""``GraphModule``: takes what ``aot_export_module`` gave, gives a module that runs the graph."""

from __future__ import annotations

from typing import Any

from jitmagic.aot.modules import members_of
from jitmagic.aot.signature import GraphSignature
from jitmagic.errors import UserError
from jitmagic.graph import Graph
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.passes.rewrite import copied
from jitmagic.nn.module import Module

__all__ = ["GraphModule"]


class GraphModule(Module):
    """The exported ``graph`` of ``module`` over its arrays: ``GraphModule(graph, signature, module)(*args)``.

    Parameters and buffers are those of the module, under their names with ``_`` for ``.``; buffers that the graph gives
    new values are written in place. It keeps a copy of the graph. A compiled function takes its operations into its
    own graph. Raises UserError for a joint graph, which gives gradients as well.
    """

    def __init__(self, graph: Graph, signature: GraphSignature, module: Module) -> None:
        super().__init__()
        if signature.backward_signature is not None:
            raise UserError("a joint graph is no module: export with trace_joint=False")
        self._graph = copied(graph)
        self._spec = signature.out_spec
        members = members_of(module)
        names = {name: name.replace(".", "_") for name in members}
        for name, array in members.items():
            if name in signature.parameters:
                self.register_parameter(names[name], array)
            else:
                self.register_buffer(names[name], array)
        self._members = tuple(names.values())
        self._written = tuple(names[name] for name in signature.buffers_to_mutate.values())

    def forward(self, *args: Any) -> Any:
        outputs = interpret(self._graph, [*(getattr(self, name) for name in self._members), *args])
        for name, value in zip(self._written, outputs, strict=False):
            getattr(self, name)[...] = value
        return _arranged(self._spec, outputs[len(self._written) :])

    def extra_repr(self) -> str:
        return f"{sum(1 for _ in self._graph.calls())} operations"


def _arranged(spec: Any, outputs: list[Any]) -> Any:
    """The outputs in the structure that the module gave."""
    if hasattr(spec, "is_tree_leaf"):
        return outputs[spec.index]
    if isinstance(spec, tuple):
        return tuple([_arranged(each, outputs) for each in spec])
    if isinstance(spec, list):
        return [_arranged(each, outputs) for each in spec]
    if isinstance(spec, dict):
        return {key: _arranged(each, outputs) for key, each in spec.items()}
    return spec
