import { after, before } from 'node:test';

interface Life {
  after(end: () => unknown): void;
}

/** Opens what all tests of a file or suite share before the first of them, and ends it after the last. */
export function shareByTests(open: (life: Life) => Promise<void>): void {
  const ends: (() => unknown)[] = [];
  before(() => open({ after: (end) => ends.push(end) }));
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
}
