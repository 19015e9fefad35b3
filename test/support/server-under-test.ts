import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { BerthApi } from './berth-api.ts';
import { startServerHere } from './server-here.ts';
import {
  type ServerProcess,
  type StartOptions,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from './server-process.ts';

interface Launch extends Omit<StartOptions, 'data'> {
  /** Runs it in this process, which is faster; it cannot be killed. */
  readonly isHere?: boolean;
}

/** What both kinds of server provide. */
type Server = Pick<ServerProcess, 'url' | 'readLog' | 'stop'> & Partial<Pick<ServerProcess, 'child'>>;

/** The part of a test context that is used here. */
interface TestLife {
  after(work: () => Promise<void>): void;
}

interface UnderTestOptions extends Launch {
  readonly licenses: readonly License[];
  /** A folder that the caller creates and removes. */
  readonly data?: string;
}

/** How many connections its clients open at most. */
export const MAX_CONNECTIONS = 500;

/** A data folder and its server, which can be stopped and restarted. Both are removed after the test. */
export class ServerUnderTest {
  readonly data: string;
  readonly #launch: Launch;
  #process: Server | null = null;
  #api: BerthApi | null = null;
  #log = '';

  private constructor(data: string, launch: Launch) {
    this.data = data;
    this.#launch = launch;
  }

  /** Adds the licenses to a new folder and starts a server on it. */
  static async start(t: TestLife, { licenses, data, ...launch }: UnderTestOptions): Promise<ServerUnderTest> {
    const made = ServerUnderTest.make(t, data, launch);
    await seedLicenses(made.data, licenses);
    await made.start();
    return made;
  }

  /** An empty folder, without a running server. */
  static make(t: TestLife, data?: string, launch: Launch = {}): ServerUnderTest {
    const removals: (() => void)[] = [];
    const folder = data ?? temporaryFolder({ after: (removal) => removals.push(removal) });
    const made = new ServerUnderTest(folder, launch);
    t.after(async () => {
      await made.stop('SIGKILL');
      for (const remove of removals) remove();
    });
    return made;
  }

  get api(): BerthApi {
    if (this.#api === null) throw new Error('The server is not running.');
    return this.#api;
  }

  get url(): string {
    if (this.#process === null) throw new Error('The server is not running.');
    return this.#process.url;
  }

  /** The log of all its runs. */
  get log(): string {
    return this.#log + (this.#process?.readLog() ?? '');
  }

  get pid(): number {
    const pid = this.#process?.child?.pid;
    if (pid === undefined) throw new Error('The server is not running.');
    return pid;
  }

  get isRunning(): boolean {
    return this.#process !== null && this.#process.child?.exitCode === null;
  }

  async start(launch: Launch = {}): Promise<void> {
    const { isHere, ...options } = { ...this.#launch, ...launch, data: this.data };
    this.#process = await (isHere ? startHere(options) : startServerProcess(options));
    this.#api = new BerthApi(this.#process.url, { connections: MAX_CONNECTIONS });
  }

  /** Stops it if it runs, and returns its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#process === null) return null;
    this.#api?.close();
    const code = await this.#process.stop(signal);
    this.#log = this.log;
    this.#process = null;
    this.#api = null;
    return code;
  }
}

async function startHere(options: StartOptions): Promise<Server> {
  const { url, stop } = await startServerHere(options);
  return { url, readLog: () => '', stop: () => stop().then(() => 0) };
}
