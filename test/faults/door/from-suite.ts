import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Fault, Order } from './fault.ts';
import { listFailures } from './say-failure.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SHOWN_LINES = 60;

/** Its unit is what the tests count; by default, the tests themselves. */
interface FromSuite extends Omit<Fault, 'run' | 'controls'> {
  /** Test files, which are run by themselves. */
  readonly files: readonly string[];
  /** Only the tests whose names match. */
  readonly pattern?: string;
  /** How it learns its size; the seed is always `BERTH_SEED`. */
  env(count: number, seed: number): Readonly<Record<string, string>>;
}

/** A fault that the suite tests, at another size. */
export function fromSuite({ files, pattern, env, ...fault }: FromSuite): Fault {
  return {
    ...fault,
    async run({ count, seed }: Order) {
      const words = ['--test', ...(pattern === undefined ? [] : ['--test-name-pattern', pattern]), ...files];
      const child = spawn(process.execPath, words, {
        cwd: ROOT,
        env: { ...process.env, BERTH_SEED: String(seed), ...env(count, seed) },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      const [code] = await once(child, 'close');
      const passed = Number(/^ℹ pass (\d+)$/m.exec(output)?.[1] ?? 0);
      const violations = code === 0 ? [] : describeFailure(output);
      const { [fault.unit]: counted, ...facts } = addUp(output);
      return { count: counted ?? passed, facts, violations };
    },
  };
}

/** What has failed; if no test did, and it has failed all the same, its last lines. */
function describeFailure(output: string): readonly string[] {
  const failures = listFailures(output);
  return failures.length > 0 ? failures : [output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')];
}

/** What the tests tell in their diagnostics as `{"name": number, …}`, added up over all tests. */
function addUp(output: string): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [, json = '{}'] of output.matchAll(/^\s*ℹ (\{"\w.*\})/gm)) {
    for (const [name, value] of Object.entries(JSON.parse(json) as Record<string, number>)) {
      sums[name] = (sums[name] ?? 0) + value;
    }
  }
  return sums;
}
