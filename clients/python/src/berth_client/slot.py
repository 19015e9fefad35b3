from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Callable, Dict, Mapping, Optional

from .borrow import Borrow
from .borrow_file import BorrowFile, BorrowRecord
from .borrowing import Until, borrow_as
from .duration import Duration, parse_duration
from .ending import Ending
from .environment import Signal
from .errors import BerthError, DeniedError, ProofError, SlotLostError, UnreachableError
from .events import LOG, Announcing, Lost
from .feature_slot import FeatureSlot
from .forking import Locked
from .held_here import hold_here
from .lease import (
    LONGEST_RELEASE,
    Account,
    Lease,
    ProvenAnswer,
    SlotRequests,
    holder_of,
    license_id_of,
    return_slot,
    target_of,
)
from .proof import Grant
from .renewal import Renewal, ask_again_in

# A short answer is enough to renew; servers that do not know the header send the whole license.
_BRIEFLY = {"Prefer": "return=minimal"}


class Slot(Locked, Announcing, Ending):
    """A slot of a license that renews itself until it is released."""

    def __init__(
        self, account: Account, requests: SlotRequests, first: ProvenAnswer, let_go: Callable[[], None]
    ) -> None:
        self._account = account
        super().__init__()
        self._requests = requests
        self._let_go = let_go
        self._license = first.answer.fields
        self._license_id = license_id_of(first.answer)
        # The address of the server that has answered last.
        self._server = first.answer.server
        # What its borrow is stored as.
        self._borrow_name: Optional[str] = None
        self._grant = first.grant
        self._features: Dict[str, FeatureSlot] = {}
        self._was_lost = account.environment.create_signal()
        self._is_released = False
        # Set when the server has got the slot back, or cannot be reached.
        self._was_returned = account.environment.create_signal()
        self._is_confirmed = False
        self._subject = f'"{account.product}" for {account.user}'
        self._renewal = Renewal(account, self._subject, self._register, first.lease)
        self._events = self._renewal.events
        self.on("lost", self._lose_features)
        self.on("restored", lambda _: self._renew_features())
        # First of all: an interrupt may come at any moment.
        self._unguard = account.environment.guard_exit(self)
        self._renewal.start()
        LOG.info("%s: taken", self._subject)

    def __repr__(self) -> str:
        state = "released" if self._is_released else f"held for {self.held_for:.0f} s"
        return f"<Slot of {self.product!r} for {self.user!r}, {state}>"

    @property
    def product(self) -> str:
        return self._account.product

    @property
    def user(self) -> str:
        return self._account.user

    @property
    def license_id(self) -> Optional[int]:
        return self._license_id

    @property
    def license(self) -> Mapping[str, Any]:
        """The license as the server describes it, under the server's names."""
        return self._license

    @property
    def grant(self) -> Optional[Grant]:
        """What a server of the vendor has signed last; `None` without `vendor_key`."""
        return self._grant

    @property
    def is_held(self) -> bool:
        """Whether the slot may be used now. Ask before every piece of work."""
        return self._renewal.held_for > 0

    @property
    def is_released(self) -> bool:
        return self._is_released

    @property
    def held_for(self) -> float:
        """How many seconds it may be used without another answer of the server."""
        return self._renewal.held_for

    @property
    def borrowed_until(self) -> Optional[datetime]:
        """`None` if it is not borrowed."""
        return self._renewal.lease.borrowed_until

    def assert_held(self) -> None:
        """Raises a `SlotLostError` if the slot may not be used now."""
        self._renewal.assert_held()

    def wait_until_lost(self, timeout: Optional[float] = None) -> bool:
        """Returns when the slot has been lost for the first time, or with `False` after `timeout` seconds."""
        return self._was_lost.wait(timeout)

    def feature(self, code: str) -> FeatureSlot:
        """Takes a slot of a feature, too. It is kept and lost together with this one."""
        if not isinstance(code, str) or code.strip() == "":
            raise BerthError("invalid_option", "There is no feature.", "Give the code of the feature.")
        if self._is_released:
            raise SlotLostError("slot_released")
        known = self._features.get(code)
        if known is not None:
            return known
        target = {**target_of(self._account, self._license_id), "feature": code}
        taken = FeatureSlot(self._account, target, lambda: self.is_held, lambda: self._forget_feature(code))
        with self._lock:
            if self._is_released:
                raise SlotLostError("slot_released")
            # Another thread may have taken it meanwhile.
            slot = self._features.setdefault(code, taken)
        if slot is taken:
            slot._start()
        return slot

    def borrow(self, until: Optional[Until] = None) -> Borrow:
        """Keeps the slot without network, until the date or as long as the license allows."""
        if self._is_released:
            raise SlotLostError("slot_released")
        account = replace(self._account, license_id=self._license_id)
        is_returned = False

        def lose() -> None:
            """Others may take it while it is returned, so it may not be used meanwhile."""
            nonlocal is_returned
            is_returned = True
            self._renewal.lose("taken", None)

        try:
            borrow, lease = borrow_as(account, self._requests, until, lose)
        finally:
            if is_returned:
                self._renewal.renew_now()
        self._renewal.accept(lease)
        self._borrow_name = borrow._file.name
        return borrow

    def _end_with(self, file: BorrowFile, record: BorrowRecord, was_returned: bool) -> None:
        """The application has given back a borrow of the same user."""
        license_id = record.license_id if record.lent is None else record.lent.license_id
        is_same = (
            was_returned
            and license_id == self._license_id
            and self._account.servers.is_known_as(record.binding, self._server)
        )
        if is_same or file.name == self._borrow_name:
            self.release()

    def release(self) -> bool:
        """
        Returns the slot and ends the renewals; a borrowed slot stays borrowed. Returns whether the server has
        confirmed it, after two seconds at most. If not, the slot becomes free when its time is over.
        """
        return self._release(LONGEST_RELEASE)

    def release_in_time(self, seconds: float) -> None:
        """For a program that ends: returns the slot, but takes no longer than this."""
        self._release(seconds)

    def _finish(self) -> object:
        return self.release()

    def _release(self, timeout: float) -> bool:
        with self._lock:
            is_first = not self._is_released
            self._is_released = True
            features = list(self._features.values())
        if not is_first:
            self._was_returned.wait(timeout)
            return self._is_confirmed
        try:
            for feature in features:
                feature._end()
            left = self._renewal.stop_in_time(timeout)
            self._unguard()
            self._is_confirmed = self.borrowed_until is not None or self._unregister(left)
        finally:
            self._let_go()
            self._was_returned.set()
        LOG.info("%s: %s", self._subject, "released" if self._is_confirmed else "released without an answer")
        return self._is_confirmed

    def _begin_in_child(self) -> None:
        """The slot has ended here, without a request: the parent goes on with it."""
        super()._begin_in_child()
        self._is_released = True
        self._was_lost = self._was_returned = self._account.environment.create_signal()
        self._was_lost.set()

    def _unregister(self, timeout: float) -> bool:
        try:
            return_slot(self._account, self._license_id, timeout)
            return True
        except (DeniedError, UnreachableError):
            return False

    def _register(self, in_doubt: bool) -> Lease:
        fields = holder_of(self._account, self._license_id)
        proven = self._requests.send("register", fields, _BRIEFLY, in_doubt)
        answer = proven.answer
        self._server = answer.server
        license_id = license_id_of(answer)
        self._license_id = self._license_id if license_id is None else license_id
        if "license_type" in answer.fields:
            self._license = answer.fields
        self._grant = proven.grant or self._grant
        return proven.lease

    def _lose_features(self, event: Lost) -> None:
        self._was_lost.set()
        for feature in list(self._features.values()):
            feature._lose_with_license(event.error)

    def _renew_features(self) -> None:
        for feature in list(self._features.values()):
            feature._renew_now()

    def _forget_feature(self, code: str) -> None:
        with self._lock:
            self._features.pop(code, None)


