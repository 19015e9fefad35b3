"""Takes, keeps and returns slots of a Berth license server."""

from .borrow import Borrow, StoredBorrow
from .client import Client, acquire
from .consumption import Total
from .count_queue import Blocked, CountQueue, QueuedCount, Refused, Sent, Uncertain
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
from .feature_slot import FeatureSlot
from .machine import FileStorage
from .slot import Slot, Waiting

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
    "StoredBorrow",
    "Total",
    "Uncertain",
    "Unreachable",
    "UnreachableError",
    "Waiting",
    "__version__",
    "acquire",
]

__version__ = "0.1.0"
