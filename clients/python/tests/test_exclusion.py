from __future__ import annotations

import os
import time
import unittest

from berth_client.lease import Margin

from .simulation.exclusion import BothUseIt, Tally, play_for_slot

_SEEDS = int(os.environ.get("BERTH_SEEDS", "10"))
_FIRST = int(os.environ.get("BERTH_SEED") or time.time_ns() % 1_000_000_000)


class TwoClientsAndOneSlot(unittest.TestCase):
    def test_never_use_it_at_the_same_time(self) -> None:
        """The message of a failure has the seed: run it again with BERTH_SEED."""
        tally = Tally()
        for seed in range(_FIRST, _FIRST + _SEEDS):
            play_for_slot(seed, tally)
        self.assertGreater(tally.acquired, _SEEDS)
        self.assertGreater(tally.released, _SEEDS)
        self.assertGreater(tally.lost, _SEEDS / 2)
        self.assertGreater(tally.restored, 0)

    def test_do_so_without_the_margin(self) -> None:
        # Seed 19 is the first that shows it.
        for seed in range(19, 200):
            try:
                play_for_slot(seed, Tally(), Margin(fixed=0, share=0))
            except BothUseIt:
                return
        self.fail("Nobody noticed that the margin is missing")