# Servers and proxies may close a connection on which nothing comes for a minute.
_LONGEST_IN_LINE = 50
_LONGEST_UNCANCELLED = 5
_FIRST_IN_LINE = 2

# How long a program that ends waits for an answer, before it returns what the server may have lent.
_LAST_ANSWER = 1.0
# The longest pause if the server does not say how long to pause.
_LONGEST_WAIT = 20.0


@dataclass(frozen=True)
class Waiting:
    """Why `acquire()` waits, and for how many seconds until it asks again."""

    error: BerthError
    retry_in: float


OnWait = Callable[[Waiting], object]


def acquire_as(account: Account, wait: Duration, on_wait: Optional[OnWait], cancel: Optional[Signal]) -> Slot:
    asking = _Asking(account)
    place = hold_here(account.environment, account.user, account.product)
    unguard = account.environment.guard_exit(asking)
    try:
        first = _ask_patiently(account, asking, wait, on_wait, cancel)
        slot = Slot(account, asking.requests, first, place.let_go)
        place.fill(slot._end_with)
        return slot
    except BaseException as error:
        place.let_go()
        if not isinstance(error, Exception):  # An interrupt, such as Ctrl-C.
            asking.release_in_time(LONGEST_RELEASE)
        raise
    finally:
        unguard()


