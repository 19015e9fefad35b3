import { createRequire } from 'node:module';
import { describe } from 'node:test';

// The tests of how requests are read, but Node reads all requests, as it does when a client sends anything
// unusual. It has a process of its own (`test/runner/group-files.ts`), because this applies to all of it.
process.env.TEST_WITHOUT_LANE = '1';

const FILES = [
  './app.test.ts',
  './bad-input.test.ts',
  './lenient-input.test.ts',
  './access/client-rate.test.ts',
  './access/web-page.test.ts',
];

const load = createRequire(import.meta.url);
for (const file of FILES) {
  describe(file, () => {
    load(file);
  });
}
