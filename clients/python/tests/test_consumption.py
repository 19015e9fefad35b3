from __future__ import annotations

import json
from typing import Any, Dict, List

from berth_client import Client, CountQueue
from berth_client.environment import NotSentError, WireAnswer, WireRequest

from .simulation.machine import Answered
from .world_test import WorldTest, tells_store


class AQueue(WorldTest):
    """A server that counts, and whose answers may get lost."""

    def setUp(self) -> None:
        super().setUp()
        self.state = "up"
        self.by_key: Dict[str, int] = {}
        self.machine._network = self.count

    def count(self, request: WireRequest, done: Answered) -> None:
        if self.state == "down":
            return done(NotSentError("refused"))
        if tells_store(request, done):
            return
        self.by_key[request.headers["Idempotency-Key"]] = json.loads(request.body)["consumptions"]
        if self.state == "up":
            done(
                WireAnswer(200, json.dumps({"total_consumptions": self.total, "max_consumptions": 10}), None)
            )

    @property
    def total(self) -> int:
        return sum(self.by_key.values())

    def test_sends_what_an_earlier_program_has_stored(self) -> None:
        self.state = "down"
        self.play(lambda: self.client.open_queue().add(3))
        self.machine.restart()
        self.state = "up"
        self.play(lambda: self.client.open_queue())
        self.assertEqual((self.total, self.machine.storage.texts), (3, {}))

    def test_says_what_becomes_of_its_counts(self) -> None:
        events: List[str] = []

        def work() -> None:
            queue = self.client.open_queue()
            queue.on("blocked", lambda event: events.append(event.error.code))
            queue.on("sent", lambda event: events.append(f"{event.total.total} of {event.total.max}"))
            queue.add(2, feature="export")

        self.state = "down"
        self.play(work, 60)
        self.state = "up"
        self.world.run(200)
        self.assertEqual(events, ["unreachable", "2 of 10"])

    def test_keeps_what_only_a_page_that_is_not_from_berth_has_accepted(self) -> None:
        count = self.machine._network
        self.machine._network = lambda _, done: done(WireAnswer(200, '{"status": "ok"}', None))
        self.play(lambda: self.client.open_queue().add(3))
        self.assertEqual(len(self.machine.storage.texts), 1)
        self.machine._network = count
        self.world.run(60)
        self.assertEqual((self.total, self.machine.storage.texts), (3, {}))

    def test_leaves_the_counts_of_other_products_alone(self) -> None:
        self.state = "down"
        other = Client("http://one.test", "cad-2", environment=self.machine)
        self.play(lambda: other.open_queue().add())
        self.machine.restart()
        self.state = "up"
        self.play(lambda: self.assertTrue(self.client.open_queue().flush()))
        self.assertEqual((self.total, len(self.machine.storage.texts)), (0, 1))

    def test_waits_for_a_decision_about_a_count_that_may_have_been_counted(self) -> None:
        queues: List[CountQueue] = []
        uncertain: List[str] = []
        self.state = "mute"

        def work() -> None:
            queue = self.client.open_queue()
            queue.on("uncertain", lambda event: uncertain.append(event.count.key))
            queue.add(5, feature="export")
            queues.append(queue)

        self.play(work, 30)
        self.state = "down"
        self.world.run(86_400)
        self.state = "up"
        self.world.run(86_600)
        self.assertEqual(len(set(uncertain)), 1)
        self.play(lambda: queues[0].settle(uncertain[0], was_counted=False))
        self.assertEqual((len(self.by_key), self.total), (2, 10))
        self.assertEqual(queues[0].list(), [])

    def test_waits_as_long_as_it_has_to_if_nothing_was_sent(self) -> None:
        self.state = "down"
        self.play(lambda: self.client.open_queue().add(), 100_000)
        self.state = "up"
        self.world.run(100_100)
        self.assertEqual(self.total, 1)

    def test_sends_nothing_after_it_was_closed(self) -> None:
        def work() -> None:
            with self.client.open_queue() as queue:
                queue.add()

        self.state = "down"
        self.play(work)
        self.state = "up"
        self.world.run(1000)
        self.assertEqual((self.total, len(self.machine.storage.texts)), (0, 1))

    def test_sends_what_is_added_while_it_finds_out_its_server(self) -> None:
        count = self.machine._network

        def network(request: WireRequest, done: Answered) -> None:
            self.world.at(self.world.now + (2 if request.method == "GET" else 0), lambda: count(request, done))

        def work() -> None:
            queue = self.client.open_queue()
            queue.add(1)
            self.machine.create_signal().wait(1)
            queue.add(2)

        self.machine._network = network
        self.play(work, 5)
        self.assertEqual((self.total, self.machine.storage.texts), (3, {}))

    def test_counts_for_another_server_are_listed_and_not_sent(self) -> None:
        self.state = "down"
        self.play(lambda: self.client.open_queue().add(3))
        self.machine.restart()
        self.state = "up"
        other = Client("http://two.test", "cad", environment=self.machine)
        seen: List[object] = []

        def work() -> None:
            queue = other.open_queue()
            queue.add(1)
            seen.append(queue.flush())
            seen.extend(count.body["consumptions"] for count in queue.list_others())
            seen.extend(count.binding for count in queue.list_others())

        self.play(work)
        self.assertEqual((self.total, seen[:2]), (1, [True, 3]))
        self.assertRegex(str(seen[2]), "^addresses-[0-9a-f]{32}$")

    def test_waits_for_files_that_cannot_be_read(self) -> None:
        events: List[str] = []
        listed = self.machine.storage.list

        def fail(prefix: str) -> List[str]:
            raise OSError("disk gone")

        def work() -> None:
            queue = self.client.open_queue()
            queue.on("blocked", lambda event: events.append(event.error.code))
            queue.add(2)
            self.machine.storage.list = fail  # type: ignore[method-assign]

        self.play(work, 60)
        self.machine.storage.list = listed  # type: ignore[method-assign]
        self.world.run(200)
        self.assertEqual((events, self.total), (["storage_failed"], 2))

    def test_passes_over_a_file_that_is_damaged(self) -> None:
        self.machine.storage.write("count@cad@0", "{")
        self.play(lambda: self.client.open_queue().add(2))
        self.assertEqual(self.total, 2)

    def test_leaves_counts_of_newer_clients_and_damaged_ones_alone(self) -> None:
        self.state = "down"
        self.play(lambda: self.client.open_queue().add(2))
        self.machine.restart()
        texts = self.machine.storage.texts
        [(name, text)] = texts.items()
        stored = json.loads(text)
        self.assertEqual(stored["version"], 1)
        # Each is whole but for one field.
        wrong: List[Dict[str, Any]] = [{"version": 2}, {"version": None}, {"version": True}, {"key": 7}]
        wrong += [{"path": "register"}, {"body": [["product", "cad"]]}, {"triedAtMs": "1"}, {"triedAtMs": True}]
        left = {f"{name}{at}": json.dumps({**stored, "key": str(at), **one}) for at, one in enumerate(wrong)}
        texts.update(left)
        self.state = "up"
        self.play(lambda: self.client.open_queue(), 600)
        self.assertEqual((self.total, texts), (2, left))
