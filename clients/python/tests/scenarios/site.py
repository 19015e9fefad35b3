from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Optional, TextIO

from berth_client.environment import NotSentError, WireAnswer, WireRequest

from ..simulation.machine import Answered
from ..simulation.world import World


class Site:
    """
    The servers of a scenario. They are real and run in another process, which is asked in lines of JSON; no
    simulated time passes meanwhile.
    """

    def __init__(
        self,
        world: World,
        servers: List[str],
        vendor_key: Optional[str],
        asks: TextIO = sys.stdout,
        told: TextIO = sys.stdin,
    ) -> None:
        self.vendor_key = vendor_key
        self.servers = servers
        self._world = world
        self._asks = asks
        self._told = told

    def ask(self, question: str, **details: Any) -> Any:
        message: Dict[str, Any] = {"ask": question, "now_ms": self._world.now * 1000, **details}
        self._asks.write(json.dumps(message) + "\n")
        self._asks.flush()
        return json.loads(self._told.readline())

    def network(self, request: WireRequest, done: Answered) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = request.body.decode()
        answer = self.ask("request", method=request.method, url=request.url, headers=headers, body=body)
        if answer == "refused":
            done(NotSentError("refused"))
        elif answer is not None:
            done(WireAnswer(answer["status"], answer["text"], answer["date"], answer.get("retryAfter")))
