from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from .errors import BerthError, DeniedError, UnreachableError
from .events import Announcing
from .lease import Account, Lease, SlotRequests
from .refusals import NOT_HELD
from .renewal import Renewal


class FeatureSlot(Announcing):
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
        self._renewal = Renewal(account, self._register, self._register(True))
        self._events = self._renewal.events

    @property
    def code(self) -> str:
        return str(self._target["feature"])

    @property
    def is_held(self) -> bool:
        return self._is_license_held() and self._renewal.held_for > 0

    def release(self) -> bool:
        """Returns whether the server has confirmed it."""
        if self._renewal.is_stopped:
            return True
        self._renewal.stop()
        self._on_end()
        try:
            self._account.servers.post("featureRelease", self._target)
            return True
        except UnreachableError:
            return False
        except DeniedError as error:
            return error.code in NOT_HELD

    def __enter__(self) -> FeatureSlot:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _start(self) -> None:
        self._renewal.start()

    def _end(self) -> None:
        """Returning the slot of the license returns this one, too."""
        self._renewal.stop(timeout=0)

    def _lose_with_license(self, error: Optional[BerthError]) -> None:
        self._renewal.lose("license", error)

    def _renew_now(self) -> None:
        self._renewal.renew_now()

    def _register(self, in_doubt: bool) -> Lease:
        return self._requests.send("featureRegister", self._target, in_doubt=in_doubt).lease
