import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Fault, Order } from './fault.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SHOWN_LINES = 60;

interface FromSuite extends Omit<Fault, 'run' | 'controls'> {
  /** A test file, which is run by itself. */
  readonly file: string;
  /** Only the tests whose names match. */
  readonly pattern?: string;
  /** How it learns its size; the seed is always `BERTH_SEED`. */
  env(count: number, seed: number): Readonly<Record<string, string>>;
}

/** A fault that is a test file of the suite, at another size. */
export function fromSuite({ file, pattern, env, ...facts }: FromSuite): Fault {
  return {
    ...facts,
    async run({ count, seed }: Order) {
      const words = ['--test', ...(pattern === undefined ? [] : ['--test-name-pattern', pattern]), file];
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
      const passed = /^ℹ pass (\d+)$/m.exec(output)?.[1] ?? '0';
      const violations = code === 0 ? [] : [output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')];
      return { count, facts: { 'tests passed': Number(passed), ...readCounts(output) }, violations };
    },
  };
}

/** What the tests tell in their diagnostics as `{"name": number, …}`. */
function readCounts(output: string): Readonly<Record<string, number>> {
  const lines = output.matchAll(/^\s*ℹ (\{"\w.*\})/gm);
  return Object.fromEntries(
    [...lines].flatMap(([, json = '{}']) =>
      Object.entries(JSON.parse(json) as Record<string, unknown>).flatMap(([name, value]) =>
        typeof value === 'number' ? [[name, value] as const] : [],
      ),
    ),
  );
}
