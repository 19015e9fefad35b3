from __future__ import annotations

import http.client
import re
from typing import Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from .environment import NotSentError, Tls, WireAnswer, WireRequest
from .forking import Locked
from .tls import create_context

# If the server does not say how long it keeps a connection.
_KEPT_FOR = 4.0
# A server closes a connection earlier than it says rather than later, as seen from here.
_SAFETY = 1.0
_MOST_IDLE = 4
# More than any answer of Berth.
_LONGEST_ANSWER = 8 * 1024 * 1024

_Origin = Tuple[str, str, Optional[int], Optional[Tls]]


class HttpSender(Locked):
    """
    Sends requests over connections that are kept for the next request, whatever thread that comes from. It
    uses no proxy, whatever the variables say: license servers are in the network of the company.
    """

    def __init__(self, read_monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._read_monotonic = read_monotonic
        # With the time at which it must no longer be used.
        self._idle: Dict[_Origin, List[Tuple[http.client.HTTPConnection, float]]] = {}

    def send(self, request: WireRequest) -> WireAnswer:
        parts = urlsplit(request.url)
        origin = (parts.scheme, parts.hostname or "", parts.port, request.tls)
        deadline = self._read_monotonic() + request.timeout
        kept = self._take(origin)
        if kept is not None:
            try:
                return self._exchange(origin, kept, request, deadline)
            except (http.client.HTTPException, ConnectionError):
                # The server has closed it meanwhile. If not, repeating a request is safe.
                kept.close()
            except BaseException:
                kept.close()
                raise
        fresh = self._connect(origin, deadline, may_have_arrived=kept is not None)
        try:
            return self._exchange(origin, fresh, request, deadline)
        except BaseException:
            fresh.close()
            raise

    def _exchange(
        self, origin: _Origin, connection: http.client.HTTPConnection, request: WireRequest, deadline: float
    ) -> WireAnswer:
        path = urlsplit(request.url).path
        socket = connection.sock
        socket.settimeout(self._left_until(deadline))
        connection.request(request.method, path, request.body or None, dict(request.headers))
        response = connection.getresponse()
        chunks: List[bytes] = []
        size = 0
        # It closes itself at its end, and the connection too if the server does not keep it.
        while not response.isclosed():
            socket.settimeout(self._left_until(deadline))
            chunk = response.read(65_536)
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
            if size > _LONGEST_ANSWER:
                raise http.client.HTTPException("The answer is too long")
        if response.will_close:
            connection.close()
        else:
            self._keep(origin, connection, response.headers.get("Keep-Alive"))
        text = b"".join(chunks).decode("utf-8", "replace")
        headers = response.headers
        said = [headers.get(name) for name in ("Date", "Retry-After", "Preference-Applied")]
        return WireAnswer(response.status, text, *said)

    def _begin_in_child(self) -> None:
        """The connections are the parent's."""
        super()._begin_in_child()
        self._idle = {}

    def _take(self, origin: _Origin) -> Optional[http.client.HTTPConnection]:
        now = self._read_monotonic()
        with self._lock:
            idle = self._idle.get(origin, [])
            while idle:
                connection, good_until = idle.pop()
                if now < good_until:
                    return connection
                connection.close()
        return None

    def _keep(self, origin: _Origin, connection: http.client.HTTPConnection, header: Optional[str]) -> None:
        match = re.search(r"timeout=(\d{1,6})", header or "")
        kept_for = _KEPT_FOR if match is None else int(match[1]) - _SAFETY
        with self._lock:
            idle = self._idle.setdefault(origin, [])
            if kept_for > 0 and len(idle) < _MOST_IDLE:
                idle.append((connection, self._read_monotonic() + kept_for))
                return
        connection.close()

    def _connect(
        self, origin: _Origin, deadline: float, may_have_arrived: bool
    ) -> http.client.HTTPConnection:
        scheme, host, port, tls = origin
        connection: http.client.HTTPConnection
        try:
            left = self._left_until(deadline)
            if scheme == "https":
                context = create_context(tls)
                connection = http.client.HTTPSConnection(host, port, timeout=left, context=context)
            else:
                connection = http.client.HTTPConnection(host, port, timeout=left)
            connection.connect()
            return connection
        except OSError as error:
            if may_have_arrived:
                raise
            raise NotSentError(str(error) or type(error).__name__) from error

    def _left_until(self, deadline: float) -> float:
        left = deadline - self._read_monotonic()
        if left <= 0:
            raise TimeoutError("No answer in time")
        return left
