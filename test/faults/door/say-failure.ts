import { AssertionError } from 'node:assert/strict';
import type { Findings } from './fault.ts';

const DIFFERENCE = /^\s*\+ actual - expected$/m;
const OPENING = /^Expected values to be [\w -]+:/;

/** What an assertion says, in one line; of two things that should be equal, what differs. */
export function sayFailure(message: string): string {
  const [, difference = ''] = message.split(DIFFERENCE);
  const lines = difference.split('\n').filter((line) => /^\s*[+-] /.test(line));
  const said = lines.length === 0 ? message.replace(OPENING, '') : lines.join(' ');
  return said.replace(/\s+/g, ' ').trim();
}

/** A fault may also assert: what does not hold is then the only thing that it has found. */
export async function findAsserted(work: () => Promise<Findings>): Promise<Findings> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error;
    return { count: 0, facts: {}, violations: [sayFailure(error.message)] };
  }
}

/**
 * The tests that have failed, as Node's reporter lists them after all results: each with its message in one
 * line, and then all that is known about it.
 */
export function listFailures(output: string): readonly string[] {
  const [, list = ''] = output.split('\n✖ failing tests:\n');
  return list
    .split(/^test at .*$/m)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [, name = '', rest = ''] = /^✖ (.*) \([\d.]+ms\)\n([\s\S]*)$/.exec(part) ?? [];
      // The cause says more than who has met it.
      const [message = ''] = (rest.split('[cause]:').at(-1) as string).split(/^\s+at .*$/m);
      return `${name}: ${sayFailure(message.replace(/^\s*\w*Error( \[\w+\])?: /, ''))}\n${part}`;
    });
}
