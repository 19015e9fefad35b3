import { describe } from 'node:test';

// The same tests as everywhere else, but Node reads all requests, as it does when a client sends anything
// unusual. It has a process of its own (`test/runner/group-files.ts`), because this applies to all of it.
process.env.TEST_WITHOUT_LANE = '1';

const FILES = [
  './app.test.ts',
  './bad-input.test.ts',
  './documented-input.test.ts',
  './lenient-input.test.ts',
  './access/client-rate.test.ts',
  './access/web-page.test.ts',
  './routes/v4/consumption.test.ts',
  './routes/v4/features.test.ts',
  './routes/v4/give-back.test.ts',
  './routes/v4/lending.test.ts',
  './routes/v4/pools.test.ts',
  './routes/v4/user-names.test.ts',
];

for (const file of FILES) describe(file, () => import(file));
