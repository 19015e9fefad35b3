"""
What a fork leaves behind: a child process has copies of all objects, but none of its parent's threads, which
may have held their locks. The slots stay with the parent.
"""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakSet


class Locked:
    """What the threads of a process share under a lock."""

    def __init__(self) -> None:
        self._lock = RLock()
        _living.add(self)

    def _begin_in_child(self) -> None:
        self._lock = RLock()


_living: "WeakSet[Locked]" = WeakSet()


def begin_in_child() -> None:
    """No other thread runs yet."""
    for part in list(_living):
        part._begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin_in_child)
