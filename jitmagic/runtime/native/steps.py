"""Takes the program of an entry and the host program of its graph, as Python text, gives steps that do the same.

Only programs without side effects have a native form: they load arguments, allocate, launch kernels, and return
arrays or tuples of them. Every statement that is not known here keeps the program in Python.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.backends.native.abi import Address, FloatFlag
from jitmagic.backends.native.launch import GIL_WORK
from jitmagic.runtime.native.entry_text import REGISTERS
from jitmagic.runtime.native.steps_text import BLOCK_WORDS, MADE, NUMBERS, Operand, Step
from jitmagic.runtime.native.words import NoForm, Words
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import LocalSource, Source

__all__ = ["Plan", "make_plan", "write_steps"]

_FLAG_OF = {"divide": FloatFlag.DIVIDE, "over": FloatFlag.OVER, "under": FloatFlag.UNDER, "invalid": FloatFlag.INVALID}
_LAUNCH_COUNT, _LAUNCH_CODES = 7, 8  # words of a launcher's table: number of operands, their codes
_COMPLEX = -4


@dataclass(frozen=True, slots=True)
class Plan:
    """A program that has a native form: both texts parsed, and what their names mean.

    ``counted`` are the floating-point flags for which the call gives up.
    """

    program: Sequence[ast.stmt]
    host: Sequence[ast.stmt]
    inputs: Sequence[str]
    scope: Mapping[str, Any]
    sources: Mapping[str, Source]
    counted: int

    @property
    def needed(self) -> list[Source]:
        """What the program reads from the arguments of a call and around it."""
        reads = [s.value for s in self.program if isinstance(s, ast.Assign)]
        return [source for read in reads if (source := self.source_of(read)) is not None]

    def source_of(self, read: ast.expr) -> Source | None:
        """The source that an expression of the program reads; None for what is computed."""
        match read:
            case ast.Call(ast.Name("graph")) | ast.Tuple() | ast.Subscript(ast.Name("g")):  # most of a program
                return None
        return self.sources.get(ast.unparse(read))


def make_plan(program: str, host: Any, guards: Sequence[Guard], parameters: Sequence[str]) -> Plan:
    """The plan for ``program`` (text of a capture) whose graph is run by the function ``host``.

    Raises NoForm if one of the two has no native form; statements are looked at only by ``write_steps``.
    """
    if not isinstance(host, FunctionType) or host.__code__.co_name != "run" or "run" not in host.__globals__:
        raise NoForm("the graph's host program is not the backend's own text")
    inputs = host.__code__.co_varnames[: host.__code__.co_argcount]
    sources, counted = _sources(guards, parameters), _counted(guards)
    return Plan(_body(program), _body(_text_of(host)), inputs, host.__globals__, sources, counted)


def _text_of(host: FunctionType) -> str:
    return "".join(linecache.getlines(host.__code__.co_filename))


def _body(text: str) -> list[ast.stmt]:
    match ast.parse(text):
        case ast.Module([ast.FunctionDef(body=body)]):
            return body
    raise NoForm("more than one function")


def _sources(guards: Sequence[Guard], parameters: Sequence[str]) -> dict[str, Source]:
    """Sources by the text that reads them."""
    found: dict[str, Source] = {source.code(""): source for source in map(LocalSource, parameters)}
    for guard in guards:
        for source in (guard.source, *guard.others):
            found.setdefault(_normal(source.expression), source)
    return found


@lru_cache(maxsize=1024)
def _normal(expression: str) -> str:
    """The text as ``ast.unparse`` writes it: functions read the same few places again and again."""
    return expression if expression.isidentifier() else ast.unparse(ast.parse(expression, mode="eval"))


def _counted(guards: Sequence[Guard]) -> int:
    """The flags that somebody listens to, as the guard on error handling has it; all of them without one."""
    handling = next((g.constant for g in guards if g.form == ("errstate",)), None)
    modes = dict(handling[:-1]) if handling is not None else dict.fromkeys(_FLAG_OF, "warn")
    return sum(int(flag) for name, flag in _FLAG_OF.items() if modes[name] != "ignore")


def write_steps(plan: Plan, words: Words, register_of: Callable[[Source], int], errstate: int = 0) -> int:
    """Write the steps; gives their place. Raises NoForm, with some of them written, if there is no form.

    ``errstate``: the place of the check ERRSTATE, 0 without one. It is left to steps that would lose little by
    finding out at the end that another entry is to serve the call.
    """
    place = words.place
    writer = _Writer(plan, words, register_of, errstate)
    writer.write()
    if errstate:
        words.words[errstate // 8 + 1] = int(writer.is_small)
    return place


@dataclass(slots=True)
class _Writer:
    plan: Plan
    words: Words
    register_of: Callable[[Source], int]
    errstate: int
    is_small: bool = True
    registers: dict[str, int] = field(default_factory=dict)
    results: list[int] = field(default_factory=list)
    arrays: set[str] = field(default_factory=set)  # made in the graph
    numbers: dict[str, int] = field(default_factory=dict)
    made: int = 0
    numbered: int = 0

    # -- the program around the graph
    def write(self) -> None:
        for source in dict.fromkeys(self.plan.needed):
            if not isinstance(source, LocalSource):
                self.words.add(Step.HOLD, self.register_of(source))
                self._new()
        for statement in self.plan.program:
            match statement:
                case ast.Assign([ast.Name(name)], value):
                    self._assign(name, value)
                case ast.Return(ast.Name(name)):
                    self.words.add(Step.RETURN, self._register(name))
                    return
                case _:
                    raise NoForm(ast.unparse(statement))
        raise NoForm("nothing is returned")

    def _assign(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Call(ast.Name("graph"), [ast.List(elements)]):
                self._graph([self._register(e.id) if isinstance(e, ast.Name) else -1 for e in elements])
            case ast.Subscript(ast.Name("g"), ast.Constant(int(index))) if index < len(self.results):
                self.registers[name] = self.results[index]
            case ast.Tuple(elements) if all(isinstance(e, ast.Name) for e in elements):
                items = [self._register(e.id) for e in elements if isinstance(e, ast.Name)]
                self.words.add(Step.TUPLE, len(items), *items)
                self.registers[name] = self._new()
            case ast.Name(other) if other in self.registers:
                self.registers[name] = self.registers[other]
            case _:
                source = self.plan.source_of(value)
                if source is None:
                    raise NoForm(ast.unparse(value))
                self.registers[name] = self.register_of(source)

    def _register(self, name: str) -> int:
        if name not in self.registers:
            raise NoForm(name)
        return self.registers[name]

    def _new(self) -> int:
        if MADE + self.made >= REGISTERS:
            raise NoForm("too many arrays are made")
        self.made += 1
        return MADE + self.made - 1

    # -- the graph
    def _graph(self, arguments: list[int]) -> None:
        if -1 in arguments or len(arguments) != len(self.plan.inputs):
            raise NoForm("the graph's arguments are not plain names")
        outer, self.registers = self.registers, dict(zip(self.plan.inputs, arguments, strict=True))
        following = [*self.plan.host[1:], None]
        for statement, after in zip(self.plan.host, following, strict=True):
            self._host(statement, after)
        self.registers = outer

    def _host(self, statement: ast.stmt, after: ast.stmt | None) -> None:
        match statement:
            case ast.Assign([ast.Name("r")], ast.Call(ast.Name(launcher), arguments)):
                self._launch(launcher, arguments, _flags_of(after))
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("empty"), arguments)):
                self._allocate(arguments)
                self.registers[name] = self._new()
                self.arrays.add(name)
            case ast.Assign([ast.Name(name)], ast.Subscript(ast.Name(part), ast.Constant(0))) if part in self.arrays:
                self.words.add(Step.SCALAR, self._register(part))
                self.registers[name] = self._new()
                self.arrays.discard(name)
            case ast.Assign([ast.Name(name)], value):
                self.numbers[name] = self._number(value)
            case ast.Return(ast.List(elements)) if all(isinstance(e, ast.Name) for e in elements):
                self.results = [self._register(e.id) for e in elements if isinstance(e, ast.Name)]
            case ast.Delete():
                pass  # arrays die at the end: programs with a native form are short
            case ast.If() if _flags_of(statement) is not None:
                pass  # belongs to the launch before it
            case _:
                raise NoForm(ast.unparse(statement))

    def _allocate(self, arguments: list[ast.expr]) -> None:
        match arguments:
            case [ast.Tuple(sizes), ast.Name(name)]:
                order = 0
            case [ast.Constant(int()) as size, ast.Name(name)]:
                sizes, order = [size], 0
            case [ast.Tuple(sizes), ast.Name(name), ast.Constant("F")]:
                order = 1
            case _:
                raise NoForm("an allocation of another kind")
        dtype = self.plan.scope.get(name)
        if not isinstance(dtype, np.dtype) or dtype.hasobject or not sizes:
            raise NoForm(name)  # without axes it is no array that a kernel fills
        head = (self.words.keep(dtype), len(sizes), order)
        fixed = [_constant(size) for size in sizes]
        if None in fixed:
            self.words.add(Step.NEW, *head, *(self._number(size) for size in sizes))
        else:
            self.words.add(Step.NEW_FIXED, *head, *(size for size in fixed if size is not None))

    def _launch(self, launcher: str, arguments: list[ast.expr], flags: int | None) -> None:
        table = getattr(self.plan.scope.get(launcher), "__self__", None)
        if flags is None or not isinstance(table, np.ndarray) or len(arguments) < 4:
            raise NoForm(launcher)
        kernel, start, turns, work = arguments[:4]
        address = self.plan.scope.get(kernel.id) if isinstance(kernel, ast.Name) else None
        codes = [int(code) for code in table[_LAUNCH_CODES:]]
        if not isinstance(address, Address) or ast.unparse(start) != "0" or len(codes) != len(arguments) - 4:
            raise NoForm(launcher)
        if sum(1 + 2 * max(code, 0) for code in codes) > BLOCK_WORDS or int(table[_LAUNCH_COUNT]) != len(codes):
            raise NoForm(launcher)
        operands = [self._operand(code, e) for code, e in zip(codes, arguments[4:], strict=True)]
        self.words.kept.append(address)
        conditions = (0xFF | flags << 8, 0xFF | (flags & self.plan.counted) << 8, self.errstate)
        pairs = [word for pair in operands for word in pair]
        if _is_small(turns, work) and all(code >= 0 for code in codes):
            self.words.add(Step.LAUNCH_SMALL, int(address), _constant(turns) or 0, *conditions, len(operands), *pairs)
        else:
            self.is_small = False
            head = (int(address), self._number(turns), self._number(work), *conditions, len(operands))
            self.words.add(Step.LAUNCH, *head, *pairs)

    def _operand(self, code: int, value: ast.expr) -> tuple[int, int]:
        if code == _COMPLEX:
            raise NoForm("a complex operand")
        if isinstance(value, ast.Name) and value.id in self.registers:
            return code, self.registers[value.id]
        if code != Operand.INTEGER:
            raise NoForm(ast.unparse(value))
        if isinstance(value, ast.Name) and type(self.plan.scope.get(value.id)) is int:
            return Operand.WORD, self.plan.scope[value.id]
        return Operand.NUMBER, self._number(value)

    # -- sizes
    def _number(self, value: ast.expr) -> int:
        """The number that holds an integer expression."""
        text = ast.unparse(value)
        if text not in self.numbers:
            self.numbers[text] = self._compute(value, text)
        return self.numbers[text]

    def _compute(self, value: ast.expr, text: str) -> int:
        number = _constant(value)
        if number is not None:
            return self._fill(Step.CONSTANT, number)
        match value:
            case ast.BinOp(left, ast.Add(), right):
                return self._fill(Step.ADD, self._number(left), self._number(right))
            case ast.BinOp(left, ast.Mult(), right):
                return self._fill(Step.MULTIPLY, self._number(left), self._number(right))
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(axis))):
                return self._fill(Step.SIZE, self._register(name), axis)
            case ast.Call(ast.Name("int"), [ast.Name(name)]):
                return self._fill(Step.INTEGER, self._register(name))
        raise NoForm(text)

    def _fill(self, step: Step, *operands: int) -> int:
        if self.numbered >= NUMBERS or any(not -(2**63) <= operand < 2**63 for operand in operands):
            raise NoForm("too many sizes")
        self.words.add(step, self.numbered, *operands)
        self.numbered += 1
        return self.numbered - 1


def _constant(value: ast.expr) -> int | None:
    """The value of an integer expression that is the same in every call; None for any other."""
    match value:
        case ast.Constant(int(number)):
            return number
        case ast.UnaryOp(ast.USub(), ast.Constant(int(number))):
            return -number
        case ast.BinOp(ast.Constant(int(number)), ast.FloorDiv(), ast.Constant(int(divisor))) if divisor > 0:
            return number // divisor
    return None


def _is_small(turns: ast.expr, work: ast.expr) -> bool:
    """Whether a launch never lets go of the GIL, nor asks the pool."""
    count, each = _constant(turns), _constant(work)
    return count is not None and each is not None and abs(count * each) < GIL_WORK


def _flags_of(statement: ast.stmt | None) -> int | None:
    """The flags in ``if r and listened(r, flags): raise Bail``; None for any other statement."""
    match statement:
        case ast.If(
            ast.BoolOp(
                ast.And(), [ast.Name("r"), ast.Call(ast.Name("listened"), [ast.Name("r"), ast.Constant(int(flags))])]
            ),
            [ast.Raise(ast.Name("Bail"))],
            [],
        ):
            return flags
    return None
