from __future__ import annotations

import asyncio
import json
import threading
import unittest
from typing import Any, List, Optional, cast
from unittest import mock

from berth_client import Client, Slot
from berth_client.ending import Ending
from berth_client.environment import NotSentError, WireAnswer, WireRequest
from berth_client.errors import BerthError, SlotLostError

from .simulation.machine import Answered, Machine
from .world_test import WorldTest


class ASlot(WorldTest):
    def acquire(self) -> Slot:
        slots: List[Slot] = []
        self.play(lambda: slots.append(self.client.acquire()))
        return slots[0]

    def test_is_not_kept_by_a_page_that_says_ok_to_everything(self) -> None:
        slot = self.acquire()
        events: List[str] = []
        slot.on("unreachable", lambda _: events.append("unreachable"))
        slot.on("lost", lambda event: events.append(event.reason))
        self.machine._network = lambda _, done: done(WireAnswer(200, "<html>Welcome</html>", None))
        self.world.run(592.5)
        self.assertEqual((events, slot.is_held), (["unreachable", "ended"], False))
        self.play(lambda: self.assertFalse(slot.release()))

    def test_is_a_context_manager(self) -> None:
        def work() -> None:
            with self.client.acquire() as slot:
                slot.assert_held()
                self.assertAlmostEqual(slot.held_for, 592)
                self.assertEqual(self.server.users, ["ada"])

        self.play(work)
        self.assertEqual(self.server.users, [])

    def test_describes_itself_and_its_life_in_the_log(self) -> None:
        with self.assertLogs("berth", "DEBUG") as logged:
            slot = self.acquire()
            self.assertEqual(repr(slot), "<Slot of 'cad' for 'ada', held for 591 s>")
            self.is_down["one"] = True
            self.world.run(600)
            self.is_down["one"] = False
            self.world.run(620)
            self.play(slot.release)
        self.assertEqual(repr(slot), "<Slot of 'cad' for 'ada', released>")
        words = [(one.levelname, one.getMessage().split(".")[0]) for one in logged.records]
        about = '"cad" for ada: '
        self.assertEqual(
            words,
            [
                ("INFO", about + "taken"),
                ("WARNING", about + "unreachable"),
                ("WARNING", about + "lost (ended)"),
                ("INFO", about + "reachable"),
                ("INFO", about + "restored"),
                ("INFO", about + "released"),
            ],
        )

    def test_has_no_other_events(self) -> None:
        slot = self.acquire()
        wrong: Any = "los"
        with self.assertRaisesRegex(BerthError, 'no event "los".*unreachable, reachable, denied, lost, restored'):
            slot.on(wrong, print)
        with self.assertRaisesRegex(BerthError, 'no event "los".*sent, refused, blocked, uncertain'):
            self.client.open_queue().on(wrong, print)

    def test_ends_with_async_with_beside_the_event_loop(self) -> None:
        slot = self.acquire()
        ended: List[int] = []

        class Watched(Ending):
            def _finish(self) -> None:
                ended.append(threading.get_ident())

        async def work() -> None:
            async with Watched() as watched:
                self.assertIsInstance(watched, Ending)

        asyncio.run(work())
        self.assertNotIn(threading.get_ident(), ended)
        self.assertEqual(len(ended), 1)
        self.assertIsInstance(slot, Ending)

    def test_is_not_kept_by_a_task_that_is_cancelled(self) -> None:
        returned = threading.Event()
        slot = mock.Mock(release=returned.set)

        def take(_: object, on_wait: object, cancel: threading.Event) -> Slot:
            cancel.wait()
            return cast(Slot, slot)

        async def work() -> None:
            task = asyncio.ensure_future(client.acquire_async())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await asyncio.get_running_loop().run_in_executor(None, returned.wait)

        client = Client("http://one.test", "cad")
        with mock.patch.object(client, "acquire", take):
            asyncio.run(work())
        self.assertTrue(returned.is_set())

    def test_is_returned_when_the_work_fails(self) -> None:
        def work() -> None:
            with self.assertRaisesRegex(ValueError, "oops"):
                with self.client.acquire():
                    raise ValueError("oops")

        self.play(work)
        self.assertEqual(self.server.users, [])

    def test_asks_briefly_when_it_renews(self) -> None:
        self.acquire()
        self.world.run(200)
        first, second = (request for _, request in self.server.requests)
        self.assertNotIn("Prefer", first.headers)
        self.assertEqual(second.headers["Prefer"], "return=minimal")
        self.assertEqual(json.loads(second.body)["license_id"], 1)

    def test_tells_of_its_loss_with_the_failure_that_comes_after_its_end(self) -> None:
        slot = self.acquire()
        events: List[str] = []
        slot.on("unreachable", lambda _: events.append("unreachable"))
        slot.on("lost", lambda _: events.append("lost"))
        waiting: List[Answered] = []
        self.machine._network = lambda _, done: waiting.append(done)
        self.world.run(185)
        self.machine.sleep()
        self.world.run(900)
        self.machine.wake(lambda: waiting[0](NotSentError("refused")))
        # No timer has had time to run.
        self.world.run(900)
        self.assertEqual(events, ["lost", "unreachable"])

    def test_that_was_taken_is_asked_for_again_when_the_server_says(self) -> None:
        self.acquire()
        asked_at: List[float] = []

        def network(_: WireRequest, done: Answered) -> None:
            asked_at.append(self.world.now)
            done(WireAnswer(400, json.dumps({"status": 400, "code": "floating_not_available"}), None, "30"))

        self.machine._network = network
        self.world.run(600)
        pauses = [later - earlier for earlier, later in zip(asked_at, asked_at[1:])]
        self.assertGreater(len(pauses), 5)
        self.assertTrue(all(15 <= pause <= 45 for pause in pauses), pauses)

    def test_cannot_be_taken_twice_by_one_user_of_a_program(self) -> None:
        self.acquire()

        def work() -> None:
            with self.assertRaises(BerthError) as caught:
                Client("http://one.test", "cad", "ada", environment=self.machine).acquire()
            self.assertEqual(caught.exception.code, "slot_in_use_here")

        self.play(work)

    def test_has_another_default_user_each_time(self) -> None:
        client = Client("http://one.test", "cad", environment=self.machine)
        users: List[str] = []

        def work() -> None:
            for _ in range(2):
                with client.acquire() as slot:
                    users.append(slot.user)

        self.play(work)
        self.assertRegex(users[0], r"^ada@ws-7/1-\w+$")
        self.assertNotEqual(users[0], users[1])

    def test_has_one_name_in_all_its_requests_and_the_next_slot_another(self) -> None:
        client = Client("http://one.test", "cad", "ada", environment=self.machine)
        for _ in range(2):
            slots: List[Slot] = []
            self.play(lambda: slots.append(client.acquire()))
            self.world.run(self.world.now + 300)
            self.play(slots[0].release)
        names = [json.loads(request.body)["instance"] for _, request in self.server.requests]
        self.assertEqual(len(set(names)), 2)
        self.assertEqual(names, sorted(names))
        self.assertGreater(len(names), 4)

    def test_is_another_program_of_its_user_after_a_fork(self) -> None:
        client = Client("http://one.test", "cad", "ada", environment=self.machine)
        self.play(lambda: client.acquire().release())
        self.fork()
        self.play(lambda: client.acquire())
        names = [json.loads(request.body)["instance"] for _, request in self.server.requests]
        self.assertEqual([names[0] == name for name in names], [True, True, False])

    def test_belongs_to_another_user_after_a_fork(self) -> None:
        client = Client("http://one.test", "cad", environment=self.machine)
        before = client.user
        self.fork()
        self.play(lambda: client.acquire())
        self.assertRegex(client.user, r"^ada@ws-7/2-\w+$")
        self.assertNotEqual(client.user, before)

    def test_is_not_returned_by_a_child_process(self) -> None:
        slot = self.acquire()
        self.fork()
        self.play(lambda: self.assertFalse(slot.release()))
        self.assertEqual(self.server.users, ["ada"])

    def test_can_be_released_by_a_listener(self) -> None:
        slot = self.acquire()
        slot.on("unreachable", lambda _: slot.release())
        self.is_down["one"] = True
        self.world.run(300)
        with self.assertRaisesRegex(SlotLostError, "released.*acquire") as caught:
            slot.assert_held()
        self.assertEqual((caught.exception.code, caught.exception.is_retryable), ("slot_released", False))

    def test_survives_a_listener_that_fails(self) -> None:
        slot = self.acquire()
        heard: List[float] = []

        def fail(_: object) -> None:
            raise ValueError("oops")

        slot.on("unreachable", fail)
        slot.on("unreachable", lambda event: heard.append(event.held_for))
        self.is_down["one"] = True
        self.world.run(300)
        self.assertEqual([str(error) for error in self.machine.reported], ["oops"])
        self.assertEqual(len(heard), 1)
        self.is_down["one"] = False
        self.world.run(400)
        self.assertGreater(slot.held_for, 400)

    def test_is_not_announced_to_a_listener_that_was_removed(self) -> None:
        slot = self.acquire()
        heard: List[object] = []
        remove = slot.on("unreachable", heard.append)
        remove()
        self.is_down["one"] = True
        self.world.run(300)
        self.assertEqual(heard, [])

    def test_is_returned_after_the_request_that_is_under_way(self) -> None:
        slot = self.acquire()
        answer = self.server.answer
        self.machine._network = lambda request, done: self.world.at(
            self.world.now + 5, lambda: done(answer(request))
        )
        self.world.run(181)
        self.play(lambda: slot.release(), 15)
        self.assertEqual([path for path, _ in self.server.requests], ["register", "register", "unregister"])
        self.assertEqual(self.server.users, [])

    def test_tells_those_who_wait_for_its_loss(self) -> None:
        slot = self.acquire()
        heard: List[float] = []

        def wait() -> None:
            self.assertFalse(slot.wait_until_lost(10))
            self.assertTrue(slot.wait_until_lost())
            heard.append(self.world.now)

        self.world.start(wait)
        self.is_down["one"] = True
        self.world.run(700)
        self.assertAlmostEqual(heard[0], 592, delta=1)

    def test_goes_on_without_a_token_that_cannot_be_got(self) -> None:
        tokens = iter(["first"])
        client = Client("http://one.test", "cad", "bob", token=lambda: next(tokens), environment=self.machine)
        slots: List[Slot] = []
        self.play(lambda: slots.append(client.acquire()))
        self.world.run(200)
        self.assertTrue(slots[0].is_held)
        with self.assertRaisesRegex(BerthError, '^The function "token" failed: .*Correct the function'):
            client.consume(1, retry_for=0)
        self.assertEqual(self.server.requests[0][1].headers["Authorization"], "Bearer first")

    def test_can_be_given_up_while_waiting(self) -> None:
        self.acquire()
        other = Client("http://one.test", "cad", "bob", environment=self.machine)
        cancel = self.machine.create_signal()
        outcome: List[str] = []

        def wait() -> None:
            try:
                other.acquire("1h", cancel=cancel, on_wait=lambda waiting: outcome.append(waiting.error.code))
            except BerthError as error:
                outcome.append(error.code)

        self.play(wait)
        cancel.set()
        self.world.run(self.world.now + 1)
        self.assertEqual(outcome[-1], "cancelled")
        self.assertEqual(set(outcome[:-1]), {"floating_not_available"})


