import type { EventData } from 'node:test';
import type { TestEvent } from 'node:test/reporters';

export type Kind = 'passed' | 'failed' | 'skipped';

export interface Outcome {
  kind: Kind;
  /** The test with its suites. */
  name: string;
  place: string;
  /** Why it was skipped, or why it failed without an error. */
  reason?: string;
  error?: unknown;
}

interface Started {
  name: string;
  hasChildren: boolean;
}

type Ended = EventData.TestPass | EventData.TestFail;

/** What CI machines may lack, because tests cannot install it. They install everything else. */
const RARE = 'a Node|fish|helm|IPv6|kubeconform|network namespaces|pip|root|the right to mount|zsh';
const MAY_BE_SKIPPED_IN_CI = new RegExp(`^optional: (?:takes long|needs (?:${RARE}))\\b`);

/** A skip must have a reason; a todo counts as a skip. */
function readSkip({ skip, todo }: Ended): string | undefined {
  if (skip !== undefined && skip !== false) return typeof skip === 'string' ? skip : 'no reason given';
  if (todo !== undefined && todo !== false) return `unfinished: ${todo}`;
  return undefined;
}

/** Reports tests and other failures, but neither suites nor files. */
export class Ledger {
  readonly counts: Record<Kind, number> = { passed: 0, failed: 0, skipped: 0 };
  readonly #started = new Map<string, Started>();
  readonly #reported = new Set<string>();
  readonly #skipsFail: boolean;

  constructor(options: { skipsFail: boolean }) {
    this.#skipsFail = options.skipsFail;
  }

  add(outcome: Outcome): Outcome {
    this.counts[outcome.kind]++;
    return outcome;
  }

  record(event: TestEvent): Outcome | undefined {
    if (event.type === 'test:start') this.#start(event.data);
    if (event.type === 'test:summary' && event.data.file) this.#reported.add(event.data.file);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
    const outcome = this.#judge(event.type === 'test:fail', event.data);
    return outcome && this.add(outcome);
  }

  /** Files without a result: the runner accepts a process that exits early with code 0. */
  listSilent(files: string[]): string[] {
    return files.filter((file) => !this.#reported.has(file));
  }

  #key(data: EventData.LocationInfo, id: number | undefined): string {
    return `${data.entryFile} ${id}`;
  }

  #start(data: EventData.TestStart): void {
    const parent = this.#started.get(this.#key(data, data.parentId));
    if (parent) parent.hasChildren = true;
    const name = parent ? `${parent.name} > ${data.name}` : data.name;
    this.#started.set(this.#key(data, data.testId), { name, hasChildren: false });
  }

  #judge(failed: boolean, data: Ended): Outcome | undefined {
    const started = this.#started.get(this.#key(data, data.testId));
    const test = { name: started?.name ?? data.name, place: `${data.file}:${data.line}` };
    const skip = readSkip(data);
    if (skip !== undefined) return this.#judgeSkip(test, skip);
    if (failed) return this.#judgeFailure(test, data);
    const isLeaf = data.entryFile !== undefined && data.details.type !== 'suite' && !started?.hasChildren;
    return isLeaf ? { kind: 'passed', ...test } : undefined;
  }

  #judgeSkip(test: { name: string; place: string }, reason: string): Outcome {
    if (!this.#skipsFail || MAY_BE_SKIPPED_IN_CI.test(reason)) return { kind: 'skipped', ...test, reason };
    return { kind: 'failed', ...test, reason: `skipped, which counts as failed in CI: ${reason}` };
  }

  #judgeFailure(test: { name: string; place: string }, data: Ended): Outcome | undefined {
    const error = 'error' in data.details ? data.details.error : undefined;
    if (error && 'failureType' in error && error.failureType === 'subtestsFailed') return undefined;
    if (data.entryFile === undefined) return this.#judgeProcess(test, data, error);
    return { kind: 'failed', ...test, error: error?.cause ?? error };
  }

  /** The runner reports a file itself only if it fails apart from its tests. */
  #judgeProcess({ place }: { place: string }, data: Ended, error: object | undefined): Outcome {
    if (data.file) this.#reported.add(data.file);
    const code = error && 'exitCode' in error ? error.exitCode : undefined;
    const signal = error && 'signal' in error ? error.signal : undefined;
    const reason = `The file failed apart from its tests: exit code ${code}, signal ${signal}.`;
    return { kind: 'failed', name: 'test file', place, reason };
  }
}

export function formatCounts({ passed, failed, skipped }: Record<Kind, number>): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
