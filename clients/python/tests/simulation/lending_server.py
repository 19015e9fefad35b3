from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Tuple

from berth_client.environment import WireAnswer, WireRequest

from .world import World

_START = datetime(2030, 1, 15, 12, tzinfo=timezone.utc)


class LendingServer:
    """Lends slots by the rules of `docs/leases.md`, and nothing else."""

    def __init__(self, world: World, slots: int, timeout: float, tells_end: bool = True) -> None:
        self.is_down = False
        self.requests: List[Tuple[str, WireRequest]] = []
        self._world = world
        self._slots = slots
        self._timeout = timeout
        self._tells_end = tells_end
        self._ends_at: Dict[str, float] = {}

    @property
    def users(self) -> List[str]:
        self._drop_ended()
        return sorted(self._ends_at)

    def restart(self) -> None:
        """Live slots get a full timeout, because their users could not renew them."""
        self.is_down = False
        for user in self.users:
            self._renew(user)

    def answer(self, request: WireRequest) -> WireAnswer:
        path = request.url.rsplit("/", 1)[1]
        self.requests.append((path, request))
        user = json.loads(request.body)["user"]
        self._drop_ended()
        if path == "register":
            return self._register(user)
        if path == "unregister":
            return self._unregister(user)
        return self._reply(404, {"status": 404, "code": "not_found", "message": path})

    def _register(self, user: str) -> WireAnswer:
        if user not in self._ends_at and len(self._ends_at) >= self._slots:
            next_free_at = _to_text(min(self._ends_at.values()))
            fields = {"status": 400, "code": "floating_not_available", "next_free_at": next_free_at}
            return self._reply(400, fields)
        self._renew(user)
        license: Dict[str, Any] = {
            "license_id": 1,
            "license_type": "perpetual",
            "floating_timeout": self._timeout / 60,
        }
        if self._tells_end:
            license.update(slot_ends_in_seconds=self._timeout, renew_in_seconds=self._timeout / 3)
        return self._reply(200, license)

    def _unregister(self, user: str) -> WireAnswer:
        if self._ends_at.pop(user, None) is not None:
            return WireAnswer(200, "user_unregistered", None)
        return self._reply(400, {"status": 400, "code": "device_not_found", "message": user})

    def _renew(self, user: str) -> None:
        self._ends_at[user] = self._world.now + self._timeout

    def _drop_ended(self) -> None:
        self._ends_at = {user: at for user, at in self._ends_at.items() if at > self._world.now}

    def _reply(self, status: int, fields: Dict[str, Any]) -> WireAnswer:
        # More precise than the header of a real server, so that others ask for the slot as early as possible.
        return WireAnswer(status, json.dumps(fields), _to_text(self._world.now))


def _to_text(seconds: float) -> str:
    return (_START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
