from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, TypeVar, Union

from berth_client.environment import ExitGuard, Host, WireAnswer, WireRequest

from .world import SimulatedSignal, World

Answered = Callable[[Union[WireAnswer, Exception]], None]
# Passes a request on, and calls back with the answer, with an error, or never.
Network = Callable[[WireRequest, Answered], None]

_Result = TypeVar("_Result")

# What a timer can tell apart, in seconds.
_FINEST = 1e-6
# 2030-01-15T12:00:00Z
START = 1_894_708_800.0


class MemoryStorage:
    """What is stored on a simulated computer, for all of its programs."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}
        # `full`: nothing can be written. `broken`: nothing can be done at all.
        self._state = "good"
        self._writes_before = 0

    def set_state(self, state: str, after_writes: int = 0) -> None:
        self._state = state
        self._writes_before = after_writes

    def read(self, name: str) -> Optional[str]:
        self._assert_works()
        return self.texts.get(name)

    def write(self, name: str, text: str) -> None:
        if self._state != "good":
            self._writes_before -= 1
            if self._writes_before < 0:
                raise OSError("No space left on device")
        self.texts[name] = text

    def remove(self, name: str) -> None:
        self._assert_works()
        self.texts.pop(name, None)

    def list(self, prefix: str) -> List[str]:
        self._assert_works()
        return sorted(name for name in self.texts if name.startswith(prefix))

    def _assert_works(self) -> None:
        if self._state == "broken":
            raise OSError("Input/output error")


class MortalStorage:
    """The storage as a program sees it that may be killed before and after everything that it changes."""

    def __init__(self, machine: "Machine", storage: MemoryStorage) -> None:
        self._machine = machine
        self._storage = storage
        self.texts = storage.texts

    def read(self, name: str) -> Optional[str]:
        return self._storage.read(name)

    def write(self, name: str, text: str) -> None:
        self._machine.survive(lambda: self._storage.write(name, text))

    def remove(self, name: str) -> None:
        self._machine.survive(lambda: self._storage.remove(name))

    def list(self, prefix: str) -> List[str]:
        return self._storage.list(prefix)


@dataclass
class _Timer:
    due: float
    work: Optional[Callable[[], None]]


class Machine:
    """A simulated computer with one program, which may stand still, and clocks that may be wrong."""

    def __init__(
        self,
        world: World,
        name: str,
        random: Callable[[], float],
        network: Network,
        rate: float = 1.0,
        hostname: Optional[str] = None,
        disk: Optional[MemoryStorage] = None,
    ) -> None:
        # Shared by the machines that are programs of one computer.
        self.disk = MemoryStorage() if disk is None else disk
        self.storage = MortalStorage(self, self.disk)
        self.host = Host(hostname=hostname or name, os_user="ada")
        self.machine_id: Optional[str] = hostname or name
        self.process_id = 1
        self.guards: List[ExitGuard] = []
        self.reported: List[BaseException] = []
        self.woke_at = float("-inf")
        self.random = random
        self._world = world
        self._name = name
        self._network = network
        self._rate = rate
        self._monotonic = 0.0
        self._wall = START + world.now
        self._read_at = world.now
        self._is_asleep = False
        self._is_paused = False
        self._ids = 0
        self._program = 0
        self._points_to_kill = math.inf
        self._sleeping: List[_Timer] = []
        self._deferred: List[Callable[[], None]] = []

    @property
    def is_running(self) -> bool:
        """Whether the program can do anything now."""
        return not self._is_asleep and not self._is_paused

    def pause(self) -> None:
        """The program stands still, and all clocks go on."""
        self._is_paused = True

    def resume(self, look: Callable[[], None] = lambda: None) -> None:
        """`look` sees the program before it has noticed anything."""
        self._is_paused = False
        self._continue(look)

    def sleep(self) -> None:
        """The monotonic clock stands still, too."""
        self._pass_time()
        self._is_asleep = True

    def wake(self, look: Callable[[], None] = lambda: None) -> None:
        self._pass_time()
        self._is_asleep = False
        self.woke_at = self._world.now
        self._continue(look)
        sleeping, self._sleeping = self._sleeping, []
        for timer in sleeping:
            self._arm(timer)

    def restart(self) -> None:
        """Another program starts: nothing that the earlier one waits for happens any more."""
        self._program += 1
        self.guards.clear()
        self.kill_at(None)

    def kill_at(self, points: Optional[int]) -> None:
        """
        The program is killed when it has come to so many points: before and after everything that it writes,
        removes or sends.
        """
        self._points_to_kill = math.inf if points is None else points

    @property
    def is_killed(self) -> bool:
        return self._points_to_kill < 0

    def survive(self, effect: Callable[[], _Result]) -> _Result:
        self._pass_point()
        result = effect()
        self._pass_point()
        return result

    def _pass_point(self) -> None:
        self._points_to_kill -= 1
        while self.is_killed:
            # Nothing goes on in this thread, and nobody wakes it.
            self._world.current_task.park()

    def set_wall_clock(self, by: float) -> None:
        self._pass_time()
        self._wall += by

    def read_monotonic(self) -> float:
        self._pass_time()
        return self._monotonic

    def read_wall(self) -> float:
        self._pass_time()
        return self._wall

    def create_id(self) -> str:
        self._ids += 1
        return f"{self._ids}-{self._name}-on-a-machine"

    def create_signal(self) -> SimulatedSignal:
        return SimulatedSignal(self._world, self._set_raw_timer)

    def set_timer(self, delay: float, work: Callable[[], None]) -> Callable[[], None]:
        return self._set_raw_timer(delay, lambda: self._world.start(work))

    def send(self, request: WireRequest) -> WireAnswer:
        return self.survive(lambda: self._send(request))

    def _send(self, request: WireRequest) -> WireAnswer:
        task = self._world.current_task
        answers: List[Union[WireAnswer, Exception]] = []

        def finish(answer: Union[WireAnswer, Exception]) -> None:
            if not answers:
                answers.append(answer)
                task.resume()

        self._set_raw_timer(request.timeout, lambda: finish(TimeoutError("No answer in time")))
        accept = self._for_this_program(finish)
        self._network(
            request,
            lambda answer: self._world.at(self._world.now, lambda: self._deliver(lambda: accept(answer))),
        )
        task.park()
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    def guard_exit(self, guard: ExitGuard) -> Callable[[], None]:
        self.guards.append(guard)
        return lambda: self.guards.remove(guard) if guard in self.guards else None

    def report_error(self, error: BaseException) -> None:
        self.reported.append(error)

    def _continue(self, look: Callable[[], None]) -> None:
        if not self.is_running:
            return
        look()
        deferred, self._deferred = self._deferred, []
        for work in deferred:
            work()

    def _pass_time(self) -> None:
        passed = (self._world.now - self._read_at) * self._rate
        self._read_at = self._world.now
        self._wall += passed
        if not self._is_asleep:
            self._monotonic += passed

    def _set_raw_timer(self, delay: float, work: Callable[[], None]) -> Callable[[], None]:
        program = self._program
        timer = _Timer(self.read_monotonic() + delay, lambda: work() if program == self._program else None)
        self._arm(timer)

        def cancel() -> None:
            timer.work = None

        return cancel

    def _arm(self, timer: _Timer) -> None:
        # No less: a delay too small to change the time of the world would come again and again.
        delay = max((timer.due - self.read_monotonic()) / self._rate, _FINEST)
        self._world.at(self._world.now + delay, lambda: self._fire(timer))

    def _fire(self, timer: _Timer) -> None:
        if timer.work is None:
            return
        if self._is_asleep:
            self._sleeping.append(timer)
        elif self.read_monotonic() < timer.due - _FINEST:
            self._arm(timer)
        else:
            self._deliver(lambda: timer.work() if timer.work is not None else None)

    def _deliver(self, work: Callable[[], None]) -> None:
        if self.is_running:
            work()
        else:
            self._deferred.append(work)

    def _for_this_program(
        self, work: Callable[[Union[WireAnswer, Exception]], None]
    ) -> Callable[[Union[WireAnswer, Exception]], None]:
        program = self._program
        return lambda answer: work(answer) if program == self._program else None
