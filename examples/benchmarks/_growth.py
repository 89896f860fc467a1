"""How time and memory grow with the number of rows, contenders in turns."""

import contextlib
import ctypes
import gc
import importlib.metadata
import io
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _samples import ten_classes
from _timing import processor_time, seconds, shown

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
EXPLANATION = """\
Processor time of one call on one thread, children included: medians of runs in turns.
growth: the exponent of the number of rows, over the last three sizes measured. memory:
peak beyond the input at the last size measured, of what Python and NumPy allocate, or,
with a *, of what the system gives the process. ratio: time over the first line's, at
the last size of both. A contender stops, and shows -, once its next size is expected to
take more than {limit} s."""


class Contender(NamedTuple):
    """Something to time.

    Attributes
    ----------
    name : str
    prepare : callable
        Takes the data, returns the call to time.
    outside : bool
        Whether it allocates where Python's own trace does not look, or allocates so
        many objects that the trace would take minutes.
    max_rows : int
        What it takes within memory.
    """

    name: str
    prepare: Callable
    outside: bool = False
    max_rows: int = 10**9


FAILURES = (ArithmeticError, AssertionError, MemoryError, TypeError, ValueError)


# Measuring ----------------------------------------------------------------------------


@contextlib.contextmanager
def quiet():
    nowhere = io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        yield


def in_turns(calls, first, budget):
    """Seconds a call of each of the calls, by rounds, from those of the first round."""
    # The first round pays for imports and cold caches, which matters where it is short.
    rounds = [] if sum(first) < budget else [first]
    # Calls too short for the clock are timed several at a time.
    repeats = [max(1, int(2e-3 / max(t, 1e-7))) for t in first]
    total = sum(n * t for n, t in zip(repeats, first, strict=True))
    for _ in range(min(max(int(budget / total), 1 - len(rounds)), 15)):
        rounds.append(
            [
                seconds(call, n, processor_time)
                for call, n in zip(calls, repeats, strict=True)
            ]
        )
    return np.array(rounds)


def peak_memory(call, outside):
    """Most bytes a call has at a time; None where there is no way to know."""
    gc.collect()
    if not outside:
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # what is free would be used again unseen
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    except OSError:
        return None
    before = status("VmRSS")
    call()
    return status("VmHWM") - before


def status(name):
    """A line of what Linux knows of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"no {name}")


def measure(contenders, sample, sizes, limit, budget):
    """Times by name and size, ratios to the first by name, and peaks by name."""
    times = {contender.name: {} for contender in contenders}
    ratios, peaks = {}, {}
    for n, later in zip(sizes, (*sizes[1:], None), strict=True):
        going, calls, first = [], [], []
        data = sample(n)
        for contender in contenders:
            known = times[contender.name]
            if n > sizes[0] and not goes_on(contender, known, n, limit):
                continue
            with quiet(), contextlib.suppress(*FAILURES):
                call = contender.prepare(*data)
                if n == sizes[0]:
                    call()  # imports what it needs
                first.append(seconds(call, 1, processor_time))
                going.append(contender)
                calls.append(call)
        if not going:
            break
        with quiet():
            rounds = in_turns(calls, first, budget)
        for contender, call, spent in zip(going, calls, rounds.T, strict=True):
            known = times[contender.name]
            known[n] = np.median(spent)
            if going[0] is contenders[0]:
                ratios[contender.name] = np.median(spent / rounds[:, 0])
            if later is None or not goes_on(contender, known, later, limit):
                with quiet():
                    peaks[contender.name] = peak_memory(call, contender.outside)
    return times, ratios, peaks


def goes_on(contender, known, n, limit):
    """Whether `n` rows are next: expected in time, and within memory."""
    return bool(known) and n <= contender.max_rows and expected(known, n) <= limit


def expected(times, n):
    """Seconds at `n` rows: proportional, or as it grew at last."""
    *before, last = sorted(times)
    grown = times[last] / times[before[-1]] if before else 1.0
    return times[last] * max(n / last, grown)


def exponent(times):
    n = sorted(times)[-3:]
    if len(n) < 2:
        return None
    return np.polyfit(np.log(n), np.log([times[size] for size in n]), 1)[0]


# Reporting ----------------------------------------------------------------------------


def header(sizes):
    return (
        f"{'':<36}"
        + "".join(f"{n:>11,}" for n in sizes)
        + f"{'growth':>8}{'memory':>12}{'ratio':>12}"
    )


def growth_lines(contenders, sample, sizes, limit, budget):
    """A line for each contender; the first is the one of ours."""
    shown_sizes = sizes
    if sample is ten_classes:
        sizes = sizes[:4]  # ten million rows of ten classes are gigabytes
    times, ratios, peaks = measure(contenders, sample, sizes, limit, budget)
    for contender in contenders:
        found = times[contender.name]
        line = f"{contender.name:<36}"
        for n in shown_sizes:
            line += f"{shown(found[n]) if n in found else '-':>11}"
        grown, peak = exponent(found), peaks.get(contender.name)
        line += f"{'-' if grown is None else f'{grown:.2f}':>8}"
        unit = "MB*" if contender.outside else "MB "
        line += f"{'-  ' if peak is None else f'{peak / 2**20:.1f} {unit}':>12}"
        if contender is not contenders[0] and contender.name in ratios:
            line += f"{f'{ratios[contender.name]:.3g} x':>12}"
        yield line


def version_line(*names):
    found = []
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return f"With Python {sys.version.split()[0]}, " + ", ".join(found)
