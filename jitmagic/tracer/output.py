"""What one trace has gathered so far: the graph, its inputs, the guards, the constants and the side effects."""

from __future__ import annotations

import ast
import enum
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

from jitmagic.config import current
from jitmagic.errors import Span, Unsupported, UserError
from jitmagic.graph.graph import Graph
from jitmagic.graph.meta import ArrayMeta, Meta
from jitmagic.graph.node import ModuleCall, Node
from jitmagic.graph.polynomial import Symbol
from jitmagic.graph.shapes import ShapeEnv, SymInt
from jitmagic.tracer.capture import FrameState, Options
from jitmagic.tracer.guards import ConstantSource, GlobalSource, Guard, GuardSet, Source
from jitmagic.tracer.guards.kinds import alias_guard, writeable_guard
from jitmagic.tracer.language import Language
from jitmagic.tracer.part_names import readable
from jitmagic.tracer.split import PIECE
from jitmagic.tracer.variables.either import Ties

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.effects import Effect
    from jitmagic.tracer.tensors import Tensors
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["OutputGraph", "Policy"]

MISSING: Any = object()


@dataclass(slots=True)
class Policy:
    """What earlier attempts at this trace have learnt; it only grows.

    Keys are places: (number of the code, line, column, end line, end column, kind). ``opaque`` statements run as plain
    Python, ``no_inline`` calls are not looked into (each with the break that was the cause), ``rewritten``
    statements are evaluated as the list of simpler ones that they map to; ``tails`` are such lists with a
    call whose callee may record what follows it, None where that has no form. ``types`` are the guards on classes under
    which that was learnt: calls with other classes may be captured where this one was not;
    ``made`` gives more of them. ``each_time`` are (identity of the code, text) of attributes whose reading does
    something every time.
    """

    opaque: dict[tuple[Any, ...], Unsupported] = field(default_factory=dict)
    no_inline: dict[tuple[Any, ...], Unsupported] = field(default_factory=dict)
    rewritten: dict[tuple[Any, ...], list[ast.stmt]] = field(default_factory=dict)
    types: list[Guard] = field(default_factory=list)
    made: list[Callable[[OutputGraph], Guard]] = field(default_factory=list)
    no_flow: dict[tuple[Any, ...], str] = field(default_factory=dict)
    whole: set[tuple[Any, ...]] = field(default_factory=set)
    tails: dict[tuple[Any, ...], list[ast.stmt] | None] = field(default_factory=dict)
    no_ties: set[tuple[Any, ...]] = field(default_factory=set)
    each_time: set[tuple[int, str]] = field(default_factory=set)
    _numbers: dict[CodeType, int] = field(default_factory=dict)
    _seen: dict[int, tuple[CodeType, int]] = field(default_factory=dict)

    def keep_types(self, guards: GuardSet) -> None:
        """Remember the classes that an attempt relied on before it was thrown away."""
        own = (ConstantSource, GlobalSource)  # these may name constants of that attempt
        self.types += [
            g for g in guards if g.kind == "TYPE_MATCH" and not any(isinstance(s, own) for s in g.source.path)
        ]

    def place(self, code: CodeType, node: Any) -> tuple[Any, ...]:
        """Where a node of ``code`` stands; the same in every code that is equal to it."""
        piece = getattr(node, PIECE, 0)  # a rewritten statement is another place than the one it came from
        kind = type(node).__name__
        return (self._number(code), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, kind, piece)

    def _number(self, code: CodeType) -> int:
        """One per code, found without its hash: Python reads the whole code for that, each time."""
        seen = self._seen.get(id(code))
        if seen is None:
            seen = self._seen[id(code)] = code, self._numbers.setdefault(code, len(self._numbers))
        return seen[1]


def _written(key: Any) -> str:
    """A key the way a program writes it: ``Color.RED``, ``(1, Color.RED)``."""
    if isinstance(key, enum.Enum):
        return f"{type(key).__name__}.{key._name_}"
    if type(key) is tuple:
        return f"({', '.join(map(_written, key))}{',' if len(key) == 1 else ''})"
    return repr(key)


@dataclass(frozen=True, slots=True)
class _Named:
    """A key of a dict: ``name`` in the code of a guard, ``label`` in what people read."""

    name: str
    label: str

    def __repr__(self) -> str:
        return self.name