class AProgramThatEndsWhileItAsks(WorldTest):
    def end_while_asking(self, answers_after: float) -> List[str]:
        """What the server hears if it answers the first request after this time, and the program ends."""
        slots: List[Slot] = []

        def network(request: WireRequest, done: Answered) -> None:
            answer = self.server.answer(request)
            delay = answers_after if len(self.server.requests) == 1 else 0
            self.world.at(self.world.now + delay, lambda: done(answer))

        self.machine._network = network
        self.play(lambda: slots.append(self.client.acquire("5m")), 0.1)
        self.play(lambda: self.machine.guards[0].release_in_time(2), 60)
        self.assertEqual(slots, [])
        return [path for path, _ in self.server.requests]

    def test_returns_a_slot_that_it_has_not_heard_of(self) -> None:
        for answers_after in (1e9, 1, 5):
            self.setUp()
            self.assertEqual(self.end_while_asking(answers_after), ["register", "unregister"])
            self.assertEqual(self.server.users, [])

    def test_returns_nothing_if_it_has_nothing(self) -> None:
        self.play(lambda: Client("http://one.test", "cad", "bob", environment=self.machine).acquire())
        self.server.requests.clear()
        self.machine.guards.clear()
        self.assertEqual(self.end_while_asking(0), ["register"])
        self.assertEqual(self.server.users, ["bob"])

    def test_leaves_the_slot_of_its_parent_alone(self) -> None:
        self.machine._network = lambda request, _: self.server.answer(request) and None
        self.play(lambda: self.client.acquire())
        self.fork()
        self.play(lambda: self.machine.guards[0].release_in_time(2))
        self.assertEqual(self.server.users, ["ada"])


