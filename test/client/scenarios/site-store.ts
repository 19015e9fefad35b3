import { type OkpJwk, thumbprintOf } from '@berth/protocol/grant/jws';
import { type CertifiedLicense, writeCertificate } from '@berth/protocol/grant/server-certificate';
import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import { DAY_MS, plus } from '../../../packages/server/src/core/nouns/instant.ts';
import { type Certificate, type License, NO_TIE } from '../../../packages/server/src/core/nouns/license.ts';
import { certifiedLicense } from '../../support/certified-license.ts';
import { rsaKeysOf } from '../../support/rsa-keys.ts';
import {
  openTestApp,
  type SendOptions,
  START,
  type TestAnswer,
  type TestApp,
} from '../../support/test-app.ts';
import { testLicense } from '../../support/test-license.ts';
import type { World } from '../simulation/world.ts';
import type { Scenario } from './scenario.ts';

export const LICENSE_ID = 1;
export const HARDWARE_ID = 'test-machine';
/** No scenario lasts as long. */
const CERTIFICATE_DAYS = 90;

/** One real app with its real store and one license, in simulated time. */
export class SiteStore {
  readonly certificate: Certificate | null;
  readonly #world: World;
  readonly #app: TestApp;
  readonly #scenario: Scenario;

  private constructor(world: World, app: TestApp, scenario: Scenario, certificate: Certificate | null) {
    this.#world = world;
    this.#app = app;
    this.#scenario = scenario;
    this.certificate = certificate;
  }

  static async open(t: Parameters<typeof openTestApp>[0], world: World, scenario: Scenario) {
    // In simulated time nobody can wait in line: the clients poll, as on servers that have no line.
    const app = await openTestApp(t, { licenses: [], env: { BERTH_LENDING_MAX_WAITING: '0' } });
    const certificate = scenario.proof === true ? await certify(app, scenario) : null;
    const store = new SiteStore(world, app, scenario, certificate);
    await store.setEnabled(true);
    return store;
  }

  get now(): Date {
    return new Date(this.#app.clock.readWall());
  }

  async setEnabled(isEnabled: boolean): Promise<void> {
    this.#followTime();
    const license = licenseOf(this.#scenario, isEnabled, this.certificate);
    await this.#app.store.execute({ kind: 'install_license', license, by: 'test' });
  }

  send(method: string, path: string, options: SendOptions = {}): Promise<TestAnswer> {
    this.#followTime();
    return this.#app.send(method, path, options);
  }

  /** The server's clock follows the world's when it is asked something. It has whole milliseconds. */
  #followTime(): void {
    const { clock } = this.#app;
    clock.advance(Math.trunc(this.#world.nowMs) - clock.readMonotonicMs());
  }
}

function licenseOf({ license }: Scenario, enabled: boolean, certificate: Certificate | null): License {
  const { slots, timeout_minutes: timeoutMinutes } = license;
  const tie = certificate === null ? NO_TIE : { ...NO_TIE, certificate };
  return testLicense(LICENSE_ID, { slots, timeoutMinutes, enabled, features: DEMO_LICENSE.features, tie });
}

/** What the vendor's cloud does for a server that it knows. */
async function certify(app: TestApp, scenario: Scenario): Promise<Certificate> {
  const [key] = (await app.get('/.well-known/jwks.json')).body.keys as [OkpJwk];
  const license = certifiedLicense(licenseOf(scenario, true, null));
  const { limits, ...claims } = (scenario.certified ?? {}) as Partial<CertifiedLicense>;
  const licenses = [{ ...license, ...claims, limits: { ...license.limits, ...limits } }];
  const expiresAt = plus(START, (scenario.certificate_days ?? CERTIFICATE_DAYS) * DAY_MS);
  const facts = { hardwareId: HARDWARE_ID, licenses, key, issuedAt: START, expiresAt };
  const text = writeCertificate(facts, rsaKeysOf('vendor').privateKey);
  // The server would leave out one that it knows to have expired.
  const lasting = plus(START, CERTIFICATE_DAYS * DAY_MS);
  return { texts: [text], kid: thumbprintOf(key), issuedAt: START, expiresAt: lasting };
}
