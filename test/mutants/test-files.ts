import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, matchesGlob } from 'node:path';
import { type Coverage, isCovered, readCoverage } from './coverage.ts';
import { type Mutant, SOURCES } from './mutants.ts';
import type { TestBench } from './test-bench.ts';

/** Its cases are many, and most mutants are seen by few of its chapters. */
const EXAM = 'packages/server/test/store/sqlite/sqlite-store.test.ts';
/** Those that test the core and the engine for their time, the best first. */
const PATTERNS = [
  'packages/server/test/{core,store/engine}/**/*.test.ts',
  EXAM,
  'packages/server/test/store/sqlite/{write,read}/*.test.ts',
  'test/model/*.test.ts',
  'packages/server/test/{services,background}/**/*.test.ts',
  'packages/server/test/http/routes/{admin,v4}/*.test.ts',
];
/** What the coverage depends on, beside the test file and, for the exam, its cases. */
const SHARED = ['packages/*/src/**/*.ts', 'packages/server/test/**/*.ts', 'test/{model,support}/**/*.ts'];
const CASES = 'packages/server/test/store/exam/*.ts';
const LIMIT_MS = 180_000;
/** For a mutant that survives. */
const MAX_CPU_MS = 12_000;

/** Tests that pass without changes: a file, or a chapter of the exam. */
interface Part {
  readonly file: string;
  /** The chapter; `null` for the whole file. */
  readonly title: string | null;
  readonly cpuMs: number;
  readonly coverage: Coverage;
}

/** What is run for a mutant in one process. */
interface TestRun {
  readonly file: string;
  readonly patterns: readonly string[];
  readonly cpuMs: number;
}

export class TestFiles {
  readonly #parts: readonly Part[];
  /** How many mutants of a source a test file has found. It is tried sooner for the next ones. */
  readonly #finds = new Map<string, number>();

  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** Runs all of them without changes, to see how long they take and what they run. Results are kept. */
  static async try(
    benches: readonly TestBench[],
    cache: string,
    say: (line: string) => void,
  ): Promise<TestFiles> {
    const [bench] = benches;
    if (bench === undefined) throw new Error('There is no bench.');
    const files = globSync(PATTERNS, { cwd: bench.folder }).sort();
    const chapters = (await bench.listChapters(EXAM)).map((title) => ({ file: EXAM, title }));
    const waiting = [
      ...files.filter((file) => file !== EXAM).map((file) => ({ file, title: null })),
      ...chapters,
    ];
    const parts: Part[] = [];
    const trial = new Trial(bench.folder, cache);
    const work = async (bench: TestBench): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const part = await trial.try(bench, next.file, next.title);
        if (part === null) say(`left out, since it fails without changes: ${next.file} ${next.title ?? ''}`);
        else parts.push(part);
      }
    };
    await Promise.all(benches.map(work));
    return new TestFiles(parts);
  }

  get count(): number {
    return this.#parts.length;
  }

  /**
   * What runs the changed code, and first what will probably find it soon. The most promising are enough: a
   * mutant that all others find counts as a survivor.
   */
  choose({ file, change }: Mutant): TestRun[] {
    const covering = this.#parts.filter(({ coverage }) => isCovered(coverage, file, change.start));
    const runs = [...Map.groupBy(covering, (part) => part.file)].map(([test, parts]) => {
      const patterns = parts.flatMap(({ title }) => (title === null ? [] : [patternOf(title)]));
      const cpuMs = sumTimes(parts);
      return {
        file: test,
        patterns,
        cpuMs,
        rank: rankOf(file, test),
        cost: cpuMs / (1 + this.#countFinds(file, test)),
      };
    });
    runs.sort((one, other) => one.rank - other.rank || one.cost - other.cost);
    let spentMs = 0;
    return runs.filter(({ cpuMs }) => {
      spentMs += cpuMs;
      return spentMs - cpuMs < MAX_CPU_MS;
    });
  }

  #countFinds(source: string, test: string): number {
    return this.#finds.get(`${source} ${test}`) ?? 0;
  }

  noteFind({ file }: Mutant, test: string): void {
    const name = `${file} ${test}`;
    this.#finds.set(name, (this.#finds.get(name) ?? 0) + 1);
  }
}

/** Its own tests first, then those of the layer, then those that run everything. */
function rankOf(source: string, test: string): number {
  if (basename(test, '.test.ts') === basename(source, '.ts')) return -1;
  return PATTERNS.findIndex((pattern) => matchesGlob(test, pattern));
}

/** Chapters run in one process. */
function sumTimes(parts: readonly Part[]): number {
  const startMs = Math.min(...parts.map(({ cpuMs }) => cpuMs));
  return parts.reduce((sum, { cpuMs }) => sum + cpuMs - startMs, startMs);
}

/** Matches other chapters too whose titles begin alike, which costs only time. */
function patternOf(title: string): string {
  return ` ${title} `;
}

class Trial {
  readonly #root: string;
  readonly #cache: string;
  readonly #shared: string;
  readonly #cases: string;
  readonly #sources: ReadonlySet<string>;

  constructor(root: string, cache: string) {
    this.#root = root;
    this.#cache = cache;
    this.#sources = new Set(globSync(SOURCES, { cwd: root }));
    const cases = globSync(CASES, { cwd: root });
    const shared = new Set(globSync(SHARED, { cwd: root, exclude: ['**/*.test.ts'] })).difference(
      new Set(cases),
    );
    const hashFiles = (files: Iterable<string>) =>
      hash([...files].sort().map((file) => readFileSync(join(root, file), 'utf8')));
    this.#shared = hashFiles(shared);
    this.#cases = hashFiles(cases);
    mkdirSync(cache, { recursive: true });
  }

  listChapters(bench: TestBench): Promise<readonly string[]> {
    return this.#keep([this.#cases], () => bench.listChapters(EXAM));
  }

  /** Returns null if it fails. */
  try(bench: TestBench, file: string, title: string | null): Promise<Part | null> {
    const text = readFileSync(join(this.#root, file), 'utf8');
    const names = title === null ? [file, text] : [file, title, this.#cases];
    return this.#keep(names, () => this.#try(bench, file, title));
  }

  /** `null` is not kept. */
  async #keep<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const file = join(this.#cache, `${hash([this.#shared, ...names])}.json`);
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T;
    const result = await work();
    if (result !== null) writeFileSync(file, JSON.stringify(result));
    return result;
  }

  async #try(bench: TestBench, file: string, title: string | null): Promise<Part | null> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-coverage-'));
    try {
      const patterns = title === null ? [] : [patternOf(title)];
      const { verdict, cpuMs } = await bench.runTests({
        file,
        patterns,
        limitMs: LIMIT_MS,
        coverageFolder: folder,
      });
      if (verdict !== 'passed') return null;
      const coverage = readCoverage(folder, bench.folder, (source) => this.#sources.has(source));
      return { file, title, cpuMs, coverage };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function hash(texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 32);
}
