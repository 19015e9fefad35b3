import assert from 'node:assert/strict';
import { waitForCryptography } from '../simulation/cryptography.ts';
import { MachineStorage, type StorageState } from '../simulation/machine-storage.ts';
import { World } from '../simulation/world.ts';
import { Actor, type Attempt } from './actor.ts';
import type { Scenario, Step } from './scenario.ts';
import { Site } from './site.ts';

/** Time for requests that a step has caused. */
const MOMENT_MS = 1;

/** The cast and the stage of one scenario. */
interface Play {
  readonly world: World;
  readonly site: Site;
  readonly attempts: Map<string, Attempt>;
  /** `null`: never. */
  readonly killAt: number | null;
  findActor(step: Step): Actor;
  /** The clients on the same computer. */
  findNeighbours(actor: Actor): readonly Actor[];
}

type Action = (play: Play, step: Step, actor: Actor) => Attempt | Promise<void> | undefined;

const ACTIONS: Readonly<Record<string, Action>> = {
  acquire: (_, step, actor) => actor.try(() => actor.acquire(step.wait ? { wait: String(step.wait) } : {})),
  release: (_, _step, actor) => actor.try(async () => actor.slot?.release()),
  exit: async ({ world }, _, actor) => {
    const released = [...actor.machine.guards].map((guard) => guard.release());
    await world.run(world.nowMs + MOMENT_MS);
    await Promise.all(released);
    actor.startAgain();
  },
  crash: async (_, _step, actor) => actor.startAgain(),
  borrow: (_, { hours }, actor) =>
    actor.try(async () => {
      const options = { until: `${hours}h` };
      actor.borrow = await (actor.slot ?? actor.client).borrow(options);
    }),
  resume: (_, _step, actor) =>
    actor.try(async () => {
      actor.borrow = await actor.client.resume();
    }),
  check: (_, _step, actor) => actor.try(async () => actor.borrow?.check()),
  give_back: (_, _step, actor) => actor.try(async () => actor.borrow?.giveBack()),
  give_back_all: (_, _step, actor) => actor.try(() => actor.giveBackAll()),
  feature: (_, { code }, actor) =>
    actor.try(async () => {
      const feature = await actor.slot?.feature(String(code));
      if (feature !== undefined) actor.features.set(feature.code, feature);
    }),
  consume: (_, { count, key }, actor) =>
    actor.try(() => actor.client.consume(Number(count), key === undefined ? {} : { key: String(key) })),
  queue: (_, { count }, actor) =>
    actor.try(async () => {
      actor.queue ??= actor.client.openQueue();
      await actor.queue.add(Number(count));
    }),
  open_queue: (_, _step, actor) =>
    actor.try(async () => {
      actor.queue = actor.client.openQueue();
    }),
  pass: ({ world }, { seconds }) => world.run(world.nowMs + Number(seconds) * 1000),
  sleep: async ({ world }, { seconds }, actor) => {
    actor.machine.sleep();
    await world.run(world.nowMs + Number(seconds) * 1000);
    actor.machine.wake(() => {});
  },
  pause: async ({ world }, { seconds }, actor) => {
    actor.machine.pause();
    await world.run(world.nowMs + Number(seconds) * 1000);
    actor.machine.resume(() => {});
  },
  set_clock: async ({ findNeighbours }, { seconds }, actor) => {
    for (const { machine } of findNeighbours(actor)) machine.setWallClock(Number(seconds) * 1000);
  },
  storage: async (_, { state, after_writes = 0 }, actor) =>
    actor.machine.storage.setState(state as StorageState, Number(after_writes)),
  copy_storage: async ({ findActor }, { to }, actor) => {
    const { texts } = findActor({ do: '', client: String(to) }).machine.storage;
    texts.clear();
    for (const [name, text] of actor.machine.storage.texts) texts.set(name, text);
  },
  replace: async ({ site }, { name, by }) => site.replace(String(name), String(by)),
  server: async ({ site }, { name, state }) => site.setState(String(name), state as 'up'),
  license: ({ site }, { enabled }) => site.setEnabled(enabled === true),
  free: ({ site }, { client }) => site.free(String(client)),
};

