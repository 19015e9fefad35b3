import type { TestEvent } from 'node:test/reporters';

/** A reporter: the first failure ends the process. At the end of all tests it writes their processor time. */
export async function* stopAtFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:complete' && event.data.details.passed === false) process.exit(1);
  }
  const { user, system } = process.cpuUsage();
  yield String(Math.round((user + system) / 1000));
}
