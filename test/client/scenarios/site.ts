import { generateKeyPairSync } from 'node:crypto';
import { GRANT_TYPE } from '@berth/protocol/grant/grant-claims';
import { type OkpJwk, thumbprintOf, writeJws } from '@berth/protocol/grant/jws';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import { NotSentError, type WireAnswer, type WireRequest } from '../../../packages/client/src/environment.ts';
import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import { HOUR_MS, plus } from '../../../packages/server/src/core/nouns/instant.ts';
import { type Certificate, type License, NO_TIE } from '../../../packages/server/src/core/nouns/license.ts';
import { certifiedLicense } from '../../support/certified-license.ts';
import { openTestApp, START, type TestApp } from '../../support/test-app.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Network } from '../simulation/machine.ts';
import type { World } from '../simulation/world.ts';
import type { Scenario } from './scenario.ts';

const LICENSE_ID = 1;

/**
 * `mute`: carries out requests, and its answers get lost. `fake`: somebody else answers at its address, and
 * lends to everybody for ever. `portal`: a page for guests answers everything.
 */
type ServerState = 'up' | 'down' | 'failing' | 'mute' | 'fake' | 'portal';

const PORTAL_PAGE = '<html>Please sign in to the guest network</html>';

const HARDWARE_ID = 'test-machine';
const createVendor = once(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));

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
  readonly #certificate: Certificate | null;
  #grants = 0;

  private constructor(world: World, app: TestApp, scenario: Scenario, certificate: Certificate | null) {
    this.#world = world;
    this.#app = app;
    this.#scenario = scenario;
    this.#certificate = certificate;
    this.network = (request, done) => world.wait(this.#pass(request, done));
  }

  static async open(t: Parameters<typeof openTestApp>[0], world: World, scenario: Scenario): Promise<Site> {
    const app = await openTestApp(t, { licenses: [] });
    const site = new Site(
      world,
      app,
      scenario,
      scenario.proof === true ? await certify(app, licenseOf(scenario, true, null)) : null,
    );
    await site.setEnabled(true);
    return site;
  }

  /** `null`: the clients do not have it. */
  get vendorKey(): string | null {
    if (this.#certificate === null) return null;
    return createVendor().publicKey.export({ type: 'spki', format: 'pem' }).toString();
  }

  /** How many the servers have signed. */
  get grants(): number {
    return this.#grants;
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
    const license = licenseOf(this.#scenario, isEnabled, this.#certificate);
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
    if (state === 'portal') return done({ status: 200, text: PORTAL_PAGE, date: null });
    if (state === 'fake') return done(this.#pretend(request));
    this.#followTime();
    const { headers, body } = request;
    const answer = await this.#app.send('POST', pathname, { headers, body });
    if (answer.body.grant !== undefined) this.#grants += 1;
    const date = new Date(this.#app.clock.readWall()).toUTCString();
    const retryAfter = answer.headers.get('retry-after');
    if (state === 'up') done({ status: answer.status, text: answer.text, date, retryAfter });
  }

  /** It has the certificate of the real server, which everybody may have seen, but not its key. */
  #pretend({ body }: WireRequest): WireAnswer {
    const { nonce, user, product } = JSON.parse(body);
    const dates = { issued_at: '2030-01-15T12:00:00Z', valid_until: '2040-01-15T12:00:00Z' };
    const claims = { license_id: LICENSE_ID, product, user, feature: null, hardware_id: HARDWARE_ID };
    const { privateKey } = generateKeyPairSync('ed25519');
    const header = { alg: 'EdDSA', typ: GRANT_TYPE } as const;
    const grant = writeJws(header, { ...claims, nonce, limits: {}, features: [], ...dates }, privateKey);
    const proof = nonce === undefined ? {} : { grant, certificate: this.#certificate?.texts[0] };
    const lease = { license_id: LICENSE_ID, slot_ends_in_seconds: 1e9, renew_in_seconds: 1e8 };
    return { status: 200, text: JSON.stringify({ ...lease, ...proof }), date: null };
  }

  /** The server's clock follows the world's when it is asked something. It has whole milliseconds. */
  #followTime(): void {
    const { clock } = this.#app;
    clock.advance(Math.trunc(this.#world.nowMs) - clock.readMonotonicMs());
  }
}

function licenseOf({ license }: Scenario, enabled: boolean, certificate: Certificate | null) {
  const { slots, timeout_minutes: timeoutMinutes } = license;
  const tie = certificate === null ? NO_TIE : { ...NO_TIE, certificate };
  return testLicense(LICENSE_ID, { slots, timeoutMinutes, enabled, features: DEMO_LICENSE.features, tie });
}

/** What the vendor's cloud does for a server that it knows. */
async function certify(app: TestApp, license: License): Promise<Certificate> {
  const [key] = (await app.get('/.well-known/jwks.json')).body.keys as [OkpJwk];
  const expiresAt = plus(START, 90 * 24 * HOUR_MS);
  const facts = {
    hardwareId: HARDWARE_ID,
    licenses: [certifiedLicense(license)],
    key,
    issuedAt: START,
    expiresAt,
  };
  const text = writeCertificate(facts, createVendor().privateKey);
  return { texts: [text], kid: thumbprintOf(key), issuedAt: START, expiresAt };
}

function once<Value>(create: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= create();
    return value;
  };
}
