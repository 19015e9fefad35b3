from __future__ import annotations

from typing import Callable, Optional, Union

from .environment import Signal
from .errors import BerthError, DeniedError, ProofError, SlotLostError, UnreachableError
from .events import SLOT_EVENTS, Denied, Listeners, Lost, LossReason, Reachable, Restored, Unreachable
from .forking import Locked
from .lease import Account, Lease, renew_at, safe_until
from .refusals import ENDS_BY_WAITING, NOT_HELD
from .timing import back_off

# How often the slot is looked at: on some systems timers do not notice that the machine slept.
_LONGEST_TIMER = 5.0
# A timer that is later than this tells of sleep.
_LATE_TIMER = 65.0
# A server that was away is found again within this time.
_LONGEST_PAUSE = 15.0
# Clients that wait for the end of one slot spread their requests over at least this time.
_SPREAD = 0.5
# A refusal that does not concern the slot itself changes only when a person acts.
_LONGEST_DENIED_PAUSE = 60.0


class Renewal(Locked):
    """
    Keeps a slot: renews it in time, knows until when it may be used, and asks for it again after a loss.
    Timers run on threads of their own; the lock is never held while a request is under way or a listener is
    called.
    """

    def __init__(
        self, account: Account, subject: str, register: Callable[[bool], Lease], lease: Lease
    ) -> None:
        """
        `register` gets whether the server is in doubt: a request has failed, the slot was lost or the machine
        has slept since the last answer, so the server may be another one.
        """
        super().__init__()
        self._account = account
        self._register = register
        self._lease = lease
        self._state = "held"
        self._next_at = self._renew_at(lease)
        self._failures = 0
        self._is_in_doubt = False
        self._wakes_at = 0.0
        self._slept = account.clock.slept
        self._is_unreachable = False
        self._denied_code: Optional[str] = None
        self._last_error: Optional[BerthError] = None
        # Set when the request that is under way is over.
        self._underway: Optional[Signal] = None
        self._cancel_timer: Callable[[], None] = lambda: None
        self.events = Listeners(SLOT_EVENTS, subject, account.environment.report_error)

    def start(self) -> None:
        with self._lock:
            self._plan()

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def held_for(self) -> float:
        """How long the slot may be used from now on; 0 if it is not held."""
        with self._lock:
            if self._state != "held":
                return 0.0
            return max(0.0, safe_until(self._lease, self._account.margin) - self._account.clock.read())

    @property
    def is_stopped(self) -> bool:
        return self._state == "stopped"

    def assert_held(self) -> None:
        if self.held_for > 0:
            return
        if self.is_stopped:
            raise SlotLostError("slot_released")
        raise SlotLostError("slot_lost") from self._last_error

    def accept(self, lease: Lease) -> None:
        """Takes over what an answer to another request said about the slot."""
        with self._lock:
            if self._state != "stopped":
                self._accept(lease)
        self.events.deliver()

    def renew_now(self) -> None:
        """Asks the server now, as after a loss."""
        with self._lock:
            self._next_at = self._account.clock.read()
            self._plan()

    def lose(self, reason: LossReason, error: Optional[BerthError]) -> None:
        with self._lock:
            self._lose(reason, error)
        self.events.deliver()

    def stop_in_time(self, seconds: float) -> float:
        """
        Ends the renewals. One that is under way could take the slot again, so its answer is waited for in the
        first half of the time. Returns what is left of the time.
        """
        started_at = self._account.clock.read()
        underway = self.stop()
        if underway is not None:
            underway.wait(seconds / 2)
        return seconds - (self._account.clock.read() - started_at)

    def stop(self) -> Optional[Signal]:
        """Ends the renewals. Returns the request that is under way."""
        with self._lock:
            self._state = "stopped"
            self._cancel_timer()
            return self._underway

    def _begin_in_child(self) -> None:
        super()._begin_in_child()
        self._state = "stopped"
        self._underway = None
        self._cancel_timer = lambda: None

    def _accept(self, lease: Lease) -> None:
        was_lost = self._state == "lost"
        self._lease = lease
        self._state = "held"
        held_for = self.held_for
        if held_for == 0:
            self._accept_too_late(was_lost)
            return
        self._failures = 0
        self._is_in_doubt = False
        self._denied_code = None
        self._last_error = None
        self._next_at = self._renew_at(lease)
        self._plan()
        self._accept_contact()
        if was_lost:
            self.events.announce("restored", Restored(held_for))

    def _renew_at(self, lease: Lease) -> float:
        return renew_at(lease, self._account.renew_every, self._account.environment.random)

    def _accept_too_late(self, was_lost: bool) -> None:
        """The answer took so long that the slot has ended again."""
        if was_lost:
            self._state = "lost"
        else:
            self._lose("ended", self._last_error)
        self._pause(_LONGEST_PAUSE)

    def _lose(self, reason: LossReason, error: Optional[BerthError]) -> None:
        if self._state != "held":
            return
        self._state = "lost"
        self._is_in_doubt = True
        self._last_error = error
        self.events.announce("lost", Lost(reason, error))

    def _plan(self) -> None:
        self._cancel_timer()
        if self._state == "stopped":
            return
        now = self._account.clock.read()
        due_in = self._next_at - now if self._underway is None else _LONGEST_TIMER
        ends_in = self.held_for if self._state == "held" else _LONGEST_TIMER
        delay = max(0.0, min(due_in, ends_in, _LONGEST_TIMER))
        self._wakes_at = now + delay
        self._cancel_timer = self._account.environment.set_timer(delay, self._wake)

    def _wake(self) -> None:
        """Looks at the end first: this may be much later than planned."""
        with self._lock:
            if self._state == "stopped":
                return
            self._notice_sleep()
            self._lose_if_ended()
            is_due = self._underway is None and self._account.clock.read() >= self._next_at
            if is_due:
                self._underway = self._account.environment.create_signal()
            self._plan()
        self.events.deliver()
        if is_due:
            self._attempt()

    def _notice_sleep(self) -> None:
        clock = self._account.clock
        if clock.read() > self._wakes_at + _LATE_TIMER or clock.slept != self._slept:
            self._is_in_doubt = True
        self._slept = clock.slept

    def _lose_if_ended(self) -> None:
        if self._state == "held" and self.held_for == 0:
            self._lose("ended", self._last_error)
            if not self._is_unreachable:
                self._next_at = self._account.clock.read()

    def _attempt(self) -> None:
        lease: Optional[Lease] = None
        failure: Optional[Exception] = None
        try:
            lease = self._register(self._is_in_doubt)
        except Exception as error:
            failure = error
        with self._lock:
            # Over before listeners hear of it: they may release the slot.
            if self._underway is not None:
                self._underway.set()
            self._underway = None
            if self._state == "stopped":
                return
            if lease is None:
                self._lose_if_ended()
            if lease is not None:
                self._accept(lease)
            elif isinstance(failure, (DeniedError, ProofError)):
                self._accept_denial(failure)
            elif isinstance(failure, UnreachableError):
                self._accept_silence(failure)
            else:
                # For example, the application cannot provide a token at the moment.
                self._pause(_LONGEST_PAUSE)
            self._plan()
        self.events.deliver()
        if failure is not None and not isinstance(failure, BerthError):
            self._account.environment.report_error(failure)

    def _accept_denial(self, error: Union[DeniedError, ProofError]) -> None:
        # The slot is gone. After any other refusal, it may be used to its end.
        is_taken = error.code in ENDS_BY_WAITING or error.code in NOT_HELD
        self._accept_contact()
        if is_taken:
            self._lose("taken", error)
        self._last_error = error
        if is_taken:
            self._pause(_LONGEST_PAUSE, error)
        else:
            self._pause(_LONGEST_DENIED_PAUSE)
        if self._denied_code == error.code:
            return
        self._denied_code = error.code
        self.events.announce("denied", Denied(error, self.held_for))

    def _accept_contact(self) -> None:
        if self._is_unreachable:
            self._is_unreachable = False
            self.events.announce("reachable", Reachable(self.held_for))

    def _accept_silence(self, error: UnreachableError) -> None:
        self._last_error = error
        self._pause(_LONGEST_PAUSE)
        if self._is_unreachable:
            return
        self._is_unreachable = True
        self.events.announce("unreachable", Unreachable(error, self.held_for))

    def _pause(self, longest: float, taken: Optional[BerthError] = None) -> None:
        """`taken`: the refusal of a slot that others may wait for, too."""
        pause = ask_again_in(taken, self._failures, longest, self._account.environment.random)
        self._next_at = self._account.clock.read() + pause
        self._failures += 1
        self._is_in_doubt = True


def ask_again_in(
    error: Optional[BerthError], failures: int, longest: float, random: Callable[[], float]
) -> float:
    """
    How many seconds to wait before asking for a slot again: about as long as the server says, which knows how
    many wait; without its word, longer each time. If a slot ends by itself before that, until then, and up to
    as long again, so that not all ask at the same moment.
    """
    wait, free_in = (error.retry_after, error.next_free_in) if isinstance(error, DeniedError) else (None, None)
    pause = back_off(failures, longest, random) if wait is None else wait * (0.5 + random())
    return pause if free_in is None else min(pause, free_in + random() * max(_SPREAD, wait or 0))
