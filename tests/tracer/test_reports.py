"""Warnings and log records of compiled functions: as from the line that gives them, in order, and no graph break."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance import programs

WARNS = """
import warnings
class Mine(UserWarning): pass
def inner(x, out):
    warnings.warn("inner", Mine)
    warnings.warn(f"caller {x.sum():.2f}", RuntimeWarning, stacklevel=2)
    out.append(1)
    warnings.warn(
        "several lines",
        category=DeprecationWarning,
        stacklevel=1,
    )
def f(x):
    out = []
    inner(x, out)
    if np.isnan(x).any():
        warnings.warn(f"{np.isnan(x).sum()} missing")
        x = x[~np.isnan(x)]
    x[0] = 7.0
    warnings.warn("out", stacklevel=0)
    return x + len(out)
"""
LOGS = """
import logging
log = logging.getLogger("tests.reports")
def inner(x):
    log.info("inner %s", x)
    x *= 2
    log.debug("%s then", x)
    return x
def f(x):
    logging.warning("start %d of %s", len(x), [1, x])
    y = inner(x)
    if y.sum() > 3:
        log.error("%(a)s big", {"a": y})
        return None
    log.critical("small")
    return y
"""


def _compiled(text: str, backend: str) -> Any:
    return jm.compile(programs.load(text)["f"], backend=backend)


def _given(f: Any, arguments: Sequence[Any], how: str) -> tuple[Any, ...]:
    """What ``f`` gives under a filter, and each warning as its category, text, line, and whether it names the file."""
    filename = f.__code__.co_filename
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(how)
        try:
            result: Any = repr(f(*arguments))
        except Warning as error:
            result = type(error).__name__, str(error), repr(arguments[0])
    shown = [(w.category.__name__, str(w.message), w.lineno, w.filename == filename) for w in caught]
    registry = f.__globals__.get("__warningregistry__", {})
    return result, shown, sorted(repr(key[0]) for key in registry if key != "version")


@pytest.mark.parametrize("how", ["always", "default", "once", "ignore", "error"])
@pytest.mark.parametrize("backend", programs.BACKENDS)
def test_warnings_name_the_line_of_the_user(backend: str, how: str) -> None:
    plain, compiled = programs.load(WARNS)["f"], _compiled(WARNS, backend)
    for values in ([1.0, 2.0], [1.0, np.nan, 3.0], [1.0, 2.0], [1.0, np.nan, 4.0]):
        assert _given(compiled, [np.array(values)], how) == _given(plain, [np.array(values)], how)


def test_filters_that_change_between_calls() -> None:
    plain, compiled = programs.load(WARNS)["f"], _compiled(WARNS, "eager")
    for how in ("always", "error", "always", "ignore", "error", "default"):
        assert _given(compiled, [np.ones(3)], how) == _given(plain, [np.ones(3)], how)


def test_warnings_and_logs_are_no_graph_breaks() -> None:
    for text in (WARNS, LOGS):
        assert programs.explained(text, "f(np.ones(3))").break_count == 0


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.records: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        place = record.filename if hasattr(record, "filename") else record.pathname
        assert place.startswith("<conformance")
        self.records.append((record.name, record.levelno, record.getMessage(), record.lineno, record.funcName))


@pytest.mark.parametrize("level", [logging.DEBUG, logging.ERROR])
@pytest.mark.parametrize("backend", programs.BACKENDS)
def test_log_records_name_the_place_of_the_user(backend: str, level: int) -> None:
    plain, compiled = programs.load(LOGS)["f"], _compiled(LOGS, backend)
    logger, kept = logging.getLogger("tests.reports"), (_Kept(), _Kept())
    logger.setLevel(level)
    for values in ([1.0, 2.0], [0.5, 0.5], [1.0, 2.0]):
        results = []
        for function, handler in zip((plain, compiled), kept, strict=True):
            logging.root.addHandler(handler)
            try:
                results.append(np.asarray(function(np.array(values)), object).tolist())
            finally:
                logging.root.removeHandler(handler)
        assert results[0] == results[1]
    assert kept[0].records == kept[1].records != []
