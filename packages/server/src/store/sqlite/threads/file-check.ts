import { instant } from '../../../core/nouns/instant.ts';
import type { ReaderThread } from './reader-client.ts';

const WHOLE_FILE = { kind: 'check_file', maxBytes: Number.POSITIVE_INFINITY } as const;
const NO_TIME = instant(0);

interface FileCheckOptions {
  /** Opens a thread with a connection of its own. */
  readonly openThread: () => ReaderThread;
  /** What SQLite says of a file that is damaged. */
  readonly onDamage: (detail: string) => void;
}

/**
 * Reads the whole file after a failure of its disk, in a thread of its own: a large one takes minutes, in
 * which the store works already.
 */
export class FileCheck {
  readonly #options: FileCheckOptions;
  #thread: ReaderThread | null = null;
  #running: Promise<void> | null = null;
  #isWanted = false;

  constructor(options: FileCheckOptions) {
    this.#options = options;
  }

  /** While one is under way, another one follows it. */
  start(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    await this.#thread?.cut();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      const thread = this.#options.openThread();
      this.#thread = thread;
      const found = await thread.query(WHOLE_FILE, NO_TIME, []).catch(() => null);
      this.#thread = null;
      await thread.close();
      // A check that failed says nothing about the file: the disk failed again, or the store closes.
      if (found?.damage != null) this.#options.onDamage(found.damage);
    }
  }
}
