from __future__ import annotations

import http.client
import json
import math
import re
import ssl
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union
from urllib.parse import urlsplit

from .environment import Environment, NotSentError, WireAnswer, WireRequest
from .errors import BerthError, DeniedError, FailedAttempt, UnreachableError
from .storage import fingerprint
from .timing import SteadyClock, read_timestamp
from .tls import PathText, read_tls

Token = Union[str, Callable[[], str]]

_T = TypeVar("_T")

# A server has read the request, but it may well accept it a little later.
_TRY_LATER = {408, 429}
# Shorter texts may well occur in an answer by chance.
_SECRET_LENGTH = 16
_PORTS = {"http": 80, "https": 443}
_ADDRESSES = "addresses-"
_STORE_ID = re.compile(r"[A-Za-z0-9_-]{43}")
_ELSEWHERE = "another license server answers there"
_ANOTHER_STORE = {"code": "wrong_store", "message": "Another license server answers at the address."}


@dataclass(frozen=True)
class Answer:
    """An answer that is not a refusal."""

    # `{}` if the answer is a text.
    fields: Mapping[str, Any]
    # By the steady clock, before the request left.
    sent_at: float
    # The address of the server that has answered.
    server: str


@dataclass(frozen=True)
class Store:
    """The data of a server, as far as it says which they are."""

    # What is stored for the server is bound to this: the public id, or if it has none, the set of addresses.
    binding: str
    # The value of `Date`, if there was one.
    date: Optional[str]


class _ForeignAnswer(Exception):
    """Something other than Berth has answered."""


class _AnotherStore(Exception):
    """A server with other data has answered."""


