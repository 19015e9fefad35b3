import type { TestEvent } from 'node:test/reporters';

/** A reporter: the first failure ends the process. One is enough to find a mutant. */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter from there.
export default async function* stopAtFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:complete' || event.data.details.passed !== false) continue;
    yield `${event.data.name}\n`;
    process.exit(1);
  }
}
