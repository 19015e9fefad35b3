import { generateKeyPairSync } from 'node:crypto';
import { GRANT_TYPE } from '@berth/protocol/grant/grant-claims';
import { writeJws } from '@berth/protocol/grant/jws';
import { NotSentError, type WireAnswer, type WireRequest } from '../../../packages/client/src/environment.ts';
import { rsaKeysOf } from '../../support/rsa-keys.ts';
import type { Network } from '../simulation/machine.ts';
import type { World } from '../simulation/world.ts';
import type { Scenario } from './scenario.ts';
import { HARDWARE_ID, LICENSE_ID, SiteStore } from './site-store.ts';

/**
 * `mute`: carries out requests, and its answers get lost. `fake`: somebody else answers at its address, and
 * lends to everybody for ever. `portal`: a page for guests answers everything.
 */
type ServerState = 'up' | 'down' | 'failing' | 'mute' | 'fake' | 'portal';

const PORTAL_PAGE = '<html>Please sign in to the guest network</html>';
const API = '/api/v4/';

/** A server of the scenario, at its own address. */
interface Server {
  readonly store: SiteStore;
  readonly hasId: boolean;
}

/** The servers of a scenario: real apps, some under several addresses, in simulated time. */
export class Site {
  readonly network: Network;
  readonly #scenario: Scenario;
  readonly #servers: ReadonlyMap<string, Server>;
  readonly #stores: ReadonlySet<SiteStore>;
  readonly #states = new Map<string, ServerState>();
  /** Which server answers at the address of another one. */
  readonly #replacements = new Map<string, string>();
  readonly #requests: string[] = [];
  #grants = 0;

  private constructor(world: World, scenario: Scenario, servers: ReadonlyMap<string, Server>) {
    this.#scenario = scenario;
    this.#servers = servers;
    this.#stores = new Set([...servers.values()].map(({ store }) => store));
    this.network = (request, done) => world.wait(this.#pass(request, done));
  }

  static async open(t: Parameters<typeof SiteStore.open>[0], world: World, scenario: Scenario) {
    const servers = new Map<string, Server>();
    for (const names of scenario.stores ?? [scenario.servers]) {
      const store = await SiteStore.open(t, world, scenario);
      for (const name of names) {
        servers.set(name, { store, hasId: scenario.without_id?.includes(name) !== true });
      }
    }
    return new Site(world, scenario, servers);
  }

  /** `null`: the clients do not have it. */
  get vendorKey(): string | null {
    if (this.#scenario.proof !== true) return null;
    return rsaKeysOf('vendor').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  }

  /** How many the servers have signed. */
  get grants(): number {
    return this.#grants;
  }

  get urls(): readonly string[] {
    return this.#scenario.servers.map(urlOf);
  }

  setState(name: string, state: ServerState): void {
    this.#states.set(name, state);
  }

  /** The address leads to another server from now on. */
  replace(name: string, by: string): void {
    this.#replacements.set(name, by);
  }

  countRequests(path: string): number {
    return this.#requests.filter((one) => one === path).length;
  }

  async setEnabled(isEnabled: boolean): Promise<void> {
    for (const store of this.#stores) await store.setEnabled(isEnabled);
  }

  /** What an operator does. */
  async free(user: string): Promise<void> {
    const body = { product: 'cad', user };
    const { status, text } = await this.#find().store.send('POST', `${API}unregister`, { body });
    if (status !== 200) throw new Error(text);
  }

  async readLicense(server?: string): Promise<Readonly<Record<string, unknown>>> {
    return (await this.#find(server).store.send('GET', `${API}license?product=cad`)).body;
  }

  async readTotal(server?: string): Promise<number> {
    const body = { product: 'cad', consumptions: 0 };
    const answer = await this.#find(server).store.send('POST', `${API}add_consumption`, { body });
    return Number(answer.body.total_consumptions);
  }

  #find(name = this.#scenario.servers[0] as string): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`There is no server "${name}".`);
    return server;
  }

  async #pass(request: WireRequest, done: (answer: WireAnswer | Error) => void): Promise<void> {
    const { hostname, pathname } = new URL(request.url);
    const name = hostname.replace(/\.test$/, '');
    this.#requests.push(pathname.startsWith(API) ? pathname.slice(API.length) : pathname);
    const state = this.#states.get(name) ?? 'up';
    if (state === 'down') return done(new NotSentError('ECONNREFUSED'));
    if (state === 'failing') return done({ status: 503, text: '{}', date: null });
    if (state === 'portal') return done({ status: 200, text: PORTAL_PAGE, date: null });
    const server = this.#find(this.#replacements.get(name) ?? name);
    if (state === 'fake' && request.method !== 'GET') return done(pretend(request, server));
    const answer = await ask(server, request, pathname);
    if (answer.body.grant !== undefined) this.#grants += 1;
    if (state !== 'mute') done(answer.wire);
  }
}

export function urlOf(name: string): string {
  return `http://${name}.test`;
}

async function ask({ store, hasId }: Server, request: WireRequest, path: string) {
  const { method = 'POST', headers } = request;
  const body = hasId ? request.body : request.body.replace(/,"store_id":"[^"]*"/, '');
  const sent = method === 'POST' ? { headers, body } : { headers };
  const { status, ...told } = await store.send(method, path, sent);
  const text = hasId ? told.text : told.text.replace(/,"store_id":"[^"]*"/, '');
  const date = store.now.toUTCString();
  return { body: told.body, wire: { status, text, date, retryAfter: told.headers.get('retry-after') } };
}

/** It has the certificate of the real server, which everybody may have seen, but not its key. */
function pretend({ body }: WireRequest, { store }: Server): WireAnswer {
  const { nonce, user, product } = JSON.parse(body);
  const dates = { issued_at: '2030-01-15T12:00:00Z', valid_until: '2040-01-15T12:00:00Z' };
  const claims = { license_id: LICENSE_ID, product, user, feature: null, hardware_id: HARDWARE_ID };
  const { privateKey } = generateKeyPairSync('ed25519');
  const header = { alg: 'EdDSA', typ: GRANT_TYPE } as const;
  const grant = writeJws(header, { ...claims, nonce, limits: {}, features: [], ...dates }, privateKey);
  const proof = nonce === undefined ? {} : { grant, certificate: store.certificate?.texts[0] };
  const lease = { license_id: LICENSE_ID, slot_ends_in_seconds: 1e9, renew_in_seconds: 1e8 };
  return { status: 200, text: JSON.stringify({ ...lease, ...proof }), date: null };
}
