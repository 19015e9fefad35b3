from __future__ import annotations

import atexit
import getpass
import os
import random
import re
import secrets
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Callable, Dict, List, Optional, Union

from .device import find_machine_id
from .environment import Environment, ExitGuard, Host, WireAnswer, WireRequest
from .forking import Locked
from .http_sender import HttpSender
from .lease import LONGEST_RELEASE


def _read_monotonic() -> float:
    """Where there is a clock that goes on while the machine sleeps, this one."""
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


_ENDING = ".json"
_DRAFT = ".new"
# Seconds. No program takes that long to write a small file.
_OLD = 3600.0

# What is being written, and by which process.
_drafts: Dict[Path, int] = {}


@atexit.register
def _remove_drafts() -> None:
    """Threads that write are not waited for when the program ends."""
    for draft, process_id in list(_drafts.items()):
        if process_id == os.getpid():
            draft.unlink(missing_ok=True)


def _usual_folder() -> Path:
    """Where programs keep what is neither settings nor cache. Raises if the account has no home."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "berth-client"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "berth-client"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "berth-client"


class FileStorage:
    """A file for each text. A file is there as a whole or not at all, even after a loss of power."""

    def __init__(self, folder: Union[str, "os.PathLike[str]", None] = None) -> None:
        self._given = None if folder is None else Path(folder)
        self._is_tidy = False

    @property
    def folder(self) -> Path:
        return _usual_folder() if self._given is None else self._given

    def read(self, name: str) -> Optional[str]:
        try:
            return self._file_of(name).read_text("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            # A damaged file counts as an empty one.
            return ""

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_old_drafts()
        file = self._file_of(name)
        draft = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}{_DRAFT}")
        _drafts[draft] = os.getpid()
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(draft, file)
        finally:
            _drafts.pop(draft, None)
            draft.unlink(missing_ok=True)
        self._sync_folder()

    def remove(self, name: str) -> None:
        self._file_of(name).unlink(missing_ok=True)

    def list(self, prefix: str) -> List[str]:
        try:
            files = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        names = (file[: -len(_ENDING)] for file in files if file.endswith(_ENDING))
        return sorted(name for name in names if name.startswith(prefix))

    def _remove_old_drafts(self) -> None:
        """Removes the drafts of programs that were killed. Other programs may do so at the same time."""
        if self._is_tidy:
            return
        self._is_tidy = True
        for draft in self.folder.glob(f"*{_DRAFT}"):
            with suppress(FileNotFoundError):
                if time.time() - draft.stat().st_mtime > _OLD:
                    draft.unlink()

    def _file_of(self, name: str) -> Path:
        """Names come from this package, and products in them are encoded."""
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_.%@~-]', '_', name)}{_ENDING}"

    def _sync_folder(self) -> None:
        """Windows cannot open folders, and needs no sync for them."""
        if sys.platform == "win32":
            return
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_guarding = Locked()
_guards: List[ExitGuard] = []


def _guard_process(guard: ExitGuard) -> Callable[[], None]:
    """Returns the slots of this process when it ends: by itself, by an exception, or by a signal."""
    with _guarding._lock:
        if not _guards:
            atexit.register(_release_all)
        _guards.append(guard)
    _listen()

    def unguard() -> None:
        with _guarding._lock:
            if guard in _guards:
                _guards.remove(guard)
            if not _guards:
                atexit.unregister(_release_all)
        _ignore()

    return unguard


def _signals() -> List[int]:
    """An interrupt needs no handler: Python raises `KeyboardInterrupt`."""
    return [int(getattr(signal, name)) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _listen() -> None:
    """An application that handles the signal decides itself when it has finished its work."""
    if not _is_main_thread():
        return
    for number in _signals():
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_by_signal)


def _ignore() -> None:
    if _guards or not _is_main_thread():
        return
    for number in _signals():
        if signal.getsignal(number) is _end_by_signal:
            signal.signal(number, signal.SIG_DFL)


def _release_all() -> None:
    deadline = _read_monotonic() + LONGEST_RELEASE
    for guard in list(_guards):
        left = deadline - _read_monotonic()
        if left > 0:
            guard.release_in_time(left)


def _end_by_signal(number: int, _: Optional[FrameType]) -> None:
    """
    The main thread stops here, and may have stopped in the middle of anything, with a lock in its hands. So
    another thread returns the slots, and this one does not wait for long.
    """
    signal.signal(number, signal.SIG_DFL)
    thread = threading.Thread(target=_release_all, name="berth-exit", daemon=True)
    thread.start()
    thread.join(LONGEST_RELEASE)
    os.kill(os.getpid(), number)


class Machine:
    """The real surroundings of a program."""

    def __init__(self) -> None:
        self.storage = FileStorage()
        self._sender = HttpSender(_read_monotonic)

    @property
    def host(self) -> Host:
        return Host(hostname=socket.gethostname() or None, os_user=_find_os_user())

    @property
    def machine_id(self) -> Optional[str]:
        return find_machine_id()

    @property
    def process_id(self) -> int:
        return os.getpid()

    def read_monotonic(self) -> float:
        return _read_monotonic()

    def read_wall(self) -> float:
        return time.time()

    def random(self) -> float:
        return random.random()

    def create_id(self) -> str:
        return secrets.token_hex(16)

    def create_signal(self) -> threading.Event:
        return threading.Event()

    def set_timer(self, delay: float, work: Callable[[], None]) -> Callable[[], None]:
        timer = threading.Timer(delay, work)
        timer.daemon = True
        timer.name = "berth-timer"
        try:
            timer.start()
        except RuntimeError:
            # The program is ending, and no thread can start any more.
            return lambda: None
        return timer.cancel

    def send(self, request: WireRequest) -> WireAnswer:
        return self._sender.send(request)

    def guard_exit(self, guard: ExitGuard) -> Callable[[], None]:
        return _guard_process(guard)

    def report_error(self, error: BaseException) -> None:
        """Where applications notice errors of threads."""
        arguments = (type(error), error, error.__traceback__, threading.current_thread())
        threading.excepthook(threading.ExceptHookArgs(arguments))


def _find_os_user() -> Optional[str]:
    """
    By the system, not by variables that anyone can set. A container may run under a number without a name.
    """
    try:
        if sys.platform == "win32":
            return getpass.getuser()
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):
        return None


MACHINE: Environment = Machine()
