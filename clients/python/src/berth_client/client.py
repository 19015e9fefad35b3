from __future__ import annotations

import math
from dataclasses import replace
from typing import List, Optional, Sequence, Union

from .borrow import Borrow, StoredBorrow
from .borrowing import Until, borrow_as, list_borrows, resume_borrow
from .consumption import Counter, Total, count_now
from .count_queue import CountQueue
from .duration import Duration, parse_duration
from .environment import Environment, Host, Signal, Storage
from .errors import BerthError
from .forking import Locked
from .lease import MARGIN, Account, Margin, SlotRequests
from .machine import MACHINE
from .proof import Verifier
from .servers import Servers, Token
from .slot import OnWait, Slot, acquire_as
from .storage import SafeStorage
from .timing import SteadyClock
from .tls import PathText

_REQUEST_TIMEOUT = 10.0
_RETRY_FOR = 30.0
# More often, renewals of many clients would be a load.
_SHORTEST_PACE = 10.0
_SUFFIX_LENGTH = 8


class Client(Locked):
    """
    One user of one product. Nothing is sent yet. It may be shared by threads.

    `server` is the address of Berth, or of several servers with the same database, the preferred one first.
    `user` is who uses the slot; by default, a name that no other program has. `token` is needed where the
    server requires one; a function is called before every request. `vendor_key` is the vendor's public key as
    PEM, or a list of keys: with it, servers must prove that the vendor has licensed them, and borrows that
    they have not been changed. `ca` is the certificate of the authority to trust instead of those of the
    system, as PEM or as a file; `cert` and `key` are files with the certificate of this program, for servers
    that ask for one. `renew_every` renews at least this often, so that a slot that an administrator has given
    to another user is noticed sooner; at least `10s`. `storage` replaces the place where borrows and queued
    counts are kept, and `device` what identifies the computer that a borrow belongs to.
    """

    def __init__(
        self,
        server: Union[str, Sequence[str]],
        product: str,
        user: Optional[str] = None,
        *,
        license_id: Optional[int] = None,
        user_info: Optional[str] = None,
        token: Optional[Token] = None,
        vendor_key: Union[str, Sequence[str], None] = None,
        ca: Optional[PathText] = None,
        cert: Optional[PathText] = None,
        key: Optional[PathText] = None,
        request_timeout: Duration = _REQUEST_TIMEOUT,
        renew_every: Optional[Duration] = None,
        storage: Optional[Storage] = None,
        device: Optional[str] = None,
        environment: Optional[Environment] = None,
        margin: Margin = MARGIN,
    ) -> None:
        super().__init__()
        if not isinstance(product, str) or product == "":
            raise BerthError("invalid_option", "There is no product.", 'Give "product": the product code.')
        if user is not None and (not isinstance(user, str) or user.strip() == ""):
            problem = "The user is empty." if user == "" else f"{user!r} is not a user."
            raise BerthError("invalid_option", problem, 'Give "user" as a text, or leave it out.')
        if device is not None and (not isinstance(device, str) or device.strip() == ""):
            problem = '"device" is empty or not a text.'
            raise BerthError("invalid_option", problem, "Give one, or leave it out.")
        env = MACHINE if environment is None else environment
        clock = SteadyClock(env)
        is_list = isinstance(server, Sequence) and not isinstance(server, (str, bytes))
        urls = list(server) if is_list else [] if server is None else [str(server)]
        timeout = parse_duration("request_timeout", request_timeout)
        servers = Servers(env, clock, urls, token, timeout, ca, cert, key)
        self._given_user = user
        self._has_acquired = False
        # The last one.
        self._slot: Optional[Slot] = None
        self._account = Account(
            environment=env,
            clock=clock,
            servers=servers,
            storage=SafeStorage(env.storage if storage is None else storage),
            product=product,
            user=_describe_program(env) if user is None else user,
            instance=env.create_id(),
            license_id=license_id,
            user_info=user_info,
            device=device,
            verifier=None if vendor_key is None else Verifier(vendor_key),
            margin=margin,
            renew_every=_read_pace(renew_every),
        )

    def __repr__(self) -> str:
        return f"<Client of {self._account.product!r} for {self.user!r}>"

    @property
    def user(self) -> str:
        return self._account.user

    def acquire(
        self, wait: Duration = 0, *, on_wait: Optional[OnWait] = None, cancel: Optional[Signal] = None
    ) -> Slot:
        """
        Takes a slot that renews itself until it is released. Raises a `DeniedError` if there is none. `wait`
        is how long to wait for a free slot, such as `5m`; `on_wait` is called with the reason before every
        pause. `cancel` is a `threading.Event` that ends the wait.
        """
        with self._lock:
            if self._has_acquired:
                self._rename()
            self._has_acquired = True
            account = self._account
        self._slot = acquire_as(account, wait, on_wait, cancel)
        return self._slot

    async def acquire_async(self, wait: Duration = 0, *, on_wait: Optional[OnWait] = None) -> Slot:
        """
        Does the same while the event loop goes on: `async with await client.acquire_async() as slot`. `on_wait`
        is called on another thread. If the task is cancelled, the slot is not kept.
        """
        import asyncio

        environment, loop = self._account.environment, asyncio.get_running_loop()
        cancel = environment.create_signal()
        # Only the main thread can listen to signals, and the slot is taken on another one.
        unguard = environment.guard_exit(_Bystander())
        taking = loop.run_in_executor(None, lambda: self.acquire(wait, on_wait=on_wait, cancel=cancel))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            cancel.set()
            taking.add_done_callback(
                lambda late: late.exception() or loop.run_in_executor(None, late.result().release)
            )
            raise
        finally:
            unguard()

    def borrow(self, until: Optional[Until] = None) -> Borrow:
        """Takes a slot and keeps it without network, until the date or as long as the license allows."""
        seat = self._seat
        borrow, _ = borrow_as(seat, SlotRequests(seat), until)
        return borrow

    def resume(self) -> Borrow:
        """
        Finds the borrow of an earlier start. Raises a `BorrowError` if there is none, or it cannot be used.
        """
        return resume_borrow(self._seat, self._given_user is None)

    def borrows(self) -> List[StoredBorrow]:
        """
        All that this user has borrowed on this computer, also what cannot be used now: from another server,
        while the clock is wrong, or interrupted. Each can be given back.
        """
        return list_borrows(self._seat, self._given_user is None)

    def consume(
        self,
        count: int = 1,
        *,
        feature: Optional[str] = None,
        key: Optional[str] = None,
        retry_for: Duration = _RETRY_FOR,
    ) -> Total:
        """
        Counts now, once, however often the request has to be repeated: on the license, or on a feature.
        Counts with the same `key` count once, for a day, a license and, if one was given, a user; by default,
        every call has its own. `retry_for` is how long to try if no server answers.
        """
        return count_now(self._account, self._counter().describe(count, feature, key), retry_for)

    def open_queue(self) -> CountQueue:
        """A queue for counts that must not be lost while no server can be reached."""
        return CountQueue(self._account, self._counter)

    def _counter(self) -> Counter:
        """Counts go to the license of the slot, if there is one."""
        slot = self._slot
        license_id = None if slot is None or slot.is_released else slot.license_id
        if license_id is None:
            license_id = self._account.license_id
        return Counter(self._account, self._given_user, license_id)

    def _rename(self) -> None:
        """
        A return that got no answer may reach the server late. It must not return the next slot.
        """
        environment = self._account.environment
        user = _describe_program(environment) if self._given_user is None else self._given_user
        self._account = replace(self._account, user=user, instance=environment.create_id())

    def _begin_in_child(self) -> None:
        """A child process is another program than its parent."""
        super()._begin_in_child()
        self._has_acquired = True

    @property
    def _seat(self) -> Account:
        """Borrows need a user that is the same at the next start of the program."""
        user = self._given_user or _describe_seat(self._account.environment.host)
        return replace(self._account, user=user)


