import assert from 'node:assert/strict';
import { waitForCryptography } from '../simulation/cryptography.ts';
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
  findActor(step: Step): Actor;
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
  give_back: (_, _step, actor) => actor.try(async () => actor.borrow?.giveBack()),
  feature: (_, { code }, actor) =>
    actor.try(async () => {
      const feature = await actor.slot?.feature(String(code));
      if (feature !== undefined) actor.features.set(feature.code, feature);
    }),
  consume: (_, { count }, actor) => actor.try(() => actor.client.consume(Number(count))),
  queue: (_, { count }, actor) =>
    actor.try(async () => {
      actor.queue ??= actor.client.openQueue();
      await actor.queue.add(Number(count));
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
  set_clock: async (_, { seconds }, actor) => actor.machine.setWallClock(Number(seconds) * 1000),
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
  in_use: async ({ site }) => (await site.readLicense()).floating_in_use,
  total: ({ site }) => site.readTotal(),
  grants: ({ site }) => site.grants,
  queued: async (_, _step, actor) => (await actor.queue?.list())?.length,
};

export async function playScenario(t: Parameters<typeof Site.open>[0], scenario: Scenario): Promise<void> {
  const world = new World();
  const site = await Site.open(t, world, scenario);
  if (site.vendorKey !== null) waitForCryptography(world);
  const actors = new Map<string, Actor>();
  const findActor = ({ client = 'nobody' }: Step) => {
    const actor = actors.get(client) ?? new Actor(world, site, client);
    actors.set(client, actor);
    return actor;
  };
  const play: Play = { world, site, attempts: new Map(), findActor };
  for (const [index, step] of scenario.steps.entries()) {
    const place = `step ${index + 1}: ${JSON.stringify(step)}`;
    if ('do' in step) await act(play, step, place);
    else await check(play, step, place);
  }
}

async function act(play: Play, step: Step, place: string): Promise<void> {
  const action = ACTIONS[String(step.do)];
  assert.ok(action, `There is no such step. ${place}`);
  const attempt = action(play, step, play.findActor(step));
  if (attempt === undefined || attempt instanceof Promise) return attempt;
  await play.world.run(play.world.nowMs + MOMENT_MS);
  play.attempts.set(String(step.client), attempt);
  assert.equal(attempt.outcome, step.outcome ?? 'done', place);
}

async function check(play: Play, step: Step, place: string): Promise<void> {
  if (step.expect === 'requests') {
    const count = play.site.countRequests(String(step.path));
    assert.ok(count >= Number(step.from) && count <= Number(step.to), `${count} requests. ${place}`);
    return;
  }
  const find = CHECKS[String(step.expect)];
  assert.ok(find, `There is no such step. ${place}`);
  assert.deepEqual(await find(play, step, play.findActor(step)), step.is ?? step.are ?? step.code, place);
}
