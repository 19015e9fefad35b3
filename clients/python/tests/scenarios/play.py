"""
Plays scenarios of `clients/scenarios`, whose README says what each step means. A scenario comes as a line of
JSON; the last line of its play says what is wrong, or that nothing is.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ..simulation.machine import MemoryStorage
from ..simulation.world import World
from .actor import Actor
from .site import Site

Step = Mapping[str, Any]

# Time for requests that a step has caused.
_MOMENT = 0.001


class Play:
    """The cast and the stage of one scenario."""

    def __init__(self, world: World, scenario: Mapping[str, Any]) -> None:
        self.was_killed = False
        self._world = world
        self._kill_at = scenario["kill_at"]
        self._facts: Mapping[str, Mapping[str, Any]] = scenario.get("clients", {})
        self._disks: Dict[str, MemoryStorage] = {}
        self._site = Site(world, scenario["servers"], scenario["vendor_key"])
        self._actors: Dict[str, Actor] = {}
        self._actions: Dict[str, Callable[[Step], None]] = {
            "exit": self._exit,
            "crash": lambda step: self._actor(step).start_again(),
            "pass": lambda step: self._pass(step["seconds"]),
            "sleep": self._sleep,
            "pause": self._pause,
            "set_clock": self._set_clock,
            "storage": self._set_storage,
            "copy_storage": self._copy_storage,
            "replace": lambda step: self._site.ask("replace", name=step["name"], by=step["by"]),
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
            "check": actor.check,
            "give_back": actor.give_back,
            "give_back_all": actor.give_back_all,
            "feature": lambda: actor.take_feature(step["code"]),
            "consume": lambda: actor.client.consume(step["count"], key=step.get("key")),
            "queue": lambda: actor.add_to_queue(step["count"]),
            "open_queue": actor.open_queue,
        }
        if step.get("kill"):
            actor.machine.kill_at(self._kill_at)
        actor.attempt(calls[step["do"]])
        self._pass(_MOMENT)
        if actor.machine.is_killed:
            self.was_killed = True
            actor.start_again()
        else:
            _compare_any(actor.outcome, _list_of(step.get("outcome", "done")))
        actor.machine.kill_at(None)

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
            "in_use": lambda: self._site.ask("in_use", server=step.get("server")),
            "total": lambda: self._site.ask("total", server=step.get("server")),
            "grants": lambda: self._site.ask("grants"),
            "queued": lambda: None if actor.queue is None else len(actor.queue.list()),
            "others": lambda: None if actor.queue is None else len(actor.queue.list_others()),
            "borrows": lambda: len(actor.client.borrows()),
        }
        found = finds[step["expect"]]()
        if "among" in step:
            _compare_any(found, step["among"])
        else:
            _compare_any(found, [next(step[name] for name in ("is", "are", "code") if name in step)])

    def _actor(self, step: Step) -> Actor:
        name = step.get("client", "nobody")
        if name not in self._actors:
            facts = self._facts.get(name, {})
            disk = self._disks.setdefault(facts.get("machine", name), MemoryStorage())
            self._actors[name] = Actor(self._world, self._site, name, facts, disk)
        return self._actors[name]

    def _set_clock(self, step: Step) -> None:
        """Of the computer, so of all of its programs."""
        disk = self._actor(step).machine.disk
        for actor in self._actors.values():
            if actor.machine.disk is disk:
                actor.machine.set_wall_clock(step["seconds"])

    def _set_storage(self, step: Step) -> None:
        self._actor(step).machine.disk.set_state(step["state"], step.get("after_writes", 0))

    def _copy_storage(self, step: Step) -> None:
        texts = self._actor({"client": step["to"]}).machine.disk.texts
        texts.clear()
        texts.update(self._actor(step).machine.disk.texts)

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


def _compare_any(found: object, right: Sequence[object]) -> None:
    if found not in right:
        raise AssertionError(f"{found!r} instead of {' or '.join(map(repr, right))}")


def _list_of(value: Any) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _take_all(events: List[str]) -> List[str]:
    taken = list(events)
    events.clear()
    return taken


def _play(scenario: Mapping[str, Any]) -> bool:
    """Whether a program was killed."""
    with World() as world:
        play = Play(world, scenario)
        for number, step in enumerate(scenario["steps"], 1):
            try:
                if "do" in step:
                    play.act(step)
                else:
                    play.check(step)
            except Exception as error:
                place = f"step {number}, {json.dumps(step)}, killed at {scenario['kill_at']}"
                raise AssertionError(f"{place}: {error}") from error
        return play.was_killed


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        fault, was_killed = None, False
        try:
            was_killed = _play(json.loads(line))
        except Exception:
            fault = traceback.format_exc()
        print(json.dumps({"ended": fault, "was_killed": was_killed}), flush=True)


if __name__ == "__main__":
    main()
