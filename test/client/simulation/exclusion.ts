import assert from 'node:assert/strict';
import { Client } from '../../../packages/client/src/client.ts';
import { NotSentError } from '../../../packages/client/src/environment.ts';
import { MARGIN, type Margin } from '../../../packages/client/src/lending/lease.ts';
import type { Slot } from '../../../packages/client/src/lending/slot.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import { LendingServer } from './lending-server.ts';
import { Machine, type Network } from './machine.ts';
import { World } from './world.ts';

const TIMEOUT_MS = 60_000;
const RUN_MS = 15 * 60_000;
/** Clocks that differ by as much as the documentation allows. */
const DRIFT = 0.01;
/** A program hears of a loss by a timer, which may not run for this long after the machine has woken up. */
const HEARS_AFTER_WAKE_MS = 5100;
/** Between two faults of a machine: a clock that is set back must be noticed before the machine sleeps. */
const QUIET_MS = 12_000;

export interface Tally {
  acquired: number;
  lost: number;
  restored: number;
  released: number;
}

/** The way to the server. */
interface Line {
  isCut: boolean;
}

/** A machine with a program that takes the slot, works for a while, and returns it. */
interface Player {
  readonly machine: Machine;
  readonly line: Line;
  slot: Slot | null;
  /** What the program knows from events alone. */
  thinksHeld: boolean;
}

/**
 * Two programs share one slot for a while, over a bad network, on machines that stand still and whose clocks
 * are wrong. Throws if both may use it at the same moment.
 */
export async function playForSlot(seed: number, margin: Margin = MARGIN): Promise<Tally> {
  const world = new World();
  const random = createRandom(seed);
  const server = new LendingServer(world, { slots: 1, timeoutMs: TIMEOUT_MS, tellsEnd: random() < 0.5 });
  const tally: Tally = { acquired: 0, lost: 0, restored: 0, released: 0 };
  const players = ['one', 'two'].map((name) => {
    const rate = 1 + pickOne(random, [-1, -1, 1, random() * 2 - 1]) * DRIFT;
    const line = { isCut: false };
    const machine = new Machine(world, {
      name,
      random,
      network: createNetwork(world, server, random, line),
      rate,
    });
    const player: Player = { machine, line, slot: null, thinksHeld: false };
    void playOn(player, new Client(machine.environment, OPTIONS, margin), { random, tally });
    return player;
  });
  const look = (...views: (typeof maySee | typeof thinksSo)[]) => {
    for (const sees of views) {
      const holders = players.filter((player) => player.machine.isRunning && sees(player, world));
      assert.ok(holders.length < 2, `seed ${seed}: both use the slot at ${world.nowMs} ms`);
    }
  };
  // A program that has stood still may ask before it hears anything.
  for (const player of players) disturb(world, player, random, () => look(maySee));
  disturbServer(world, server, random);
  await world.run(RUN_MS, () => look(maySee, thinksSo));
  return tally;
}

const OPTIONS = { server: 'http://berth.test', product: 'cad' };

/** A program that asks before it works. */
function maySee({ slot }: Player): boolean {
  return slot?.isHeld === true;
}

/** A program that relies on events. */
function thinksSo({ machine, thinksHeld }: Player, { nowMs }: World): boolean {
  return thinksHeld && nowMs > machine.wokeAtMs + HEARS_AFTER_WAKE_MS;
}

interface Game {
  readonly random: Random;
  readonly tally: Tally;
}

async function playOn(player: Player, client: Client, { random, tally }: Game): Promise<void> {
  const rest = (longestMs: number) =>
    new Promise<void>((resolve) => {
      player.machine.environment.setTimer(random() * longestMs, resolve, 'foreground');
    });
  for (;;) {
    await rest(10_000);
    const slot = await client.acquire({ wait: '1h' }).catch(() => null);
    if (slot === null) continue;
    tally.acquired += 1;
    Object.assign(player, { slot, thinksHeld: slot.isHeld });
    slot.on('lost', () => {
      tally.lost += 1;
      player.thinksHeld = false;
    });
    slot.on('restored', () => {
      tally.restored += 1;
      player.thinksHeld = true;
    });
    await rest(pickOne(random, [20_000, 300_000]));
    Object.assign(player, { slot: null, thinksHeld: false });
    await slot.release();
    tally.released += 1;
  }
}

function createNetwork(world: World, server: LendingServer, random: Random, line: Line): Network {
  const delay = () => (random() < 0.9 ? random() * 100 : random() * 20_000);
  return (request, done) => {
    const isLost = random() < 0.05;
    const isUnanswered = random() < 0.05;
    if (isLost || line.isCut) return;
    world.at(world.nowMs + delay(), () => {
      const answer = server.isDown ? new NotSentError('ECONNREFUSED') : server.answer(request);
      if (!isUnanswered && !line.isCut) world.at(world.nowMs + delay(), () => done(answer));
    });
  };
}

function disturb(world: World, player: Player, random: Random, look: () => void): void {
  const { machine, line } = player;
  const startMs = world.nowMs + QUIET_MS + random() * 100_000;
  const kind = pickOne(random, ['pause', 'sleep', 'set', 'cut', 'cut'] as const);
  const endMs = kind === 'set' ? startMs : startMs + pickNumber(random, { from: 100, to: 150_000 });
  world.at(startMs, () => {
    if (kind === 'pause') machine.pause();
    if (kind === 'sleep') machine.sleep();
    if (kind === 'set') machine.setWallClock(pickOne(random, [-1, 1]) * random() * 3_600_000);
    if (kind === 'cut') line.isCut = true;
  });
  world.at(endMs, () => {
    if (kind === 'pause') machine.resume(look);
    if (kind === 'sleep') machine.wake(look);
    line.isCut = false;
    disturb(world, player, random, look);
  });
}

function disturbServer(world: World, server: LendingServer, random: Random): void {
  const startMs = world.nowMs + random() * 600_000;
  world.at(startMs, () => {
    server.isDown = true;
  });
  world.at(startMs + random() * 120_000, () => {
    if (random() < 0.5) server.restart();
    server.isDown = false;
    disturbServer(world, server, random);
  });
}
