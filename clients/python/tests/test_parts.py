from __future__ import annotations

import inspect
import math
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, List, Optional

from berth_client import Client, acquire
from berth_client.timing import back_off
from berth_client.duration import parse_duration
from berth_client.environment import NotSentError, WireAnswer, WireRequest
from berth_client.errors import BerthError, DeniedError, UnreachableError
from berth_client.events import SLOT_EVENTS, Listeners
from berth_client.lease import MARGIN, read_lease, renew_at, safe_until
from berth_client.timing import from_ms, read_timestamp, to_ms, write_timestamp
from berth_client.servers import Answer, Servers
from berth_client.timing import SteadyClock

from .simulation.machine import Machine
from .world_test import WorldTest


class Durations(unittest.TestCase):
    def test_are_seconds_texts_or_timedeltas(self) -> None:
        for value, seconds in (
            (90, 90),
            (0.5, 0.5),
            ("90s", 90),
            ("5m", 300),
            ("2 h", 7200),
            ("250ms", 0.25),
        ):
            self.assertEqual(parse_duration("wait", value), seconds)
        self.assertEqual(parse_duration("wait", timedelta(days=7)), parse_duration("wait", "7d"))

    def test_are_refused_otherwise(self) -> None:
        for value in ("5", "five minutes", "-5m", -1, float("nan"), "٥m", ""):
            with self.assertRaises(BerthError) as caught:
                parse_duration("wait", value)
            self.assertEqual(caught.exception.code, "invalid_option")
            self.assertIn('"wait"', str(caught.exception))


class Moments(unittest.TestCase):
    def test_are_read_and_written_in_utc(self) -> None:
        moment = datetime(2026, 9, 27, 23, 30, 48, 16_000, tzinfo=timezone.utc)
        self.assertEqual(read_timestamp("2026-09-27T23:30:48.016Z"), moment)
        self.assertEqual(
            write_timestamp(moment.astimezone(timezone(timedelta(hours=2)))), "2026-09-27T23:30:48.016Z"
        )
        self.assertEqual(from_ms(to_ms(moment)), moment)
        for text in ("", "soon", None, 5):
            self.assertIsNone(read_timestamp(text))


class ALease(unittest.TestCase):
    def test_ends_for_the_client_before_it_does_for_the_server(self) -> None:
        fields = {"slot_ends_in_seconds": 600, "renew_in_seconds": 200}
        lease = read_lease(Answer(fields, sent_at=1000, server=""))
        self.assertEqual(safe_until(lease, MARGIN), 1000 + 600 - 2 - 6)
        self.assertEqual([renew_at(lease, math.inf, lambda: n) for n in (0, 1)], [1200, 1160])
        self.assertEqual([renew_at(lease, 100, lambda: n) for n in (0, 1)], [1100, 1080])

    def test_is_understood_without_the_newer_fields(self) -> None:
        lease = read_lease(Answer({"floating_timeout": 10}, sent_at=0, server=""))
        self.assertEqual((lease.lasts, lease.renew_after), (600, 200))

    def test_of_a_borrow_loses_at_most_a_share_of_a_day(self) -> None:
        fields = {
            "slot_ends_in_seconds": 864_000,
            "is_borrowed": True,
            "borrowed_until": "2026-01-01T00:00:00Z",
        }
        lease = read_lease(Answer(fields, sent_at=0, server=""))
        self.assertEqual(safe_until(lease, MARGIN), 864_000 - 2 - 864)
        self.assertEqual(lease.borrowed_until, datetime(2026, 1, 1, tzinfo=timezone.utc))


class Denials(unittest.TestCase):
    def test_say_what_to_do_and_when_a_slot_may_be_free(self) -> None:
        details = {
            "code": "floating_not_available",
            "message": "Full.",
            "next_free_at": "2026-01-01T00:00:30.000Z",
        }
        error = DeniedError(400, details, "Thu, 01 Jan 2026 00:00:10 GMT")
        self.assertEqual(error.next_free_in, 20)
        self.assertTrue(error.is_retryable)
        self.assertEqual(str(error), f"Full. {error.advice}")
        self.assertIn("Wait until", error.advice)
        self.assertIsNone(DeniedError(400, details).next_free_in)


class BackOff(unittest.TestCase):
    def test_doubles_up_to_the_longest(self) -> None:
        self.assertEqual([back_off(n, 15, lambda: 1) for n in (0, 1, 2, 5, 6, 1000)], [0.5, 1, 2, 15, 15, 15])
        self.assertEqual(back_off(0, 15, lambda: 0), 0.25)


