import { after, before } from 'node:test';

/** What a test hands to whatever it starts. */
interface Life {
  after(end: () => unknown): void;
}

/**
 * Starts what the tests of a file or suite share, before the first of them. After the last one it ends, in
 * reverse order. A file that starts it with `await` instead cannot be part of the bundle of all tests.
 */
export function startBefore(start: (life: Life) => Promise<unknown>): void {
  const ends: (() => unknown)[] = [];
  before(() => start({ after: (end) => void ends.push(end) }));
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
}
