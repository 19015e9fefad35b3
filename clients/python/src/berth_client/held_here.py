"""What this program holds: all that is the same slot to the server ends together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, Optional, Tuple
from weakref import WeakKeyDictionary

from .borrow_file import BorrowFile, BorrowRecord
from .environment import Environment
from .errors import BerthError
from .forking import Locked

# Gets a borrow that was given back, and whether the server has got its slot back by that.
EndWith = Callable[[BorrowFile, BorrowRecord, bool], object]
_Name = Tuple[int, str, str]


@dataclass
class _Held:
    # By process, user and product; `None` while a slot is asked for. What the parent holds is not held here.
    slots: Dict[_Name, Optional[EndWith]] = field(default_factory=dict)
    # How often each borrow was given back, by its name in the storage.
    returns: Dict[str, int] = field(default_factory=dict)


class Place:
    """The right to hold the slot of a user in this program."""

    def __init__(self, slots: Dict[_Name, Optional[EndWith]], name: _Name) -> None:
        self._slots = slots
        self._name = name

    def fill(self, end_with: EndWith) -> None:
        with _places._lock:
            # The program may have ended meanwhile.
            if self._name in self._slots:
                self._slots[self._name] = end_with

    def let_go(self) -> None:
        with _places._lock:
            self._slots.pop(self._name, None)


_places = Locked()
_held: "WeakKeyDictionary[Environment, _Held]" = WeakKeyDictionary()


def hold_here(environment: Environment, user: str, product: str) -> Place:
    """
    A user has one slot of a license, however often it is asked for. If one program had it twice, the first
    return would take it from the other.
    """
    name = (environment.process_id, user, product)
    with _places._lock:
        slots = _held_in(environment).slots
        if name in slots:
            raise BerthError(
                "slot_in_use_here", f'This program already has a slot for "{user}" of "{product}".'
            )
        slots[name] = None
    return Place(slots, name)


def end_here(file: BorrowFile, record: BorrowRecord, was_returned: bool) -> None:
    with _places._lock:
        held = _held_in(file.account.environment)
        held.returns[file.name] = held.returns.get(file.name, 0) + 1
        name = (file.account.environment.process_id, record.user, record.product)
        end_with = held.slots.get(name)
    if end_with is not None:
        end_with(file, record, was_returned)


def count_returns(file: BorrowFile) -> int:
    with _places._lock:
        return _held_in(file.account.environment).returns.get(file.name, 0)


def _held_in(environment: Environment) -> _Held:
    return _held.setdefault(environment, _Held())