class SeveralServers(WorldTest):
    def post(self, *answers: object, path: str = "register") -> object:
        """What comes of a request if the servers answer this."""
        left = list(answers)
        self.asked: List[str] = []
        outcome: List[object] = []

        def network(request: WireRequest, done: object) -> None:
            self.asked.append(request.url.split("/")[2])
            self.assertEqual(request.url.split("/", 3)[3], f"api/v4/{path}")
            done(left.pop(0))  # type: ignore[operator]

        machine = Machine(self.world, "ws-7", lambda: 0.5, network)
        urls = ["http://one.test/", "http://two.test/api/v4/"]
        servers = Servers(machine, SteadyClock(machine), urls, token=None, timeout=10)

        def work() -> None:
            try:
                outcome.append(servers.post(path, {}).fields)
            except BerthError as error:
                outcome.append(error)

        while left:
            self.play(work)
        return outcome[-1]

    def test_are_tried_in_turn_and_the_one_that_answered_stays(self) -> None:
        fine = WireAnswer(200, '{"floating_timeout": 10}', None)
        self.assertEqual(self.post(NotSentError("refused"), fine, fine), {"floating_timeout": 10})
        self.assertEqual(self.asked, ["one.test", "two.test", "two.test"])

    def test_are_tried_after_an_answer_that_is_not_from_berth(self) -> None:
        page = WireAnswer(404, "<html>", None)
        error = self.post(page, WireAnswer(502, "<html>", None))
        assert isinstance(error, UnreachableError)
        self.assertEqual(
            [one.reason for one in error.attempts], ["HTTP status 404, and not from Berth", "HTTP status 502"]
        )

    def test_are_tried_after_a_page_that_says_ok_to_everything(self) -> None:
        fine = {
            "register": '{"slot_ends_in_seconds": 600}',
            "borrow": '{"floating_timeout": 10, "borrowed_until": "2026-01-01T00:00:00Z"}',
            "featureRegister": '{"floating_timeout": 10}',
            "add_consumption": '{"total_consumptions": 0}',
            "add_feature_consumption": '{"total_consumptions": 0}',
            "unregister": "user_unregistered",
            "featureRelease": "feature_released",
        }
        for path, text in fine.items():
            self.assertNotIsInstance(self.post(WireAnswer(200, text, None), path=path), Exception)
            for page in ("<html>", "", "[]", '{"user": "ada", "license_id": 1, "floating_timeout": "10"}'):
                error = self.post(WireAnswer(200, page, None), WireAnswer(204, page, None), path=path)
                assert isinstance(error, UnreachableError), (path, page, error)
                self.assertEqual(error.attempts[0].reason, "HTTP status 200, and not from Berth")
                self.assertEqual(self.asked, ["one.test", "two.test"])

    def test_are_not_tried_after_a_refusal(self) -> None:
        error = self.post(WireAnswer(400, '{"status": 400, "code": "unknown_product"}', None))
        assert isinstance(error, DeniedError)
        self.assertEqual((error.code, self.asked), ("unknown_product", ["one.test"]))

    def test_say_whether_the_request_may_have_arrived(self) -> None:
        error = self.post(NotSentError("refused"), TimeoutError("late"))
        assert isinstance(error, UnreachableError)
        self.assertEqual([one.may_have_arrived for one in error.attempts], [False, True])
        self.assertIn("http://one.test (refused), http://two.test (late)", error.message)
        busy = self.post(WireAnswer(429, "{}", None), WireAnswer(503, '{"message": "Disk full."}', None))
        assert isinstance(busy, UnreachableError)
        self.assertEqual([one.may_have_arrived for one in busy.attempts], [False, True])


class Secrets(WorldTest):
    TOKEN = "a-token-that-nobody-may-see"

    def ask(self, token: Any, answer: object = None) -> BerthError:
        """How a request fails that has this token, and what was sent."""
        self.sent: List[Optional[str]] = []
        errors: List[BerthError] = []

        def network(request: WireRequest, done: Any) -> None:
            self.sent.append(request.headers.get("Authorization"))
            done(answer or WireAnswer(403, f'{{"code": "no", "message": "not {self.TOKEN}"}}', None))

        machine = Machine(self.world, "ws-7", lambda: 0.5, network)

        def work() -> None:
            try:
                Client("http://one.test", "cad", token=token, environment=machine).acquire()
            except BerthError as error:
                errors.append(error)

        self.play(work)
        return errors[0]

    def test_are_trimmed(self) -> None:
        for token in (f" {self.TOKEN}\r\n", lambda: f"{self.TOKEN}\n"):
            self.ask(token)
            self.assertEqual(self.sent, [f"Bearer {self.TOKEN}"])

    def test_that_cannot_be_sent_are_refused_by_name_and_not_shown(self) -> None:
        texts = [f"{self.TOKEN}{ending}" for ending in ("\nX-More: 1", "\0", "ä")]
        for wrong in (*texts, self.TOKEN.encode(), 5, "", " \n"):
            for token in (wrong, lambda wrong=wrong: wrong):
                error = self.ask(token)
                self.assertEqual((error.code, self.sent), ("invalid_option", []))
                self.assertIn('"token"', str(error))
                self.assertNotIn(self.TOKEN, str(error))

    def test_are_not_in_errors_even_if_the_server_repeats_them(self) -> None:
        for answer in (
            None,
            WireAnswer(500, f'{{"message": "What is {self.TOKEN}?"}}', None),
            WireAnswer(429, f'{{"message": "What is {self.TOKEN}?"}}', None),
        ):
            error: Optional[BaseException] = self.ask(self.TOKEN, answer)
            self.assertEqual(len(self.sent), 1)
            while error is not None:
                self.assertNotIn(self.TOKEN, f"{error} {vars(error)}")
                error = error.__cause__

    def test_are_not_in_texts_of_objects(self) -> None:
        client = Client("http://one.test", "cad", "ada", token="secret-token-1234", environment=self.machine)
        requests: List[WireRequest] = []
        self.machine._network = lambda request, done: requests.append(request)
        self.play(client.acquire)
        self.assertIn("secret", requests[0].headers["Authorization"])
        for thing in (client, client._account, client.open_queue(), requests[0]):
            self.assertNotIn("secret", repr(thing))
        self.assertEqual(repr(client), "<Client of 'cad' for 'ada'>")

    def test_in_addresses_are_refused_and_not_shown(self) -> None:
        for address in (
            "http://ada:hunter2@berth:8080",
            "http://hunter2@berth",
            "ftp://ada:hunter2@berth",
            "ada:hunter2@berth:8080",
            "http://ada:hunter2@",
            "http://ada:hunter2@berth:port",
            "http://berth?token=hunter2",
            "http://berth#hunter2",
        ):
            with self.assertRaises(BerthError) as caught:
                Client(address, "cad")
            self.assertEqual(caught.exception.code, "invalid_option")
            self.assertNotIn("hunter2", str(caught.exception))
            self.assertIsNone(caught.exception.__cause__)


