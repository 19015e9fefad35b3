import type { TestEvent } from 'node:test/reporters';
import type { Durations } from './durations.ts';

const CLEAR_LINE = '\r\u001b[K';
const INTERVAL_MS = 1000;

interface ProgressOptions {
  readonly files: readonly string[];
  readonly concurrency: number;
  readonly durations: Durations;
  readonly readMs: () => number;
}

/** Tracks the test files while they run, which differs from the order of the reports. */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedMs: number;
  readonly #waiting: Set<string>;
  readonly #running = new Map<string, number>();
  #failed = 0;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedMs = options.readMs();
    this.#waiting = new Set(options.files);
  }

  record(event: TestEvent): void {
    if (event.type !== 'test:dequeue' && event.type !== 'test:complete') return;
    const { name, entryFile } = event.data;
    if (entryFile === undefined) this.#recordFile(event.type, name);
    else if (event.type === 'test:complete' && isFailedTest(event.data.details)) this.#failed++;
  }

  #recordFile(type: 'test:dequeue' | 'test:complete', file: string): void {
    const { durations, readMs } = this.#options;
    const startedMs = this.#running.get(file);
    if (type === 'test:dequeue') this.#running.set(file, readMs());
    else if (startedMs !== undefined) durations.note(file, readMs() - startedMs);
    this.#waiting.delete(file);
    if (type === 'test:complete') this.#running.delete(file);
  }

  format(): string {
    const { files, readMs } = this.#options;
    const done = files.length - this.#waiting.size - this.#running.size;
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : '';
    const elapsed = formatSeconds(readMs() - this.#startedMs);
    const left = formatSeconds(this.#estimateLeft());
    return `${done}/${files.length} files${failed}, ${elapsed}, about ${left} left`;
  }

  /** The waiting files share the cores, but none takes less than its own time. */
  #estimateLeft(): number {
    const { durations, concurrency, readMs } = this.#options;
    const waiting = [...this.#waiting].map((file) => durations.estimate(file));
    const running = [...this.#running].map(([file, startedMs]) =>
      Math.max(0, durations.estimate(file) - (readMs() - startedMs)),
    );
    const all = [...waiting, ...running];
    return Math.max(0, ...all, all.reduce((sum, each) => sum + each, 0) / concurrency);
  }
}

function isFailedTest({ passed, type }: { passed: boolean; type?: string | undefined }): boolean {
  return !passed && type !== 'suite';
}

function formatSeconds(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** Keeps a progress line below all other output. */
export function startProgressLine(progress: Progress, write: (text: string) => void) {
  const print = (text: string) => write(`${CLEAR_LINE}${text}${progress.format()}`);
  const timer = setInterval(() => print(''), INTERVAL_MS);
  return {
    print,
    stop() {
      clearInterval(timer);
      write(CLEAR_LINE);
    },
  };
}
