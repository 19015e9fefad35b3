from __future__ import annotations

import json
import unittest
from typing import Callable, Dict

from berth_client import Client
from berth_client.environment import NotSentError, WireAnswer, WireRequest
from berth_client.forking import begin_in_child

from .simulation.lending_server import LendingServer
from .simulation.machine import Answered, Machine
from .simulation.world import World


STORE_ID = "s" * 43


def tells_store(request: WireRequest, done: Answered, store_id: str = STORE_ID) -> bool:
    """Answers for a server that is asked which data it has. Whether it was."""
    is_asked = request.method == "GET" and request.url.endswith("/.well-known/jwks.json")
    if is_asked:
        done(WireAnswer(200, json.dumps({"keys": [], "store_id": store_id}), None))
    return is_asked


class WorldTest(unittest.TestCase):
    """Tests in simulated time, with a server under the names `one` and `two`."""

    def setUp(self) -> None:
        self.world = World()
        self.addCleanup(self.world.close)
        self.server = LendingServer(self.world, slots=1, timeout=600)
        self.is_down: Dict[str, bool] = {}
        self.machine = Machine(self.world, "ws-7", lambda: 0.5, self._network)
        self.client = Client("http://one.test", "cad", "ada", environment=self.machine)

    def play(self, work: Callable[[], object], seconds: float = 1.0) -> None:
        """Does this in a thread of the program, while time passes."""
        self.world.start(work)
        self.world.run(self.world.now + seconds)

    def fork(self) -> None:
        """From now on, the program is a child process of what it was."""
        self.machine.process_id += 1
        begin_in_child()

    def count_requests(self, path: str) -> int:
        return sum(1 for called, _ in self.server.requests if called == path)

    def _network(self, request: WireRequest, done: Answered) -> None:
        name = request.url.split("/")[2].split(".")[0]
        if self.is_down.get(name):
            done(NotSentError("refused"))
        elif not tells_store(request, done):
            done(self.server.answer(request))