class AListener(unittest.TestCase):
    def test_that_is_not_a_function_is_refused(self) -> None:
        wrong: Any
        for wrong in (None, "log"):
            with self.assertRaisesRegex(BerthError, '"lost" is not a function.*on."lost"') as caught:
                Listeners(SLOT_EVENTS, "", self.fail).on("lost", wrong)
            self.assertEqual(caught.exception.code, "invalid_option")


class Options(unittest.TestCase):
    def test_are_checked_when_the_client_is_made(self) -> None:
        for server, product in (
            ([], "cad"),
            ("berth:8080", "cad"),
            ("ftp://berth", "cad"),
            ("http://berth", ""),
        ):
            with self.assertRaises(BerthError) as caught:
                Client(server, product)
            self.assertEqual(caught.exception.code, "invalid_option")

    def test_that_ask_for_renewals_too_often_are_refused(self) -> None:
        Client("http://berth", "cad", renew_every="10s")
        for wrong in ("9s", 9.9, 0):
            with self.assertRaisesRegex(BerthError, '"renew_every" is too short.*at least "10s"'):
                Client("http://berth", "cad", renew_every=wrong)

    def test_for_tls_are_checked_when_the_client_is_made(self) -> None:
        options: Any
        for server, options, problem in (
            ("https://one", {"cert": __file__}, '"cert", but not the other half.*both "cert" and "key"'),
            ("https://one", {"ca": " "}, '"ca" is empty'),
            ("https://one", {"cert": "-----BEGIN", "key": "x"}, '"cert" is PEM.*name of a file'),
            (["https://one", "http://two"], {"ca": "x"}, '"ca" cannot be used without TLS.*http://two with'),
            ("https://one", {"ca": "nothing.pem"}, 'the file of "ca" cannot be read.*No such file'),
            ("https://one", {"ca": __file__}, "certificates cannot be used"),
            ("https://one", {"ca": "-----BEGIN CERTIFICATE-----"}, "certificates cannot be used"),
        ):
            with self.assertRaisesRegex(BerthError, problem) as caught:
                Client(server, "cad", **options)
            self.assertEqual(caught.exception.code, "invalid_option")

    def test_of_acquire_are_those_of_the_client(self) -> None:
        of_client = set(inspect.signature(Client).parameters) - {"environment", "margin"}
        of_both = of_client | set(inspect.signature(Client.acquire).parameters) - {"self"}
        self.assertEqual(set(inspect.signature(acquire).parameters), of_both)

    def test_of_a_wrong_type_are_named(self) -> None:
        wrong: Any
        with self.assertRaisesRegex(BerthError, "There is no server"):
            Client(None, "cad")  # type: ignore[arg-type]
        for wrong in (5, b"http://berth", [None], {}):
            with self.assertRaisesRegex(BerthError, "is not an address") as caught:
                Client(wrong, "cad")
            self.assertEqual(caught.exception.code, "invalid_option")
        for wrong in ("", "  ", 5):
            with self.assertRaisesRegex(BerthError, '"device"'):
                Client("http://berth", "cad", device=wrong)
        for wrong in ("", "  ", b"ada", {}, 5):
            with self.assertRaisesRegex(BerthError, "is (empty|not a user).*leave it out") as caught:
                Client("http://berth", "cad", wrong)
            self.assertEqual(caught.exception.code, "invalid_option")