class AWait(WorldTest):
    def pauses(
        self, chance: float, retry_after: Optional[str], free_at: str = "", wait: str = "5m"
    ) -> List[float]:
        """How long a client pauses that is told this at noon, in seconds."""
        answer = {"status": 400, "code": "floating_not_available", "next_free_at": free_at}
        noon = "Tue, 15 Jan 2030 12:00:00 GMT"

        def network(_: WireRequest, done: Answered) -> None:
            done(WireAnswer(400, json.dumps(answer), noon, retry_after))

        machine = Machine(self.world, "ws-8", lambda: chance, network)
        client = Client("http://one.test", "cad", "bob", environment=machine)
        pauses: List[float] = []

        def work() -> None:
            with self.assertRaisesRegex(BerthError, "floating_not_available"):
                client.acquire(wait, on_wait=lambda waiting: pauses.append(waiting.retry_in))

        self.play(work, 400)
        return pauses

    def test_pauses_about_as_long_as_the_server_says_each_time(self) -> None:
        self.assertEqual(self.pauses(0, "30")[:9], [15] * 9)
        self.assertEqual(self.pauses(0.9, "30")[:7], [42] * 7)

    def test_pauses_until_a_slot_ends_and_then_up_to_as_long_as_the_server_says(self) -> None:
        free_at = "2030-01-15T12:00:05Z"
        self.assertEqual(self.pauses(0, "30", free_at)[0], 5)
        self.assertEqual(self.pauses(0.9, "30", free_at)[0], 5 + 27)
        self.assertEqual(self.pauses(0.5, None, "2030-01-15T12:00:00Z")[:9], [0.25] * 9)

    def test_pauses_longer_each_time_if_the_server_says_nothing(self) -> None:
        for nothing in (None, "Tue, 15 Jan 2030 12:00:30 GMT", "0", "-1", "٣"):
            self.assertEqual(self.pauses(1, nothing)[:8], [0.5, 1, 2, 4, 8, 16, 20, 20])

    def test_is_never_longer_than_it_was_asked_for(self) -> None:
        self.assertEqual(self.pauses(1, "100", wait="20s"), [20])


class TheRealSignal(unittest.TestCase):
    def test_is_accepted_as_cancel(self) -> None:
        cancel = threading.Event()
        cancel.set()
        with self.assertRaisesRegex(BerthError, "cancelled"):
            Client("http://127.0.0.1:1", "cad").acquire("5m", cancel=cancel)
