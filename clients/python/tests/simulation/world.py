from __future__ import annotations

import heapq
import threading
from functools import partial
from typing import Callable, Dict, List, Optional, Set, Tuple


class _Stopped(BaseException):
    """The world has ended."""


class Task:
    """
    A thread of a program. Only one thread runs at a time, and the world says which, so runs can be repeated.
    A thread that has done its work is used again, because starting one takes long.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._work: Callable[[], object] = lambda: None
        self._go = _closed_gate()
        threading.Thread(target=self._run, daemon=True).start()

    def start(self, work: Callable[[], object]) -> None:
        self._work = work
        self.resume()

    def resume(self) -> None:
        """Returns when the task has come to its end, or waits again."""
        self._go.release()
        self._world.idle.acquire()

    def park(self) -> None:
        self._world.idle.release()
        self._go.acquire()
        if self._world.is_closed:
            raise _Stopped

    def _run(self) -> None:
        self._go.acquire()
        while not self._world.is_closed:
            self._do_work()
            self._world.idle.release()
            self._go.acquire()
        self._world.idle.release()

    def _do_work(self) -> None:
        self._world.tasks[threading.get_ident()] = self
        try:
            self._work()
        except _Stopped:
            pass
        except BaseException as error:
            self._world.errors.append(error)
        finally:
            del self._world.tasks[threading.get_ident()]
            self._world.free.append(self)


def _closed_gate() -> threading.Lock:
    """A lock that another thread opens."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class World:
    """Simulated time in seconds, in which events happen one after the other."""

    def __init__(self) -> None:
        self.now = 0.0
        self.idle = _closed_gate()
        self.tasks: Dict[int, Task] = {}
        self.free: List[Task] = []
        self.errors: List[BaseException] = []
        self.is_closed = False
        self._order = 0
        self._events: List[Tuple[float, int, Callable[[], None]]] = []

    @property
    def current_task(self) -> Task:
        return self.tasks[threading.get_ident()]

    def start(self, work: Callable[[], object]) -> None:
        (self.free.pop() if self.free else Task(self)).start(work)

    def at(self, moment: float, work: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (max(moment, self.now), self._order, work))

    def run(self, until: float, look: Optional[Callable[[], None]] = None) -> None:
        """Calls `look` after every event and everything that follows from it."""
        self._raise_errors()
        while self._events and self._events[0][0] <= until:
            self.now, _, work = heapq.heappop(self._events)
            work()
            if look is not None:
                look()
            self._raise_errors()
        self.now = until

    def _raise_errors(self) -> None:
        if self.errors:
            raise self.errors[0]

    def close(self) -> None:
        """Ends all threads."""
        self.is_closed = True
        while self.tasks:
            next(iter(self.tasks.values())).resume()
        while self.free:
            self.free.pop().resume()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SimulatedSignal:
    """What `threading.Event` does, in simulated time."""

    def __init__(
        self, world: World, set_timer: Callable[[float, Callable[[], None]], Callable[[], None]]
    ) -> None:
        self._world = world
        self._set_timer = set_timer
        self._is_set = False
        self._waiting: Set[Task] = set()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for task in list(self._waiting):
            self._world.at(self._world.now, partial(self._wake, task))

    def wait(self, timeout: Optional[float] = None) -> bool:
        if self._is_set or (timeout is not None and timeout <= 0):
            return self._is_set
        task = self._world.current_task
        self._waiting.add(task)
        if timeout is not None:
            self._set_timer(timeout, lambda: self._wake(task))
        task.park()
        return self._is_set

    def _wake(self, task: Task) -> None:
        """A timer and the signal may both come."""
        if task in self._waiting:
            self._waiting.discard(task)
            task.resume()
