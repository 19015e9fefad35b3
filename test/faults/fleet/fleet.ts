import { randomBytes } from 'node:crypto';
import connect from 'postgres';
import type { License } from '../../../packages/server/src/core/nouns/license.ts';
import { openPatiently } from '../../../packages/server/test/store/exam/postgres-database.ts';
import { addAdministrator } from '../../support/administrator.ts';
import type { Facts } from '../../support/berth-api.ts';
import { type CommandResult, runBerth } from '../../support/berth-command.ts';
import { pollUntil } from '../../support/poll.ts';
import type { StartOptions } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import type { TestPostgres } from '../../support/stores/postgres.ts';
import type { Life, Size } from '../door/fault.ts';
import { openRoundRobinProxy, type RoundRobinProxy } from './round-robin-proxy.ts';

/**
 * How many times as long as by hand things may take in the suite, which shares its machine with other tests.
 * What the servers do is judged alike.
 */
const SUITE_PATIENCE = 6;

export function patienceOf(size: Size): number {
  return size === 'small' ? SUITE_PATIENCE : 1;
}

interface FleetOptions {
  readonly postgres: TestPostgres;
  readonly size: number;
  readonly licenses: readonly License[];
  readonly args?: readonly string[];
  /** What each server finds in its environment, besides what all need. */
  readonly envs?: readonly NonNullable<StartOptions['env']>[];
  /** Ports by which a server reaches the database; by default its own. */
  readonly databasePorts?: readonly number[];
}

/** Several servers on one database, with a proxy in front of them that lets every one have its turn. */
export class Fleet {
  readonly servers: readonly ServerUnderTest[];
  readonly #options: FleetOptions;
  readonly #env: Readonly<Record<string, string>>;
  #proxy: RoundRobinProxy | null = null;

  private constructor(life: Life, options: FleetOptions, databaseUrl: string) {
    this.#options = options;
    this.#env = { BERTH_DATABASE_URL: databaseUrl, BERTH_MASTER_KEY: randomBytes(32).toString('hex') };
    this.servers = Array.from({ length: options.size }, (_, index) =>
      ServerUnderTest.make(life, undefined, {
        args: options.args ?? [],
        env: {
          ...this.#env,
          ...withPort(databaseUrl, options.databasePorts?.[index]),
          ...options.envs?.[index],
        },
      }),
    );
  }

  /** Puts the licenses into a new database and starts all servers on it. */
  static async start(life: Life, options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(life, options, await options.postgres.createDatabase());
    await fleet.#seed(options.licenses);
    await Promise.all(fleet.servers.map((server) => server.start()));
    fleet.#proxy = await openRoundRobinProxy(life, fleet.urls);
    return fleet;
  }

  get postgres(): TestPostgres {
    return this.#options.postgres;
  }

  get urls(): readonly string[] {
    return this.servers.map(({ url }) => url);
  }

  get proxy(): RoundRobinProxy {
    if (this.#proxy === null) throw new Error('The fleet is not running.');
    return this.#proxy;
  }

  /** Asks the database itself. Numbers beyond 32 bits come as text. */
  async query(statement: string): Promise<readonly Facts[]> {
    const sql = connect(this.#env.BERTH_DATABASE_URL as string, { max: 1, onnotice: () => {} });
    try {
      return await sql.unsafe(statement);
    } finally {
      await sql.end();
    }
  }

  /** A command on the data of one of the servers. */
  runBerth(server: ServerUnderTest, words: readonly string[]): Promise<CommandResult> {
    return runBerth(server.data, words, this.#env);
  }

  async #isLeader(server: ServerUnderTest): Promise<boolean> {
    const { status, body, text } = await server.api.get('/api/admin/status');
    if (status !== 200) throw new Error(`status was answered with ${status}: ${text}`);
    return body.leader === true;
  }

  /** The one of the servers that run which does the background work for all. */
  findLeader(): Promise<ServerUnderTest> {
    return pollUntil('one of the servers leads', async () => {
      const running = this.servers.filter(({ isRunning }) => isRunning);
      const leads = await Promise.all(running.map((server) => this.#isLeader(server)));
      const leaders = running.filter((_, index) => leads[index]);
      return leaders.length === 1 ? leaders[0] : undefined;
    });
  }

  async waitUntilLeading(server: ServerUnderTest): Promise<void> {
    await pollUntil('it leads', async () => (await this.#isLeader(server)) || undefined);
  }

  /** Ends all servers in good order, and answers what is wrong with how they ended. */
  async stop(): Promise<readonly string[]> {
    const running = this.servers.filter(({ isRunning }) => isRunning);
    const codes = await Promise.all(running.map((server) => server.stop()));
    return codes.filter((code) => code !== 0).map((code) => `a server ended with ${code}`);
  }

  async #seed(licenses: readonly License[]): Promise<void> {
    const store = await openPatiently({
      url: this.#env.BERTH_DATABASE_URL as string,
      masterKey: { value: this.#env.BERTH_MASTER_KEY as string, file: '' },
      isServing: false,
    });
    for (const license of licenses) await store.execute({ kind: 'install_license', license, by: 'test' });
    await addAdministrator(store);
    await store.close();
  }
}

function withPort(databaseUrl: string, port: number | undefined): Readonly<Record<string, string>> {
  if (port === undefined) return {};
  const url = new URL(databaseUrl);
  url.port = String(port);
  return { BERTH_DATABASE_URL: url.href };
}
