"""Takes a shell, gives it the magics with everything around them, and takes all of it away again."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from traitlets import TraitError

from jitmagic import config
from jitmagic.errors import UserError
from jitmagic.events import Event
from jitmagic.magic.asking import help_alone
from jitmagic.magic.awaiting import AwaitTransform
from jitmagic.magic.cell import CellCompiler
from jitmagic.magic.collector import Collector
from jitmagic.magic.completion import Completions, matcher
from jitmagic.magic.engine import CardOptions, Engine
from jitmagic.magic.failure import show_as_plain
from jitmagic.magic.magics import JitMagic
from jitmagic.magic.progress import Progress
from jitmagic.magic.refusing import RefusedTransform
from jitmagic.magic.verbs import VERBS, JitLine
from jitmagic.report import Report
from jitmagic.runtime import ahead

__all__ = ["draw_card", "load", "unload"]

_NAME = JitMagic.__name__


def load(shell: Any, engine: Engine) -> JitMagic:
    """Register everything in ``shell``; what an earlier load left is taken away first."""
    unload(shell)
    _drop_bad_settings(shell)
    undo = contextlib.ExitStack()
    settings = config.current()
    undo.callback(config.configure, progress_after=settings.progress_after, entry_limit=settings.entry_limit)
    magics = _registered(shell, undo)
    collector = Collector(shell, engine.draw, magics.card_options, Progress(shell), partial(_panels, engine))
    collector.living = partial(_living, engine)
    magics.cells = CellCompiler(shell, engine, collector)
    magics.lines = JitLine(shell, engine)
    _listen(shell, magics, undo)
    _complete(shell, engine, magics, undo)
    magics.undo = undo
    if settings.background:
        ahead.start()
        undo.callback(ahead.stop_worker)
    return magics


def unload(shell: Any) -> None:
    """Take away what ``load`` registered; nothing happens if nothing is there."""
    magics = shell.magics_manager.registry.get(_NAME)
    if magics is not None:
        magics.undo.close()


def draw_card(events: Sequence[Event], options: CardOptions, labels: Mapping[str, str]) -> Report:
    """The card of the report stage."""
    return Report(events, sources=labels, kind=options.report, graph=options.graph, quiet=options.quiet)


def _panels(engine: Engine, owners: Iterable[int]) -> list[Any]:
    """The explorers of these functions; none without ipywidgets, the card shows the graph as well."""
    wanted = set(owners)
    with contextlib.suppress(UserError):
        return [f.jit.explore() for f in engine.functions() if f.jit.record.owner in wanted]
    return []


def _living(engine: Engine) -> list[tuple[int, str]]:
    return [(f.jit.record.owner, f.jit.plain.__code__.co_filename) for f in engine.functions()]


def _registered(shell: Any, undo: contextlib.ExitStack) -> JitMagic:
    """The magics in IPython's four registries, which it has no public way to leave."""
    magics = JitMagic(shell)
    shell.register_magics(magics)
    manager = shell.magics_manager
    undo.callback(manager.registry.pop, _NAME, None)
    undo.callback(_remove, shell.configurables, magics)
    undo.callback(manager.magics["cell"].pop, "compile", None)
    undo.callback(manager.magics["line"].pop, "jit", None)
    return magics


def _listen(shell: Any, magics: JitMagic, undo: contextlib.ExitStack) -> None:
    cells = magics.cells
    cells.collector.start()
    undo.callback(cells.collector.stop)
    for event, callback in (
        ("pre_run_cell", cells.raw.enter),
        ("post_run_cell", cells.raw.leave),
        ("post_run_cell", cells.collector.cell_ended),
    ):
        _register(shell, event, callback, undo)
    undo.callback(show_as_plain(shell))
    for transform in (help_alone, RefusedTransform(shell), AwaitTransform(shell.transform_cell)):
        shell.input_transformers_post.append(transform)
        undo.callback(_remove, shell.input_transformers_post, transform)


def _register(shell: Any, event: str, callback: Callable[..., None], undo: contextlib.ExitStack) -> None:
    shell.events.register(event, callback)
    undo.callback(shell.events.unregister, event, callback)


def _complete(shell: Any, engine: Engine, magics: JitMagic, undo: contextlib.ExitStack) -> None:
    completions = Completions(
        magics.compile_cell.parser,
        tuple(VERBS),
        engine.backends,
        lambda: [function.__qualname__ for function in engine.functions()],
    )
    match = matcher(completions)
    if match is not None:
        shell.Completer.custom_matchers.append(match)
        undo.callback(_remove, shell.Completer.custom_matchers, match)


def _remove(items: list[Any], item: Any) -> None:
    with contextlib.suppress(ValueError):
        items.remove(item)


def _drop_bad_settings(shell: Any) -> None:
    """Forget values that no setting takes: ``%config`` keeps what it has just refused."""
    stored = shell.config.get(_NAME, {})
    traits = JitMagic.class_traits(config=True)
    for name in [n for n in stored if n in traits]:
        try:
            traits[name]._validate(JitMagic.__new__(JitMagic), stored[name])
        except TraitError as error:
            value = stored.pop(name)
            warnings.warn(
                f"%config JitMagic.{name} = {value!r} is dropped, the default is used: {error}",
                stacklevel=2,
            )
