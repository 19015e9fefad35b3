from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Callable, Optional

from berth_client import Client, Slot
from berth_client.environment import NotSentError, WireRequest
from berth_client.errors import BerthError
from berth_client.lease import MARGIN, Margin

from .lending_server import LendingServer
from .machine import Answered, Machine, Network
from .world import World

_TIMEOUT = 60.0
_RUN = 15 * 60.0
# Clocks that differ by as much as the documentation allows.
_DRIFT = 0.01
# A program hears of a loss by a timer, which may not run for this long after the machine has woken up.
_HEARS_AFTER_WAKE = 5.1
# Between two faults of a machine: a clock that is set back must be noticed before the machine sleeps.
_QUIET = 12.0


class BothUseIt(Exception):
    pass


@dataclass
class Tally:
    acquired: int = 0
    lost: int = 0
    restored: int = 0
    released: int = 0


@dataclass
class _Player:
    """A machine with a program that takes the slot, works for a while, and returns it."""

    machine: Machine
    line: "_Line"
    slot: Optional[Slot] = None
    # What the program knows from events alone.
    thinks_held: bool = False


@dataclass
class _Line:
    """The way to the server."""

    is_cut: bool = field(default=False)


def play_for_slot(seed: int, tally: Tally, margin: Margin = MARGIN) -> None:
    """
    Two programs share one slot for a while, over a bad network, on machines that stand still and whose clocks
    are wrong. Raises if both may use it at the same moment.
    """
    random = Random(seed)
    with World() as world:
        server = LendingServer(world, slots=1, timeout=_TIMEOUT, tells_end=random.random() < 0.5)
        players = [_create_player(world, server, random, name) for name in ("one", "two")]
        for player in players:
            client = Client("http://berth.test", "cad", environment=player.machine, margin=margin)
            world.start(partial(_play_on, player, client, random, tally))

        def look(*views: Callable[[_Player, World], bool]) -> None:
            for sees in views or (_may_see,):
                if all(player.machine.is_running and sees(player, world) for player in players):
                    raise BothUseIt(f"seed {seed}: both use the slot at {world.now} s")

        for player in players:
            _disturb(world, player, random, look)
        _disturb_server(world, server, random)
        world.run(_RUN, lambda: look(_may_see, _thinks_so))


def _create_player(world: World, server: LendingServer, random: Random, name: str) -> _Player:
    rate = 1 + random.choice([-1, -1, 1, random.uniform(-1, 1)]) * _DRIFT
    line = _Line()
    return _Player(
        Machine(world, name, random.random, _create_network(world, server, random, line), rate), line
    )


def _may_see(player: _Player, _: World) -> bool:
    """A program that asks before it works."""
    return player.slot is not None and player.slot.is_held


def _thinks_so(player: _Player, world: World) -> bool:
    """A program that relies on events."""
    return player.thinks_held and world.now > player.machine.woke_at + _HEARS_AFTER_WAKE


def _play_on(player: _Player, client: Client, random: Random, tally: Tally) -> None:
    def rest(longest: float) -> None:
        player.machine.create_signal().wait(random.random() * longest)

    def lose() -> None:
        tally.lost += 1
        player.thinks_held = False

    def restore() -> None:
        tally.restored += 1
        player.thinks_held = True

    while True:
        rest(10)
        try:
            slot = client.acquire("1h")
        except BerthError:
            continue
        tally.acquired += 1
        player.slot, player.thinks_held = slot, slot.is_held
        slot.on("lost", lambda _: lose())
        slot.on("restored", lambda _: restore())
        rest(random.choice([20, 300]))
        player.slot, player.thinks_held = None, False
        slot.release()
        tally.released += 1


def _create_network(world: World, server: LendingServer, random: Random, line: _Line) -> Network:
    def delay() -> float:
        return random.random() * (0.1 if random.random() < 0.9 else 20)

    def network(request: WireRequest, done: Answered) -> None:
        is_lost = random.random() < 0.05
        is_unanswered = random.random() < 0.05
        if is_lost or line.is_cut:
            return

        def arrive() -> None:
            answer = NotSentError("refused") if server.is_down else server.answer(request)
            if not is_unanswered and not line.is_cut:
                world.at(world.now + delay(), lambda: done(answer))

        world.at(world.now + delay(), arrive)

    return network


def _disturb(world: World, player: _Player, random: Random, look: Callable[[], None]) -> None:
    machine = player.machine
    kind = random.choice(["pause", "sleep", "set", "cut", "cut"])
    starts_at = world.now + _QUIET + random.random() * 100
    ends_at = starts_at if kind == "set" else starts_at + random.uniform(0.1, 150)

    def start() -> None:
        if kind == "pause":
            machine.pause()
        elif kind == "sleep":
            machine.sleep()
        elif kind == "set":
            machine.set_wall_clock(random.uniform(-3600, 3600))
        else:
            player.line.is_cut = True

    def end() -> None:
        if kind == "pause":
            machine.resume(look)
        elif kind == "sleep":
            machine.wake(look)
        player.line.is_cut = False
        _disturb(world, player, random, look)

    world.at(starts_at, start)
    world.at(ends_at, end)


def _disturb_server(world: World, server: LendingServer, random: Random) -> None:
    starts_at = world.now + random.random() * 600

    def start() -> None:
        server.is_down = True

    def end() -> None:
        if random.random() < 0.5:
            server.restart()
        server.is_down = False
        _disturb_server(world, server, random)

    world.at(starts_at, start)
    world.at(starts_at + random.random() * 120, end)
