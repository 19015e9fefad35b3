import { NotSentError, type WireAnswer, type WireRequest } from '../../../packages/client/src/environment.ts';
import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Network } from '../simulation/machine.ts';
import type { World } from '../simulation/world.ts';
import type { Scenario } from './scenario.ts';

const LICENSE_ID = 1;

/** `mute`: carries out requests, and its answers get lost. */
type ServerState = 'up' | 'down' | 'failing' | 'mute';

/**
 * The servers of a scenario: one real app with its real store, under several addresses, in simulated time.
 */
export class Site {
  readonly network: Network;
  readonly #world: World;
  readonly #app: TestApp;
  readonly #scenario: Scenario;
  readonly #states = new Map<string, ServerState>();
  readonly #requests: string[] = [];

  private constructor(world: World, app: TestApp, scenario: Scenario) {
    this.#world = world;
    this.#app = app;
    this.#scenario = scenario;
    this.network = (request, done) => world.wait(this.#pass(request, done));
  }

  static async open(t: Parameters<typeof openTestApp>[0], world: World, scenario: Scenario): Promise<Site> {
    const app = await openTestApp(t, { licenses: [licenseOf(scenario, true)] });
    return new Site(world, app, scenario);
  }

  get urls(): readonly string[] {
    return this.#scenario.servers.map((name) => `http://${name}.test`);
  }

  setState(name: string, state: ServerState): void {
    this.#states.set(`http://${name}.test`, state);
  }

  countRequests(path: string): number {
    return this.#requests.filter((one) => one === path).length;
  }

  async setEnabled(isEnabled: boolean): Promise<void> {
    this.#followTime();
    const license = licenseOf(this.#scenario, isEnabled);
    await this.#app.store.execute({ kind: 'install_license', license, by: 'test' });
  }

  /** What an operator does. */
  async free(user: string): Promise<void> {
    this.#followTime();
    const { status, text } = await this.#app.post('/api/v4/unregister', { product: 'cad', user });
    if (status !== 200) throw new Error(text);
  }

  async readLicense(): Promise<Readonly<Record<string, unknown>>> {
    this.#followTime();
    return (await this.#app.get('/api/v4/license?product=cad')).body;
  }

  async readTotal(): Promise<number> {
    this.#followTime();
    const { body } = await this.#app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 0 });
    return Number(body.total_consumptions);
  }

  async #pass(request: WireRequest, done: (answer: WireAnswer | Error) => void): Promise<void> {
    const { origin, pathname } = new URL(request.url);
    this.#requests.push(pathname.slice('/api/v4/'.length));
    const state = this.#states.get(origin) ?? 'up';
    if (state === 'down') return done(new NotSentError('ECONNREFUSED'));
    if (state === 'failing') return done({ status: 503, text: '{}', date: null });
    this.#followTime();
    const { headers, body } = request;
    const answer = await this.#app.send('POST', pathname, { headers, body });
    const date = new Date(this.#app.clock.readWall()).toUTCString();
    if (state === 'up') done({ status: answer.status, text: answer.text, date });
  }

  /** The server's clock follows the world's when it is asked something. It has whole milliseconds. */
  #followTime(): void {
    const { clock } = this.#app;
    clock.advance(Math.trunc(this.#world.nowMs) - clock.readMonotonicMs());
  }
}

function licenseOf({ license }: Scenario, enabled: boolean) {
  const { slots, timeout_minutes: timeoutMinutes } = license;
  return testLicense(LICENSE_ID, { slots, timeoutMinutes, enabled, features: DEMO_LICENSE.features });
}