type Check = (play: Play, step: Step, actor: Actor) => unknown;

/** What a check compares with the step's `is`, `are` or `code`. */
const CHECKS: Readonly<Record<string, Check>> = {
  events: (_, _step, actor) => actor.events.splice(0),
  held: (_, _step, actor) => actor.slot?.isHeld === true,
  feature_held: (_, { code }, actor) => actor.features.get(String(code))?.isHeld === true,
  failed: ({ attempts }, { client }) => attempts.get(String(client))?.outcome,
  in_use: async ({ site }, { server }) => (await site.readLicense(server as string)).floating_in_use,
  total: ({ site }, { server }) => site.readTotal(server as string),
  grants: ({ site }) => site.grants,
  queued: async (_, _step, actor) => (await actor.queue?.list())?.length,
  others: async (_, _step, actor) => (await actor.queue?.listOthers())?.length,
  borrows: async (_, _step, actor) => (await actor.client.borrows()).length,
};

/** Whether a program was killed. */
export async function playScenario(
  t: Parameters<typeof Site.open>[0],
  scenario: Scenario,
  killAt: number | null,
): Promise<boolean> {
  const world = new World();
  const site = await Site.open(t, world, scenario);
  if (site.vendorKey !== null) waitForCryptography(world);
  const play: Play = { world, site, attempts: new Map(), killAt, ...hire(world, site, scenario) };
  let wasKilled = false;
  for (const [index, step] of scenario.steps.entries()) {
    const place = `step ${index + 1}: ${JSON.stringify(step)}, killed at ${killAt}`;
    if ('do' in step) wasKilled = (await act(play, step, place)) || wasKilled;
    else await check(play, step, place);
  }
  return wasKilled;
}

/** The actors, who come when they are needed. */
function hire(world: World, site: Site, { clients = {} }: Scenario) {
  const actors = new Map<string, Actor>();
  const storages = new Map<string, MachineStorage>();
  const machineOf = (name: string) => clients[name]?.machine ?? name;
  const findActor = ({ client = 'nobody' }: Step) => {
    const storage = storages.get(machineOf(client)) ?? new MachineStorage();
    storages.set(machineOf(client), storage);
    const actor = actors.get(client) ?? new Actor(world, site, client, clients[client] ?? {}, storage);
    actors.set(client, actor);
    return actor;
  };
  const findNeighbours = ({ machine: { storage } }: Actor) =>
    [...actors.values()].filter(({ machine }) => machine.storage === storage);
  return { findActor, findNeighbours };
}

/** Whether the program was killed. */
async function act(play: Play, step: Step, place: string): Promise<boolean> {
  const action = ACTIONS[String(step.do)];
  assert.ok(action, `There is no such step. ${place}`);
  const actor = play.findActor(step);
  if (step.kill === true) actor.machine.killAt(play.killAt);
  const attempt = action(play, step, actor);
  if (attempt === undefined || attempt instanceof Promise) {
    await attempt;
    return false;
  }
  await play.world.run(play.world.nowMs + MOMENT_MS);
  play.attempts.set(String(step.client), attempt);
  const { isKilled } = actor.machine;
  if (isKilled) actor.startAgain();
  else assertAmong([step.outcome ?? 'done'].flat(), attempt.outcome, place);
  actor.machine.killAt(null);
  return isKilled;
}

async function check(play: Play, step: Step, place: string): Promise<void> {
  if (step.expect === 'requests') {
    const count = play.site.countRequests(String(step.path));
    assert.ok(count >= Number(step.from) && count <= Number(step.to), `${count} requests. ${place}`);
    return;
  }
  const find = CHECKS[String(step.expect)];
  assert.ok(find, `There is no such step. ${place}`);
  const found = await find(play, step, play.findActor(step));
  if (Array.isArray(step.among)) assertAmong(step.among, found, place);
  else assert.deepEqual(found, step.is ?? step.are ?? step.code, place);
}

function assertAmong(right: readonly unknown[], found: unknown, place: string): void {
  assert.ok(right.includes(found), `${found} instead of ${right.join(' or ')}. ${place}`);
}