def acquire(
    server: Union[str, Sequence[str]],
    product: str,
    user: Optional[str] = None,
    *,
    wait: Duration = 0,
    on_wait: Optional[OnWait] = None,
    cancel: Optional[Signal] = None,
    license_id: Optional[int] = None,
    user_info: Optional[str] = None,
    token: Optional[Token] = None,
    vendor_key: Union[str, Sequence[str], None] = None,
    ca: Optional[PathText] = None,
    cert: Optional[PathText] = None,
    key: Optional[PathText] = None,
    request_timeout: Duration = _REQUEST_TIMEOUT,
    renew_every: Optional[Duration] = None,
    storage: Optional[Storage] = None,
    device: Optional[str] = None,
) -> Slot:
    """
    Takes a slot that renews itself until it is released. Raises a `DeniedError` if there is none. The options
    are those of `Client`, and of its `acquire()`.
    """
    client = Client(
        server,
        product,
        user,
        license_id=license_id,
        user_info=user_info,
        token=token,
        vendor_key=vendor_key,
        ca=ca,
        cert=cert,
        key=key,
        request_timeout=request_timeout,
        renew_every=renew_every,
        storage=storage,
        device=device,
    )
    return client.acquire(wait, on_wait=on_wait, cancel=cancel)


class _Bystander:
    def release_in_time(self, seconds: float) -> None:
        """There is nothing to return."""


def _read_pace(given: Optional[Duration]) -> float:
    if given is None:
        return math.inf
    pace = parse_duration("renew_every", given)
    if pace < _SHORTEST_PACE:
        problem = f'"renew_every" is too short: {given}.'
        raise BerthError("invalid_option", problem, 'Give at least "10s", or leave it out.')
    return pace


def _describe_program(environment: Environment) -> str:
    """
    The default user: who runs the program, where, and which of several programs it is. A user has one slot,
    which programs with the same user share.
    """
    suffix = environment.create_id().replace("-", "")[:_SUFFIX_LENGTH]
    return f"{_describe_seat(environment.host)}/{environment.process_id}-{suffix}"


def _describe_seat(host: Host) -> str:
    """The user of a borrow: it belongs to a person on a machine, and outlasts the program."""
    return f"{host.os_user or 'somebody'}@{host.hostname or 'somewhere'}"
