"""
Plays scenarios of `clients/scenarios`, whose README says what each step means. A scenario comes as a line of
JSON; the last line of its play says what is wrong, or that nothing is.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, Callable, Dict, List, Mapping

from ..simulation.world import World
from .actor import Actor
from .site import Site

Step = Mapping[str, Any]

# Time for requests that a step has caused.
_MOMENT = 0.001


class Play:
    """The cast and the stage of one scenario."""

    def __init__(self, world: World, scenario: Mapping[str, Any]) -> None:
        self._world = world
        self._site = Site(world, scenario["servers"], scenario["vendor_key"])
        self._actors: Dict[str, Actor] = {}
        self._actions: Dict[str, Callable[[Step], None]] = {
            "exit": self._exit,
            "crash": lambda step: self._actor(step).start_again(),
            "pass": lambda step: self._pass(step["seconds"]),
            "sleep": self._sleep,
            "pause": self._pause,
            "set_clock": lambda step: self._actor(step).machine.set_wall_clock(step["seconds"]),
            "server": lambda step: self._site.ask("state", name=step["name"], state=step["state"]),
            "license": lambda step: self._site.ask("license", enabled=step["enabled"]),
            "free": lambda step: self._site.ask("free", client=step["client"]),
        }

    def act(self, step: Step) -> None:
        action = self._actions.get(step["do"])
        if action is not None:
            action(step)
            return
        actor = self._actor(step)
        calls: Dict[str, Callable[[], object]] = {
            "acquire": lambda: actor.acquire(step.get("wait", 0)),
            "release": actor.release,
            "borrow": lambda: actor.take_borrow(step["hours"]),
            "resume": actor.resume,
            "give_back": actor.give_back,
            "feature": lambda: actor.take_feature(step["code"]),
            "consume": lambda: actor.client.consume(step["count"]),
            "queue": lambda: actor.add_to_queue(step["count"]),
        }
        actor.attempt(calls[step["do"]])
        self._pass(_MOMENT)
        _compare(actor.outcome, step.get("outcome", "done"))

    def check(self, step: Step) -> None:
        if step["expect"] == "requests":
            count = self._site.ask("requests", path=step["path"])
            if not step["from"] <= count <= step["to"]:
                raise AssertionError(f"{count} requests")
            return
        actor = self._actor(step)
        finds: Dict[str, Callable[[], object]] = {
            "events": lambda: _take_all(actor.events),
            "held": lambda: actor.slot is not None and actor.slot.is_held,
            "feature_held": lambda: actor.features[step["code"]].is_held,
            "failed": lambda: actor.outcome,
            "in_use": lambda: self._site.ask("in_use"),
            "total": lambda: self._site.ask("total"),
            "grants": lambda: self._site.ask("grants"),
            "queued": lambda: None if actor.queue is None else len(actor.queue.list()),
        }
        wanted = next(step[name] for name in ("is", "are", "code") if name in step)
        _compare(finds[step["expect"]](), wanted)

    def _actor(self, step: Step) -> Actor:
        name = step.get("client", "nobody")
        if name not in self._actors:
            self._actors[name] = Actor(self._world, self._site, name)
        return self._actors[name]

    def _pass(self, seconds: float) -> None:
        self._world.run(self._world.now + seconds)

    def _exit(self, step: Step) -> None:
        self._world.start(self._actor(step).exit)
        self._pass(_MOMENT)
        self._actor(step).start_again()

    def _sleep(self, step: Step) -> None:
        self._actor(step).machine.sleep()
        self._pass(step["seconds"])
        self._actor(step).machine.wake()

    def _pause(self, step: Step) -> None:
        self._actor(step).machine.pause()
        self._pass(step["seconds"])
        self._actor(step).machine.resume()


def _compare(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def _take_all(events: List[str]) -> List[str]:
    taken = list(events)
    events.clear()
    return taken


def _play(scenario: Mapping[str, Any]) -> None:
    with World() as world:
        play = Play(world, scenario)
        for number, step in enumerate(scenario["steps"], 1):
            try:
                if "do" in step:
                    play.act(step)
                else:
                    play.check(step)
            except Exception as error:
                raise AssertionError(f"step {number}, {json.dumps(step)}: {error}") from error


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        fault = None
        try:
            _play(json.loads(line))
        except Exception:
            fault = traceback.format_exc()
        print(json.dumps({"ended": fault}), flush=True)


if __name__ == "__main__":
    main()