@dataclass(slots=True)
class OutputGraph:
    """Shared by a frame and everything inlined into it."""

    options: Options
    state: FrameState
    policy: Policy
    graph: Graph = field(default_factory=Graph)
    env: ShapeEnv = field(default_factory=ShapeEnv)
    guards: GuardSet = field(default_factory=GuardSet)
    constants: list[Any] = field(default_factory=list)
    input_sources: list[Source] = field(default_factory=list)
    examples: list[Any] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    cached: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # results of caches, by what stands for them there
    frozen: dict[str, None] = field(default_factory=dict)
    hooks: list[tuple[Callable[[Any], Any], Any]] = field(default_factory=list)
    tracked: dict[int, tuple[Any, VariableTracker]] = field(default_factory=dict)
    symbol_sources: dict[str, tuple[Source, int | None]] = field(default_factory=dict)
    seen_sizes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    seen_numbers: dict[str, list[complex]] = field(default_factory=dict)
    seen_objects: dict[str, weakref.ref[Any] | None] = field(default_factory=dict)
    modules: list[ModuleCall] = field(default_factory=list)  # whose calls are being traced, outermost first
    module_calls: int = 0
    held_arrays: dict[int, tuple[Any, ConstantSource]] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)  # of constants, by identity
    strict_axes: dict[str, str] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    counted_tensors: set[Node] = field(default_factory=set)  # Tensors among the inputs, where they count as arrays
    input_nodes: dict[Node, Source] = field(default_factory=dict)
    symbol_inputs: dict[Source, SymInt] = field(default_factory=dict)
    number_inputs: dict[Source, Node] = field(default_factory=dict)
    list_inputs: dict[Source, Node] = field(default_factory=dict)
    scalar_inputs: dict[Source, VariableTracker] = field(default_factory=dict)
    selections: dict[Node, tuple[SymInt, int]] = field(default_factory=dict)
    slice_bounds: dict[tuple[Node, str], tuple[Graph, SymInt]] = field(default_factory=dict)  # by number and axis size
    generators: list[Any] = field(default_factory=list)
    ignored: frozenset[str] = frozenset()
    symbols_by_size: dict[int, SymInt] = field(default_factory=dict)
    is_finished: bool = False
    recursions: Counter[CodeType] = field(default_factory=Counter)  # calls inlined inside a call of the same function
    grad_off: int = 0  # blocks in evaluation whose results count as constants (``no_grad``)
    heard: frozenset[str] = frozenset()  # which of them the caller does not ignore
    is_strict: bool = False  # whether floating-point warnings of the caller are exceptions
    differentiating: int = 0  # calls in evaluation whose derivative is asked for
    reached_from: dict[Span, set[int]] = field(default_factory=dict)  # places in callees -> lines of the function
    evaluating: list[Any] = field(default_factory=list)  # Evaluators: the frame, and what is inlined in it
    evaluators: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)  # those and all that came before
    flow: Any = None  # the Recorder of the flow that is being traced
    root: Graph = field(init=False)  # the function's graph, also while ``graph`` is a piece of a flow
    language: Language = field(init=False)
    ties: Ties = field(init=False)
    tensors: Tensors | None = None  # set when the trace meets the first Tensor
    builder: Builder = field(init=False)  # set by whoever makes the output: it wraps values for it

    @property
    def needs_rules(self) -> bool:
        """Whether derivatives may be asked for: functions with rules of their own are not traced through then."""
        return bool(self.differentiating or self.options.tensors or self.tensors is not None)

    def __post_init__(self) -> None:
        self.env.on_specialise = self._on_specialise
        self.guards.where = self._line
        self.root = self.graph
        self.ties = Ties(self.policy.no_ties)

    def let_go(self) -> None:
        """Hold the values of the call no longer: trackers and evaluators form cycles, which live until a collection."""
        builder = self.builder
        for table in (self.tracked, self.held_arrays, builder.by_source, builder.closures, builder.stand_ins):
            table.clear()
        self.guards.where = None
        self.examples = []
        self.effects = []
        self.evaluating.clear()
        for tx in self.evaluators:
            tx.let_go()

    # -- constants
    def constant_source(self, value: Any, label: str = "") -> ConstantSource:
        """The entry's own reference to ``value``."""
        index = self._places.setdefault(id(value), len(self.constants))
        if index == len(self.constants):
            self.constants.append(value)
        return ConstantSource(index, label)

    def named_constant(self, value: Any) -> Any:
        """An object that prints as the entry's name for it, for keys whose repr is no expression."""
        return _Named(self.constant_source(value).code(""), _written(value))

    # -- objects that an entry is tied to
    def ties_to(self, value: Any, source: Source) -> bool:
        """Whether the entry may be for this very object; not if another one was at ``source`` before (row N40)."""
        before = self.state.objects.get(source.text, MISSING)
        same = before is MISSING or (before is not None and before() is value)
        self.seen_objects[source.text] = weakref.ref(value) if same else None
        return same

    def ties_array_to(self, array: Any, source: Source) -> bool:
        """The same for an array of a module. Ahead of time they are all arguments, so that they may be replaced."""
        return not self.options.tensors and self.ties_to(array, source)

    def held_array(self, array: Any, source: Source) -> ConstantSource:
        """The entry's own reference to an array of a module that it is tied to."""
        known = self.held_arrays.get(id(array))
        if known is None:
            known = self.held_arrays[id(array)] = (array, self.constant_source(array, source.text))
        return known[1]

    # -- inputs
    def known_number(self, source: Source) -> VariableTracker | None:
        return self.scalar_inputs.get(source)

    def add_input(self, source: Source, meta: Meta, example: Any) -> Node:
        node = self.root.input(readable(source.text), meta)
        self.input_sources.append(source)
        self.examples.append(example)
        self.input_nodes[node] = source
        return node

    def known(self, value: Any, source: Source) -> VariableTracker | None:
        """The tracker of an object that was met before, with a guard that it still is one object (B04)."""
        entry = self.tracked.get(id(value))
        if entry is None:
            return None
        tracker = entry[1]
        if tracker.source is not None and tracker.source != source:
            self.guards.add(alias_guard(source, tracker.source))
        return tracker

    def track(self, value: Any, tracker: VariableTracker) -> None:
        """Remember the tracker of an object that has an identity; the object is kept alive while tracing."""
        self.tracked[id(value)] = (value, tracker)

    # -- symbols
    def size_symbol(self, node: Node, source: Source, axis: int | None, hint: int) -> SymInt:
        """A new symbol bound to a size of an input array, or to an int input (axis None)."""
        minimum = 2 if axis is not None else None
        symbol = self.env.new_symbol(hint, minimum=minimum, prefix="s" if axis is not None else "n")
        self.symbol_sources[repr(symbol)] = (source, axis)
        self.root.bind(symbol, node, axis)
        return symbol

    def shared_size(self, size: SymInt) -> SymInt:
        """The symbol that stood for an equal size before, with a guard that both are equal; else ``size`` (B80)."""
        known = self.symbols_by_size.setdefault(size.hint, size)
        return known if known is size or known == size else size

    def _on_specialise(self, symbol: Symbol, value: int) -> None:
        promise = self.strict_axes.get(symbol.name)
        if promise is not None and not current().allow_ignore_mark_dynamic:
            raise UserError(
                f"{promise} was marked dynamic with jm.mark_dynamic, but {self._here()} needs it to be {value}. "
                "Remove the decision on this size, or use jm.maybe_mark_dynamic."
            )

    def _line(self) -> Span | None:
        """The line of what is being evaluated; None before the first."""
        return self.evaluating[-1].span if self.evaluating and self.evaluating[-1].node is not None else None

    def _here(self) -> str:
        """What is being evaluated, for messages."""
        return str(self.evaluating[-1].span) if self.evaluating else "the function"

    def commit(self) -> None:
        """This attempt stands: remember the sizes and numbers that it saw."""
        self.is_finished = True
        self.state.sizes.update(self.seen_sizes)
        self.state.numbers.update(self.seen_numbers)
        self.state.objects.update(self.seen_objects)
        for effect in self.effects:
            self.state.written.update(effect.places())

    def selected_by(self, mask: Node) -> SymInt | None:
        """How many elements ``mask`` selects, if it has selected before and was not written since."""
        known = self.selections.get(mask)
        if known is None or any(w.storage is mask.storage for n in self.graph.nodes[known[1] :] for w in n.written()):
            return None
        return known[0]

    def note_selected(self, mask: Node, symbol: SymInt) -> None:
        self.selections[mask] = (symbol, len(self.graph.nodes))

    def note_place(self, tx: Any, span: Span) -> None:
        """An operation of ``tx`` stands at ``span``: note from which line of the function itself it was reached."""
        outermost = self.evaluating[0] if self.evaluating else tx
        if outermost is not tx and outermost.node is not None:
            self.reached_from.setdefault(span, set()).add(outermost.span.line)

    # -- writes
    def note_write(self, node: Node, by: Node | None = None) -> None:
        """An array is written: the input that it is a view of must be writeable at the next call too."""
        if self.tensors is not None and by is not None:
            self.tensors.check_write(by, node)
        self.ties.check_write(node)
        self._guard_writeable(node, True)

    def note_raised(self, operands: Iterable[Node]) -> None:
        """An operation refuses these operands: perhaps since an input is read-only, which the next may not be."""
        for node in operands:
            if isinstance(node.meta, ArrayMeta) and not node.meta.writeable:
                self._guard_writeable(node, False)

    def _guard_writeable(self, node: Node, is_writeable: bool) -> None:
        storage = node.storage
        source, meta = self.input_nodes.get(storage), storage.meta
        if source is not None and isinstance(meta, ArrayMeta) and meta.writeable == is_writeable:
            self.guards.add(writeable_guard(source, is_writeable))

    def note_refusal(self, loop: ast.stmt | ast.expr, error: BaseException) -> None:
        """Why a loop is not kept as a loop; shown if it then becomes a break."""
        self.refusals[loop.lineno] = readable(getattr(error, "detail", "") or str(error))

    def reword_refusal(self, loop: ast.stmt, words: Callable[[str], str]) -> None:
        if loop.lineno in self.refusals:
            self.refusals[loop.lineno] = words(self.refusals[loop.lineno])

    def add_effect(self, effect: Effect) -> None:
        if effect.span is None and self.evaluating:
            effect.span = self.evaluating[-1].span
        self.effects.append(effect)

    def freeze(self, text: str, span: Span | None = None) -> None:
        """Note a value that the trace took as fixed, for ``explain``."""
        self.frozen[text if span is None else f"{text} (line {span.line})"] = None
