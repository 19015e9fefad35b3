from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, Callable, Dict, List, Mapping, Optional

from berth_client import BerthError, Borrow, Client, CountQueue, FeatureSlot, Slot
from berth_client.duration import Duration

from ..simulation.machine import Machine, MemoryStorage
from ..simulation.world import World
from .site import Site


class Actor:
    """
    A user of a scenario on a machine of their own. A program may end, and the next one finds what it stored.
    """

    def __init__(
        self, world: World, site: Site, name: str, facts: Mapping[str, Any], disk: MemoryStorage
    ) -> None:
        """`facts`: what the scenario says of the client."""
        hostname = facts.get("machine", name)
        self.machine = Machine(world, name, Random(1).random, site.network, hostname=hostname, disk=disk)
        # Since they were last looked at.
        self.events: List[str] = []
        # How the last call has ended: `done`, the code of its error, or `waiting`.
        self.outcome = "done"
        self._world = world
        self.slot: Optional[Slot] = None
        self.borrow: Optional[Borrow] = None
        self.queue: Optional[CountQueue] = None
        self.features: Dict[str, FeatureSlot] = {}
        self._make_client = partial(
            Client,
            [f"http://{server}.test" for server in facts.get("servers", site.servers)],
            "cad",
            facts.get("user", name),
            vendor_key=site.vendor_key,
            device=facts.get("device"),
            renew_every=facts.get("renew_every"),
            environment=self.machine,
        )
        self.client = self._make_client()

    def attempt(self, work: Callable[[], object]) -> None:
        self.outcome = "waiting"

        def run() -> None:
            try:
                work()
                self.outcome = "done"
            except BerthError as error:
                self.outcome = error.code

        self._world.start(run)

    def acquire(self, wait: Duration) -> None:
        slot = self.client.acquire(wait)
        self.slot = slot
        slot.on("unreachable", lambda _: self.events.append("unreachable"))
        slot.on("reachable", lambda _: self.events.append("reachable"))
        slot.on("denied", lambda _: self.events.append("denied"))
        slot.on("lost", lambda _: self.events.append("lost"))
        slot.on("restored", lambda _: self.events.append("restored"))

    def release(self) -> None:
        assert self.slot is not None
        self.slot.release()

    def take_borrow(self, hours: int) -> None:
        self.borrow = (self.slot or self.client).borrow(f"{hours}h")

    def resume(self) -> None:
        self.borrow = self.client.resume()

    def give_back(self) -> None:
        assert self.borrow is not None
        self.borrow.give_back()

    def check(self) -> None:
        assert self.borrow is not None
        self.borrow.check()

    def give_back_all(self) -> None:
        """Tries all, and fails as the first one that fails."""
        errors: List[BerthError] = []
        for borrow in self.client.borrows():
            try:
                borrow.give_back()
            except BerthError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def open_queue(self) -> None:
        self.queue = self.client.open_queue()

    def take_feature(self, code: str) -> None:
        assert self.slot is not None
        self.features[code] = self.slot.feature(code)

    def add_to_queue(self, count: int) -> None:
        if self.queue is None:
            self.queue = self.client.open_queue()
        self.queue.add(count)

    def exit(self) -> None:
        for guard in list(self.machine.guards):
            guard.release_in_time(2)

    def start_again(self) -> None:
        """The next program is another one."""
        self.machine.restart()
        self.client = self._make_client()
        self.slot = self.borrow = self.queue = None
        self.features = {}
