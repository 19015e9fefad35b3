"""Takes, keeps and returns slots of a Berth license server."""

from .borrow import Borrow
from .client import Client, acquire
from .consumption import Blocked, CountQueue, QueuedCount, Refused, Sent, Total, Uncertain
from .environment import Storage
from .errors import (
    BerthError,
    BorrowError,
    DeniedError,
    FailedAttempt,
    ProofError,
    SlotLostError,
    StorageError,
    UnreachableError,
)
from .events import Denied, Lost, Reachable, Restored, Unreachable
from .machine import FileStorage
from .slot import FeatureSlot, Slot, Waiting

__all__ = [
    "BerthError",
    "Blocked",
    "Borrow",
    "BorrowError",
    "Client",
    "CountQueue",
    "Denied",
    "DeniedError",
    "FailedAttempt",
    "FeatureSlot",
    "FileStorage",
    "Lost",
    "ProofError",
    "QueuedCount",
    "Reachable",
    "Refused",
    "Restored",
    "Sent",
    "Slot",
    "SlotLostError",
    "Storage",
    "StorageError",
    "Total",
    "Uncertain",
    "Unreachable",
    "UnreachableError",
    "Waiting",
    "acquire",
]