class Servers:
    """
    The servers that share the licenses. A request goes to the one that answered last, then to the others.
    """

    def __init__(
        self,
        environment: Environment,
        clock: SteadyClock,
        urls: Sequence[str],
        token: Optional[Token],
        timeout: float,
        ca: Optional[PathText] = None,
        cert: Optional[PathText] = None,
        key: Optional[PathText] = None,
    ) -> None:
        if len(urls) == 0:
            raise BerthError("invalid_option", "There is no server.", 'Give "server": the address of Berth.')
        self._environment = environment
        self._clock = clock
        self._urls = [read_url(url) for url in urls]
        # What stands for servers that have no public id, and for those that have not answered yet.
        self.addresses = describe_addresses(self._urls)
        self._token = token if token is None or callable(token) else read_token(token)
        self._timeout = timeout
        self._tls = read_tls(ca, cert, key, self._urls)
        self._current = 0
        # By address, while its requests do not fail.
        self._stores: Dict[str, Store] = {}

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        binding: Optional[str] = None,
        wait: float = 0,
    ) -> Answer:
        """
        Raises a `DeniedError` for a refusal and an `UnreachableError` if no server answers. `timeout` is for
        all servers together. With `binding`, only the servers with that store are asked. `wait`: how long the
        server may keep the request waiting in line.
        """
        token = self._read_token()
        all_headers = {"Content-Type": "application/json", **_headers(token), **(headers or {})}

        def send(url: str, left: Callable[[], float]) -> Answer:
            fields = body
            if binding is not None:
                store = self._identify(url, token, left())
                if store.binding != binding:
                    raise _AnotherStore(_ELSEWHERE)
                fields = body if is_of_addresses(binding) else {**body, "store_id": binding}
            content = json.dumps(fields).encode()
            sent_at = self._clock.read()
            request = WireRequest(f"{url}/api/v4/{path}", all_headers, content, left() + wait)
            answer = self._send(request, token)
            return Answer(_read_answer(path, answer), sent_at, url)

        return self._try_each(send, timeout)

    def find_store(self, binding: Optional[str] = None, is_fresh: bool = False) -> Store:
        """
        Which data the server has that answers first. Raises an `UnreachableError` if none does. With
        `binding`, only a server with that store counts. `is_fresh`: it is asked now, even if it is known.
        """
        token = self._read_token()

        def ask(url: str, left: Callable[[], float]) -> Store:
            if is_fresh:
                self._stores.pop(url, None)
            store = self._identify(url, token, left())
            if binding in (None, store.binding):
                return store
            raise _AnotherStore(_ELSEWHERE)

        return self._try_each(ask, None)

    def is_known_as(self, binding: str, url: str) -> bool:
        """Whether the server at the address is known to be the one that something was kept for."""
        known = self._stores.get(url)
        return binding == (self.addresses if known is None else known.binding)

    def _try_each(self, send: Callable[[str, Callable[[], float]], _T], timeout: Optional[float]) -> _T:
        """Until one answers. `send` can ask how much time is left."""
        deadline = math.inf if timeout is None else self._clock.read() + timeout
        attempts: List[FailedAttempt] = []
        cause: Optional[Exception] = None
        advice: Optional[str] = None
        others = 0
        first = self._current
        for tried in range(len(self._urls)):
            index = (first + tried) % len(self._urls)
            url = self._urls[index]
            if self._clock.read() >= deadline:
                break
            try:
                result = send(url, lambda: min(self._timeout, deadline - self._clock.read()))
                self._current = index
                return result
            except Exception as error:
                if isinstance(error, DeniedError) and error.code != "wrong_store":
                    self._current = index
                    raise
                others += isinstance(error, (DeniedError, _AnotherStore))
                attempts.append(_describe_attempt(url, error))
                cause, advice = error, _advise(error, url)
                self._stores.pop(url, None)
            self._current = (index + 1) % len(self._urls)
        if others == len(attempts) > 0:
            raise DeniedError(400, _ANOTHER_STORE) from cause
        raise UnreachableError(attempts, advice) from cause

    def _identify(self, url: str, token: Optional[str], timeout: float) -> Store:
        known = self._stores.get(url)
        if known is not None:
            return known
        request = WireRequest(f"{url}/.well-known/jwks.json", _headers(token), b"", timeout, "GET")
        try:
            answer = self._send(request, token)
        except NotSentError:
            raise
        except Exception as error:
            # Nothing but this question was sent.
            raise NotSentError(_reason_of(error)) from error
        store = Store(_read_store_id(answer) or self.addresses, answer.date)
        self._stores[url] = store
        return store

    def _send(self, request: WireRequest, token: Optional[str]) -> WireAnswer:
        """Raises if the server cannot answer at the moment."""
        answer = self._environment.send(replace(request, tls=self._tls))
        if token and len(token) >= _SECRET_LENGTH and token in answer.text:
            # The answer may be shown to people, and may come from anything.
            answer = replace(answer, text=answer.text.replace(token, "…"))
        if answer.status in _TRY_LATER:
            raise NotSentError(_describe_failure(answer))
        if answer.status >= 500:
            raise _ForeignAnswer(_describe_failure(answer))
        return answer

    def _read_token(self) -> Optional[str]:
        """Without a token no server can be asked; later perhaps."""
        if not callable(self._token):
            return self._token
        try:
            token = self._token()
        except Exception as error:
            raise UnreachableError(
                [FailedAttempt("the token", _reason_of(error), may_have_arrived=False)],
                'Correct the function that the program gives as "token".',
                f'The function "token" failed: {_reason_of(error)}.',
            ) from error
        return read_token(token)


def describe_addresses(urls: Sequence[str]) -> str:
    return _ADDRESSES + fingerprint("\n".join(sorted(set(urls))))


def is_of_addresses(binding: str) -> bool:
    """Whether something is bound to addresses, and not to the public id of a store."""
    return binding.startswith(_ADDRESSES)


def _read_store_id(answer: WireAnswer) -> Optional[str]:
    """`None` if the server has no id. Raises if something other than Berth has answered."""
    fields = _read_fields(answer.text)
    if answer.status < 400 and not (answer.status < 300 and isinstance(fields.get("keys"), list)):
        raise NotSentError(f"HTTP status {answer.status}, and not from Berth")
    store_id = fields.get("store_id")
    is_id = answer.status < 400 and isinstance(store_id, str) and _STORE_ID.fullmatch(store_id)
    return str(store_id) if is_id else None


def _headers(token: Optional[str]) -> Dict[str, str]:
    headers = {"Accept": "application/json"}
    return headers if token is None else {**headers, "Authorization": f"Bearer {token}"}


def read_token(token: object) -> str:
    """White space around it, such as the end of a line of a file, does not belong to it."""
    if isinstance(token, str) and re.fullmatch("[ -~]+", token.strip()):
        return token.strip()
    # Never the token itself: it is a secret.
    raise BerthError(
        "invalid_option",
        '"token" is empty, or not a token.' if isinstance(token, str) else '"token" is not a text.',
        "Give it as the server has shown it: one line of ASCII letters.",
    )


