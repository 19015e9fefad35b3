"""`python3 -m tests.simulation.storm SEED SEEDS` plays with this seed and the following ones."""

from __future__ import annotations

import sys

from .exclusion import Tally, play_for_slot


def main() -> None:
    first, seeds = int(sys.argv[1]), int(sys.argv[2])
    tally = Tally()
    for seed in range(first, first + seeds):
        play_for_slot(seed, tally)
    print(
        f"In Python they did not either: it was taken {tally.acquired} times, returned {tally.released} "
        f"times, lost {tally.lost} times, restored {tally.restored} times."
    )


if __name__ == "__main__":
    main()
