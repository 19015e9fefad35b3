import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Program } from '../../support/program.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import type { Book, Outcome, Step } from './book.ts';
import { type Inventory, takeInventory } from './inventory.ts';
import { Line } from './line.ts';
import { recordedEnvironment } from './shim.ts';
import type { Steps } from './steps.ts';

interface SiteOptions {
  readonly program: Program;
  readonly args?: readonly string[];
}

/** Local callers are administrators, and come as often as they like. */
export const SERVER_ARGS = [
  '--auth-local-admin',
  'always',
  '--limits-new-slots-per-hour',
  '0',
  '--log-level',
  'error',
];

/** A folder in which a server is recorded, over all its lives. */
export class Site {
  readonly root: string;
  readonly log: string;
  readonly #options: SiteOptions;
  #server: ServerProcess | null = null;

  /** `root` and `log`: a folder for the data and what belongs to it, and a file beside it. */
  constructor(folder: string, options: SiteOptions) {
    this.root = join(folder, 'root');
    this.log = join(folder, 'log');
    this.#options = options;
  }

  get data(): string {
    return join(this.root, 'data');
  }

  get server(): ServerProcess {
    if (this.#server === null) throw new Error('The server is not running.');
    return this.#server;
  }

  /** `failing`: which of its syncs fail, by their number. */
  async start({ isRecorded = true, failing = [] as readonly number[] } = {}): Promise<void> {
    const { program, args = [] } = this.#options;
    const env = isRecorded ? recordedEnvironment({ ...this, failing }) : {};
    const all = [...SERVER_ARGS, ...args];
    this.#server = await startServerProcess({ data: this.data, program, args: all, env });
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#server?.stop(signal);
    this.#server = null;
  }

  connect(): Line {
    return new Line(this.server.url, this.server.child.pid);
  }

  async takeInventory(): Promise<Inventory> {
    const line = this.connect();
    const inventory = await takeInventory(line.get);
    line.close();
    return inventory;
  }

  /**
   * Clients ask, each as fast as it is answered, until so many changes were acknowledged, or until something
   * holds, which may depend on how many answers said that nothing is sure. With a signal, the server is ended
   * then, whoever still waits for an answer.
   */
  async load(
    book: Book,
    clients: readonly Steps[],
    enough: number | ((unclear: number) => boolean),
    signal?: NodeJS.Signals,
  ): Promise<void> {
    const counts = { done: 0, refused: 0, unclear: 0 };
    const isEnough = () => (typeof enough === 'number' ? counts.done >= enough : enough(counts.unclear));
    let ending: Promise<void> | undefined;
    const ask = async (steps: Steps, client: number) => {
      const line = this.connect();
      while (!isEnough() && ending === undefined) {
        const outcome = await take(line, book, client, steps.next().value);
        if (outcome === 'lost') break;
        counts[outcome] += 1;
      }
      if (signal !== undefined) ending ??= this.stop(signal);
      line.close();
    };
    await Promise.all(clients.map(ask));
    await ending;
  }

  /** Runs a command on the data. Returns its process, whose first output is its answer. */
  async run(...words: string[]): Promise<number> {
    const { program } = this.#options;
    const env = { ...process.env, ...recordedEnvironment(this) };
    const child = spawn(program.file, [...program.args, ...words, '--data', this.data], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`berth ${words.join(' ')} ended with ${code}: ${text}`);
    return child.pid ?? 0;
  }
}

/** The next change of a client, and what came of it. */
async function take(line: Line, book: Book, client: number, step: Step): Promise<Outcome | 'lost'> {
  const settle = book.begin(client, step);
  const reply = await line.send(step).catch(() => null);
  if (reply === null) return 'lost';
  const { place, status, body } = reply;
  const outcome = status === 200 ? 'done' : status < 500 ? 'refused' : 'unclear';
  settle({ place, outcome, code: typeof body.code === 'string' ? body.code : null, body });
  return outcome;
}
