"""A cluster of Dask on threads of this process."""

from __future__ import annotations

import time
from collections.abc import Callable

from distributed import LocalCluster

WAIT_S = 60
"""Longer than anything here takes on a machine that does other things besides."""


def new_cluster(workers: int) -> LocalCluster:
    return LocalCluster(
        workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


def eventually(condition: Callable[[], object]) -> None:
    until = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