def _reason_of(error: Exception) -> str:
    return str(error) or type(error).__name__


def _describe_attempt(url: str, error: Exception) -> FailedAttempt:
    may_have_arrived = not isinstance(error, (NotSentError, DeniedError, _AnotherStore))
    return FailedAttempt(url, _reason_of(error), may_have_arrived)


_NO_TLS = "There is no TLS at the address: check it, or begin it with http://."
_UNKNOWN_CA = (
    'The authority of the certificate is not known here. Give its certificate as "ca", or start the program '
    "with SSL_CERT_FILE=FILE."
)
_NO_OWN_CERTIFICATE = 'The server accepts only programs with a certificate. Give "cert" and "key".'
# Servers say it in different ways, and only after the connection is made.
_CERTIFICATE_ALERTS = ("ALERT_CERTIFICATE_REQUIRED", "ALERT_BAD_CERTIFICATE", "ALERT_HANDSHAKE_FAILURE")
_OTHER_NAME = "Give the address with the name of the host that is in its certificate."
# By the codes of OpenSSL.
_CERTIFICATE_ADVICE = {**dict.fromkeys((18, 19, 20, 21), _UNKNOWN_CA), 62: _OTHER_NAME, 64: _OTHER_NAME}
# A server with TLS closes the connection after a plain request, but so do others.
_CLOSED = "Check the network. If the server uses TLS, begin its address with https://."
_CLOSED_TLS = 'Check the network. If the server accepts only programs with a certificate, give "cert" and "key".'


def _advise(error: Exception, url: str) -> Optional[str]:
    """What to do about failed TLS."""
    cause = error.__cause__ if isinstance(error, NotSentError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _CERTIFICATE_ADVICE.get(cause.verify_code)
    if isinstance(cause, ssl.SSLError) and str(cause.reason).endswith(_CERTIFICATE_ALERTS):
        return _NO_OWN_CERTIFICATE
    # Newer versions of OpenSSL say the latter.
    if isinstance(cause, ssl.SSLError) and cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return _NO_TLS
    if cause is error and isinstance(cause, (http.client.BadStatusLine, ConnectionError, ssl.SSLError)):
        return _CLOSED if url.startswith("http:") else _CLOSED_TLS
    return None


def read_url(text: str) -> str:
    """The address in its normal form."""
    advice = 'Write it like http://host:8080, and give a "token" if the server requires one.'
    try:
        parts = urlsplit(text)
        if parts.username is not None or parts.password is not None:
            raise BerthError("invalid_option", "The address has a user or a password in it.", advice)
        if parts.scheme in _PORTS and parts.hostname and not parts.query and not parts.fragment:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
            return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/').removesuffix('/api/v4')}"
    except (ValueError, TypeError, AttributeError):
        pass
    # An invalid address may have a password in it, too.
    shown = f'"{text}"' if re.fullmatch(r"[\w.:/\[\]-]*", str(text)) else 'The "server"'
    raise BerthError("invalid_option", f"{shown} is not an address.", advice)


def _read_fields(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _describe_failure(answer: WireAnswer) -> str:
    message = _read_fields(answer.text).get("message")
    return message if isinstance(message, str) else f"HTTP status {answer.status}"


def _read_answer(path: str, answer: WireAnswer) -> Mapping[str, Any]:
    fields = _read_fields(answer.text)
    if 200 <= answer.status < 300:
        if _is_from_berth(path, fields, answer.text):
            return fields
    elif isinstance(fields.get("code"), str):
        raise DeniedError(answer.status, fields, answer.date, answer.retry_after, answer.applied)
    reason = f"HTTP status {answer.status}, and not from Berth"
    # A proxy that refuses a request has not passed it on.
    raise NotSentError(reason) if answer.status >= 400 else _ForeignAnswer(reason)


def _is_from_berth(path: str, fields: Mapping[str, Any], text: str) -> bool:
    """Others say OK, too: the page of a guest network, a proxy, another service. They lack these fields."""
    if path == "unregister":
        return "user_unregistered" in text
    if path == "featureRelease":
        return "feature_released" in text
    if path.endswith("consumption"):
        return type(fields.get("total_consumptions")) in (int, float)
    if path == "borrow" and read_timestamp(fields.get("borrowed_until")) is None:
        return False
    return type(fields.get("slot_ends_in_seconds", fields.get("floating_timeout"))) in (int, float)
