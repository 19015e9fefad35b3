from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from .ending import Ending
from .errors import BerthError, DeniedError, UnreachableError
from .events import Announcing
from .lease import LONGEST_RELEASE, Account, Lease, SlotRequests
from .refusals import NOT_HELD
from .renewal import Renewal


class FeatureSlot(Announcing, Ending):
    """A slot of a feature. It is held only while the slot of the license is."""

    def __init__(
        self,
        account: Account,
        target: Mapping[str, Any],
        is_license_held: Callable[[], bool],
        on_end: Callable[[], None],
    ) -> None:
        self._account = account
        self._target = target
        self._is_license_held = is_license_held
        self._on_end = on_end
        self._requests = SlotRequests(account, str(target["feature"]))
        subject = f'"{self.code}" of "{account.product}" for {account.user}'
        self._renewal = Renewal(account, subject, self._register, self._register(True))
        self._events = self._renewal.events

    @property
    def code(self) -> str:
        return str(self._target["feature"])

    @property
    def is_held(self) -> bool:
        return self._is_license_held() and self._renewal.held_for > 0

    def release(self) -> bool:
        """Returns whether the server has confirmed it, after two seconds at most."""
        if self._renewal.is_stopped:
            return True
        left = self._renewal.stop_in_time(LONGEST_RELEASE)
        self._on_end()
        try:
            self._account.servers.post("featureRelease", self._target, timeout=left)
            return True
        except UnreachableError:
            return False
        except DeniedError as error:
            return error.code in NOT_HELD

    def __repr__(self) -> str:
        return f"<FeatureSlot {self.code!r}, {'held' if self.is_held else 'not held'}>"

    def _finish(self) -> object:
        return self.release()

    def _start(self) -> None:
        self._renewal.start()

    def _end(self) -> None:
        """Returning the slot of the license returns this one, too."""
        self._renewal.stop()

    def _lose_with_license(self, error: Optional[BerthError]) -> None:
        self._renewal.lose("license", error)

    def _renew_now(self) -> None:
        self._renewal.renew_now()

    def _register(self, in_doubt: bool) -> Lease:
        return self._requests.send("featureRegister", self._target, in_doubt=in_doubt).lease
