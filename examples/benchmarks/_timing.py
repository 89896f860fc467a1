"""Paired timings: two contenders in turns, medians of times and of ratios."""

import resource
import time

import numpy as np


def seconds(function, calls, clock=time.process_time):
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls


def race(ours, theirs, budget=4.0, clock=time.process_time):
    """Median times of both and the median of their paired ratios, run in turns."""
    ours(), theirs()  # warm caches and lazy imports
    once = seconds(ours, 1, clock), seconds(theirs, 1, clock)
    # Calls too short for the clock are timed several at a time.
    calls = [max(1, int(2e-3 / max(t, 1e-7))) for t in once]
    rounds = int(budget / sum(n * t for n, t in zip(calls, once, strict=True)))
    pairs = np.array(
        [
            (seconds(ours, calls[0], clock), seconds(theirs, calls[1], clock))
            for _ in range(min(max(rounds, 5), 101))
        ]
    )
    ratio = np.median(pairs[:, 1] / pairs[:, 0])
    return *np.median(pairs, axis=0), ratio


def shown(seconds):
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s"


def processor_time():
    """Of this process and of those that it has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime
