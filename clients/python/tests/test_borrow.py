from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, List, Optional

from berth_client import BerthError, Client
from berth_client.environment import Host, WireAnswer, WireRequest
from berth_client.timing import write_timestamp

from .simulation.machine import START, Answered
from .world_test import WorldTest, tells_store


class ABorrow(WorldTest):
    """A server that lends to everybody until a date."""

    def setUp(self) -> None:
        super().setUp()
        self.refuses = False
        self.paths: List[str] = []
        self.machine._network = self.lend
        self.play(lambda: self.client.borrow())

    def lend(self, request: WireRequest, done: Answered) -> None:
        if tells_store(request, done):
            return
        self.paths.append(request.url.rsplit("/", 1)[1])
        self.body = json.loads(request.body)
        if self.refuses and request.url.endswith("/borrow"):
            return done(WireAnswer(400, '{"code": "borrow_until_not_valid"}', None))
        until = datetime.fromtimestamp(START, timezone.utc) + timedelta(days=2)
        fields = {"license_id": 7, "slot_ends_in_seconds": 600, "borrowed_until": until.isoformat()}
        text = "user_unregistered" if request.url.endswith("/unregister") else json.dumps(fields)
        done(WireAnswer(200, text, None))

    def resume(self, user: Optional[str] = "ada") -> str:
        """How it ends."""
        client = Client("http://one.test", "cad", user, environment=self.machine)
        outcome = "never"

        def work() -> None:
            nonlocal outcome
            try:
                outcome = client.resume().user
            except BerthError as error:
                outcome = error.code

        self.play(work)
        return outcome

    def test_ends_at_a_date_or_at_a_text_with_its_zone(self) -> None:
        end = datetime.fromtimestamp(START, timezone.utc) + timedelta(hours=2)
        plus_one = end.astimezone(timezone(timedelta(hours=1)))
        for until in (end, plus_one, plus_one.isoformat(), write_timestamp(end)):
            self.play(lambda: self.client.borrow(until))
            self.assertEqual(self.body["borrowed_until"], write_timestamp(end))
        wrong: Any
        naive = datetime(2026, 12, 24, 18)
        for wrong in (naive, naive.isoformat(), naive.date(), "2026-12-24", "2026-13-24T18:00:00Z", "soon", 1e99):
            with self.assertRaisesRegex(BerthError, '"until" is not a date.*datetime.*zone') as caught:
                self.client.borrow(wrong)
            self.assertEqual(caught.exception.code, "invalid_option")

    def test_is_found_only_by_its_user(self) -> None:
        self.assertEqual([self.resume(), self.resume("ADA")], ["ada", "ada"])
        self.assertEqual([self.resume("bob"), self.resume("ad"), self.resume(None)], ["no_borrow"] * 3)

    def test_is_found_by_another_program_of_the_person_on_the_machine(self) -> None:
        client = Client("http://one.test", "cad", environment=self.machine)
        self.play(lambda: client.acquire().borrow())
        self.machine.restart()
        self.assertRegex(self.resume(None), "^ada@ws-7/1-")
        self.assertEqual(self.resume("ada@ws-7"), "no_borrow")
        self.machine.host = Host("ws-8", "ada")
        self.assertEqual(self.resume(None), "no_borrow")

    def test_that_was_given_back_is_over_and_is_not_stored_again(self) -> None:
        seen = []

        def work() -> None:
            borrow = self.client.borrow()
            borrow.give_back()
            seen.append(borrow.is_valid)
            try:
                borrow.check()
            except BerthError as error:
                seen.append(error.code)

        self.play(work)
        self.assertEqual([*seen, self.resume()], [False, "borrow_ended", "no_borrow"])

    def test_that_is_given_back_while_it_is_checked_is_not_stored_again(self) -> None:
        seen = []
        disk = self.machine.disk

        def work() -> None:
            borrow = self.client.borrow()
            read = disk.read

            def give_back_after_reading(name: str) -> Optional[str]:
                text = read(name)
                disk.read = read  # type: ignore[method-assign]
                borrow.give_back()
                return text

            disk.read = give_back_after_reading  # type: ignore[method-assign]
            try:
                borrow.check()
            except BerthError as error:
                seen.append(error.code)

        self.play(work)
        self.assertEqual((seen, disk.texts), (["borrow_ended"], {}))

    def test_that_an_earlier_program_may_have_made_is_returned_if_it_is_refused_now(self) -> None:
        """And with it the slot, which may not be used before it is taken again."""
        [(name, text)] = self.machine.disk.texts.items()
        events: List[str] = []
        self.machine.disk.texts[name] = json.dumps(
            {**json.loads(text), "lent": None, "asked": {"until": None}}
        )

        def work() -> None:
            slot = self.client.acquire()
            slot.on("lost", lambda _: events.append("lost"))
            slot.on("restored", lambda _: events.append("restored"))
            self.refuses = True
            self.paths.clear()
            with self.assertRaisesRegex(BerthError, "borrow_until_not_valid"):
                slot.borrow()

        self.play(work)
        self.assertEqual(self.paths, ["borrow", "unregister", "register"])
        self.assertEqual((events, self.machine.disk.texts), (["lost", "restored"], {}))

    def test_that_has_ended_does_not_come_back_with_an_earlier_clock(self) -> None:
        self.machine.set_wall_clock(3 * 86_400)
        self.assertEqual(self.resume(), "borrow_ended")
        self.machine.set_wall_clock(-2 * 86_400)
        self.assertEqual(self.resume(), "clock_set_back")
