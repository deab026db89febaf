"""Blocks of rows, worked through from one thread a core."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from numba import config
from threadpoolctl import threadpool_limits

BLOCK = 1024
"""Most rows in a block; no answer depends on it."""


def cores() -> int:
    """Number of threads to use: NUMBA_NUM_THREADS, by default the cores this process may use.

    Example:
        >>> cores() >= 1
        True
    """
    return config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def in_blocks(n: int, start: Callable[[int], Callable[[slice], None]]) -> None:
    """Work through n rows in blocks, from one thread a core.

    `start(most)` is called once in each thread and returns its work on a block of at most `most`
    rows, so that buffers are allocated once. Kernels and products release the interpreter lock.
    While there are several threads, each has a product to itself: OpenBLAS would otherwise run one
    product at a time, and its idle threads would spin on the cores that select. At 32,768 × 8,192
    × 384 on two cores that took 1.33 times the bare products instead of 1.10.

    Example:
        >>> done = []
        >>> in_blocks(3000, lambda most: lambda block: done.append(block.stop - block.start))
        >>> sum(done)
        3000
    """
    size = min(BLOCK, -(-n // cores()))
    waiting = deque(slice(first, min(first + size, n)) for first in range(0, n, size))
    threads = min(cores(), len(waiting))

    def run(_: int) -> None:
        work = start(size)
        while True:
            try:
                block = waiting.popleft()
            except IndexError:
                return
            work(block)

    if threads == 1:
        run(0)
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(run, range(threads)):
            pass
