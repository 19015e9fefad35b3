from __future__ import annotations

import http.client
import json
import math
import ssl
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import urlsplit

from .environment import Environment, NotSentError, WireAnswer, WireRequest
from .errors import BerthError, DeniedError, FailedAttempt, UnreachableError
from .timing import SteadyClock, read_timestamp

Token = Union[str, Callable[[], str]]

# A server has read the request, but it may well accept it a little later.
_TRY_LATER = {408, 429}


@dataclass(frozen=True)
class Answer:
    """An answer that is not a refusal."""

    # `{}` if the answer is a text.
    fields: Mapping[str, Any]
    # By the steady clock, before the request left.
    sent_at: float
    # The address of the server that has answered.
    server: str


class _ForeignAnswer(Exception):
    """Something other than Berth has answered."""


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
    ) -> None:
        if len(urls) == 0:
            raise BerthError("invalid_option", "There is no server.", 'Give "server": the address of Berth.')
        self._environment = environment
        self._clock = clock
        self._urls = [_read_url(url) for url in urls]
        self._token = token
        self._timeout = timeout
        self._current = 0

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Answer:
        """
        Raises a `DeniedError` for a refusal and an `UnreachableError` if no server answers. `timeout` is for
        all servers together.
        """
        all_headers = {**self._headers(), **(headers or {})}
        content = json.dumps(body).encode()
        deadline = math.inf if timeout is None else self._clock.read() + timeout
        attempts: List[FailedAttempt] = []
        cause: Optional[Exception] = None
        advice: Optional[str] = None
        first = self._current
        for tried in range(len(self._urls)):
            index = (first + tried) % len(self._urls)
            url = self._urls[index]
            sent_at = self._clock.read()
            if sent_at >= deadline:
                break
            within = min(self._timeout, deadline - sent_at)
            try:
                request = WireRequest(f"{url}/api/v4/{path}", all_headers, content, within)
                answer = self._environment.send(request)
                if answer.status < 500 and answer.status not in _TRY_LATER:
                    self._current = index
                    return Answer(_read_answer(path, answer), sent_at, url)
                may_have_arrived = answer.status not in _TRY_LATER
                attempts.append(FailedAttempt(url, _describe_failure(answer), may_have_arrived))
            except DeniedError:
                raise
            except Exception as error:
                reason = str(error) or type(error).__name__
                attempts.append(FailedAttempt(url, reason, not isinstance(error, NotSentError)))
                cause, advice = error, _advise(error, url)
            self._current = (index + 1) % len(self._urls)
        raise UnreachableError(attempts, advice) from cause

    def _headers(self) -> Dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else _ask_for(self._token)
            headers["Authorization"] = f"Bearer {token}"
        return headers


_NO_TLS = "There is no TLS at the address: check it, or begin it with http://."
_UNKNOWN_CA = (
    "The authority of the certificate is not known here. Start the program with SSL_CERT_FILE=FILE, the "
    "certificate of the authority as PEM."
)
_OTHER_NAME = "Give the address with the name of the host that is in its certificate."
# By the codes of OpenSSL.
_CERTIFICATE_ADVICE = {**dict.fromkeys((18, 19, 20, 21), _UNKNOWN_CA), 62: _OTHER_NAME, 64: _OTHER_NAME}
# Servers with TLS close a connection on which a plain request comes; but others do so, too.
_CLOSED = "Check the network. If the server uses TLS, begin its address with https://."


def _advise(error: Exception, url: str) -> Optional[str]:
    """What to do about TLS that did not come about."""
    cause = error.__cause__ if isinstance(error, NotSentError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _CERTIFICATE_ADVICE.get(cause.verify_code)
    if isinstance(cause, ssl.SSLError):
        # Newer versions of OpenSSL say the latter.
        return _NO_TLS if cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE") else None
    is_closed = cause is error and isinstance(cause, (http.client.BadStatusLine, ConnectionError))
    return _CLOSED if is_closed and url.startswith("http:") else None


def _ask_for(token: Callable[[], str]) -> str:
    """Without a token no server can be asked; later perhaps."""
    try:
        return token()
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnreachableError(
            [FailedAttempt("the token", reason, may_have_arrived=False)],
            'Correct the function that the program gives as "token".',
            f'The function "token" failed: {reason}.',
        ) from error


def _read_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port >= 0):
            return text.rstrip("/").removesuffix("/api/v4")
    except (ValueError, TypeError, AttributeError):
        pass
    raise BerthError("invalid_option", f'"{text}" is not an address.', "Write it like http://host:8080.")


def _read_fields(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
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
        raise DeniedError(answer.status, fields, answer.date, answer.retry_after)
    raise _ForeignAnswer(f"HTTP status {answer.status}, and not from Berth")


def _is_from_berth(path: str, fields: Mapping[str, Any], text: str) -> bool:
    """Others say OK, too: the page of a guest network, a proxy, another service. No request has these."""
    if path == "unregister":
        return "user_unregistered" in text
    if path == "featureRelease":
        return "feature_released" in text
    if path.endswith("consumption"):
        return type(fields.get("total_consumptions")) in (int, float)
    if path == "borrow" and read_timestamp(fields.get("borrowed_until")) is None:
        return False
    return type(fields.get("slot_ends_in_seconds", fields.get("floating_timeout"))) in (int, float)