class _Asking:
    """Asks for a slot. If the program ends meanwhile, a slot that the server may have lent is returned."""

    def __init__(self, account: Account) -> None:
        self.requests = SlotRequests(account)
        self._account = account
        self._process_id = account.environment.process_id
        # Set when the last request is over; `None` if the server has certainly lent nothing.
        self._asked: Optional[Signal] = None
        self._is_ending = False

    def ask(self, wait: int) -> ProvenAnswer:
        """
        Waits in the server's line for so many seconds, if it has one. Never comes back once the program ends.
        """
        headers = {"Prefer": f"wait={wait}"} if wait > 0 else None
        asked = self._asked = self._account.environment.create_signal()
        try:
            self._stop_if_ending()
            holder = holder_of(self._account, self._account.license_id)
            return self.requests.send("register", holder, headers, wait=wait)
        except DeniedError:
            self._asked = None
            raise
        finally:
            asked.set()
            self._stop_if_ending()

    def release_in_time(self, seconds: float) -> None:
        self._is_ending = True
        asked = self._asked
        if asked is None or self._process_id != self._account.environment.process_id:
            return
        asked.wait(min(_LAST_ANSWER, seconds / 2))
        # It may have been denied meanwhile.
        if self._asked is not None:
            self.requests.give_back(target_of(self._account, self._account.license_id), seconds / 2)

    def _stop_if_ending(self) -> None:
        if self._is_ending:
            self._account.environment.create_signal().wait()


def _ask_patiently(
    account: Account,
    asking: _Asking,
    wait: Duration,
    on_wait: Optional[OnWait],
    cancel: Optional[Signal],
) -> ProvenAnswer:
    environment = account.environment
    deadline = account.clock.read() + parse_duration("wait", wait)
    alarm = environment.create_signal() if cancel is None else cancel
    # A request under way cannot be cancelled. Between two of them, the place in the line is kept.
    longest = _LONGEST_IN_LINE if cancel is None else _LONGEST_UNCANCELLED
    failures = 0
    while not alarm.is_set():
        asked_at = account.clock.read()
        try:
            # Who wants to know hears soon that there is no free slot. The place in the line is kept.
            first = _FIRST_IN_LINE if failures == 0 and on_wait is not None else longest
            return asking.ask(int(min(deadline - asked_at, first)))
        except (DeniedError, UnreachableError, ProofError) as error:
            now = account.clock.read()
            left = deadline - now
            if not error.is_retryable or left <= 0:
                raise
            has_waited = now - asked_at >= 1 and isinstance(error, DeniedError) and error.has_waited
            again_in = ask_again_in(error, failures, _LONGEST_WAIT, environment.random)
            retry_in = 0.0 if has_waited else min(left, again_in)
            if on_wait is not None:
                on_wait(Waiting(error, retry_in))
        alarm.wait(retry_in)
        failures += 1
    raise BerthError("cancelled", "The wait for a slot was cancelled.", "")
