import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { WireAnswer } from '../../../packages/client/src/environment.ts';
import { playEvery, readScenarios, type Scenario } from '../scenarios/scenario.ts';
import { Site } from '../scenarios/site.ts';
import { World } from '../simulation/world.ts';
import { PACKAGE, PYTHON, PYTHON_ENV, skip } from './python.ts';

interface Message {
  readonly ask?: string;
  readonly now_ms: number;
  /** The last line of a play: what is wrong, or `null`. */
  readonly ended?: string | null;
  readonly was_killed?: boolean;
  readonly [detail: string]: unknown;
}

describe('the Python client, as in clients/scenarios', { skip }, () => {
  let player: ChildProcessWithoutNullStreams;
  let lines: AsyncIterator<string>;

  before(() => {
    player = spawn(PYTHON ?? '', ['-m', 'tests.scenarios.play'], { cwd: PACKAGE, env: PYTHON_ENV });
    player.stderr.pipe(process.stderr);
    lines = createInterface({ input: player.stdout })[Symbol.asyncIterator]();
  });
  after(() => player.stdin.end());

  for (const scenario of readScenarios())
    test(`${scenario.name}: ${scenario.title}`, (t) =>
      playEvery(scenario, (killAt) => play(t, scenario, killAt)));

  /**
   * Its clients and its time are in Python, and its servers are here. Says whether a program was killed.
   */
  async function play(t: TestContext, scenario: Scenario, killAt: number | null): Promise<boolean> {
    const world = new World();
    const site = await Site.open(t, world, scenario);
    tell({ ...scenario, vendor_key: site.vendorKey, kill_at: killAt });
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('The player has ended.');
      const message = JSON.parse(value) as Message;
      if (message.ended === null) return message.was_killed === true;
      if (message.ended !== undefined) throw new Error(message.ended);
      await world.run(message.now_ms);
      tell((await answer(world, site, message)) ?? null);
    }
  }

  function tell(value: unknown): void {
    player.stdin.write(`${JSON.stringify(value)}\n`);
  }
});

async function answer(world: World, site: Site, message: Message): Promise<unknown> {
  switch (message.ask) {
    case 'request':
      return passOn(world, site, message);
    case 'state':
      return site.setState(String(message.name), message.state as 'up');
    case 'replace':
      return site.replace(String(message.name), String(message.by));
    case 'license':
      return site.setEnabled(message.enabled === true);
    case 'free':
      return site.free(String(message.client));
    case 'requests':
      return site.countRequests(String(message.path));
    case 'in_use':
      return (await site.readLicense(serverOf(message))).floating_in_use;
    case 'grants':
      return site.grants;
    case 'total':
      return site.readTotal(serverOf(message));
    default:
      throw new Error(`Nobody can answer ${message.ask}.`);
  }
}

function serverOf({ server }: Message): string | undefined {
  return typeof server === 'string' ? server : undefined;
}

/** `null` if the server gives no answer. */
async function passOn(world: World, site: Site, message: Message): Promise<WireAnswer | 'refused' | null> {
  let answered: WireAnswer | 'refused' | null = null;
  const { method, url, headers, body } = message;
  const request = { method, url, headers, body, timeoutMs: 0 };
  site.network(request as Parameters<typeof site.network>[0], (one) => {
    answered = one instanceof Error ? 'refused' : one;
  });
  await world.run(world.nowMs);
  return answered;
}
