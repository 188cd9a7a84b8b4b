"""Surroundings of every test: a kernel store of its own, few threads, interrupts, no time limits on properties.

The environment is set while this file is imported: before NumPy starts its thread pools and before
``jitmagic.config`` reads its defaults. Kernels and workers that tests start inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

from hypothesis import settings

# One kernel store for all processes of a run: the first makes it, the others find its name in the environment.
_store = os.environ.get("JITMAGIC_TESTS_STORE", "")
if not _store:
    _store = os.environ["JITMAGIC_TESTS_STORE"] = tempfile.mkdtemp(prefix="jitmagic-tests-")
    atexit.register(shutil.rmtree, _store, ignore_errors=True)

os.environ.update(
    JITMAGIC_CACHE_DIR=_store,  # the user's store is neither read nor filled
    JITMAGIC_WORKER="0",  # a first call is compiled, however busy the machine; what tests the worker asks for it
    # Two: enough to run the parallel paths, few enough for several test processes side by side.
    OMP_NUM_THREADS="2",
    OPENBLAS_NUM_THREADS="2",
    MKL_NUM_THREADS="2",
    NUMBA_NUM_THREADS="2",
    MPLBACKEND="agg",
    JUPYTER_PLATFORM_DIRS="1",  # without it jupyter_core warns, and a warning is an error here
    PYDEVD_DISABLE_FILE_VALIDATION="1",  # ipykernel's debugger complains on 3.11 and later
)

# A shell starts what runs in its background with Ctrl-C ignored; tests of interrupts would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a loaded machine must not fail a property. In CI the examples are the same each time.
settings.register_profile("jitmagic", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("jitmagic")
