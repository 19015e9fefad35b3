import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { License } from '../../../packages/server/src/core/nouns/license.ts';
import { quantile } from '../../bench/two-samples.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { makeTestCertificate } from '../../support/certificate.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { startPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';

/** What the storms of the line have in common. */
export interface LineOptions {
  readonly waiters: number;
  readonly slots: number;
  readonly holdMs: number;
  readonly seed: number;
  /** Two servers on one database. */
  readonly postgres: boolean;
  readonly tls: boolean;
  /** Slots end by their timeout; nobody returns them. */
  readonly byTimeout: boolean;
  /** How many of the waiters are killed. */
  readonly killed: number;
  readonly pollers: number;
  /** How long those who wait compete with those who repeat the call. */
  readonly seconds: number;
}

/** What a storm found: figures to print, and what must not happen. */
export interface Report {
  readonly lines: readonly string[];
  readonly violations: readonly string[];
}

export const REGISTER = '/api/v4/register';
export const WAIT = { prefer: 'return=minimal, wait=50' };

const MANY_WAITERS = [
  ['--http-max-connections', '25000'],
  ['--http-max-connections-per-address', '25000'],
  ['--lending-max-waiting', '12500'],
  ['--limits-new-slots-per-hour', '1000000'],
].flat();

export function ask(user: string) {
  return { product: 'cad', user };
}

export function sayTimes(what: string, timesMs: readonly number[]): string {
  if (timesMs.length === 0) return `${what}: never`;
  const at = (share: number) => `${Math.round(quantile(timesMs, share))} ms`;
  return `${what}: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} (${timesMs.length})`;
}

/** Servers on which clients wait, and what ends with the storm. */
export class LineSite {
  readonly servers: ServerUnderTest[] = [];
  readonly violations: string[] = [];
  readonly #ends: (() => Promise<void>)[] = [];
  readonly #apis: BerthApi[] = [];
  readonly #certificate = makeTestCertificate();

  readonly #life = { after: (work: () => Promise<void>) => void this.#ends.push(work) };

  static async start(
    license: License,
    { postgres, tls }: Pick<LineOptions, 'postgres' | 'tls'>,
    launch: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<LineSite> {
    const site = new LineSite();
    const args = [...MANY_WAITERS, ...(launch.args ?? [])];
    const first = ServerUnderTest.make(site.#life, undefined, { args });
    if (tls) args.push(...site.#writeCertificate(first.data));
    const url = postgres ? await site.#startDatabase() : null;
    if (url !== null) useDatabase(first.data, url);
    const options = { ...launch, licenses: [license], args, data: first.data };
    site.servers.push(await ServerUnderTest.start(site.#life, options));
    if (url === null) return site;
    const env = { ...launch.env, BERTH_MASTER_KEY_FILE: join(first.data, 'master.key') };
    const second = ServerUnderTest.make(site.#life, undefined, { args, env });
    useDatabase(second.data, url);
    await second.start();
    site.servers.push(second);
    return site;
  }

  async #startDatabase(): Promise<string> {
    const postgres = await startPostgres();
    this.#ends.unshift(() => postgres.stop('fast'));
    return postgres.createDatabase('tables');
  }

  #writeCertificate(folder: string): readonly string[] {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(cert, this.#certificate.cert);
    writeFileSync(key, this.#certificate.key);
    return ['--tls-cert', cert, '--tls-key', key];
  }

  get first(): ServerUnderTest {
    return this.servers[0] as ServerUnderTest;
  }

  get ca(): string {
    return this.#certificate.cert;
  }

  /** A client of each server, with so many connections. */
  connect(connections: number): readonly BerthApi[] {
    const options = { connections, answerTimeoutMs: 120_000, ca: this.ca };
    const apis = this.servers.map(({ url }) => new BerthApi(url, options));
    this.#apis.push(...apis);
    return apis;
  }

  /** Who waits, in the order of their turns: the first thousand. */
  async listLine(): Promise<readonly string[]> {
    const [api] = this.#apis.length === 0 ? this.connect(50) : this.#apis;
    const { body } = await (api as BerthApi).get('/api/admin/line');
    return (body.line as readonly { readonly user: string }[]).map(({ user }) => user);
  }

  async waitUntilInLine(count: number): Promise<void> {
    const [api] = this.#apis as [BerthApi];
    for (;;) {
      const { body } = await api.get('/api/admin/line');
      if (Number(body.waiting) >= count) return;
      await delay(5);
    }
  }

  async stop(): Promise<void> {
    for (const api of this.#apis) api.close();
    for (const end of this.#ends.reverse()) await end();
  }
}

/** Waits as long as it takes. Returns when the slot ends; `null`: there was none before the end. */
export async function take(
  site: LineSite,
  api: BerthApi,
  user: string,
  { isOver, onAskAgain }: { readonly isOver?: () => boolean; readonly onAskAgain?: () => void } = {},
): Promise<number | null> {
  while (isOver?.() !== true) {
    const { status, body } = await api.post(REGISTER, ask(user), WAIT);
    if (status === 200) return Date.parse(String(body.slot_ends_at));
    if (body.code !== 'floating_not_available') site.violations.push(`${user}: ${JSON.stringify(body)}`);
    onAskAgain?.();
  }
  return null;
}
