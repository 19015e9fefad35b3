import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pollUntil } from './poll.ts';

/** How the receiver handles a request: with a response or a failure. */
export type Reaction =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string }
  | 'cut'
  | 'hang'
  | 'endless';

interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface TestContext {
  after(work: () => unknown): void;
}

/** A webhook receiver on a real socket. It accepts every request unless the test sets other reactions. */
export async function openWebhookReceiver(t: TestContext) {
  const requests: ReceivedEvent[] = [];
  let reactions: Reaction[] = [];
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    incoming.on('end', () => {
      requests.push({ headers: incoming.headers, body });
      react(outgoing, reactions.shift() ?? { status: 200 });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    requests,
    get ids(): readonly string[] {
      return requests.map(({ headers }) => headers['berth-event-id'] as string);
    },
    get kinds(): readonly string[] {
      return requests.map(({ body }) => JSON.parse(body).kind as string);
    },
    get users(): readonly string[] {
      return requests.map(({ body }) => JSON.parse(body).user as string);
    },
    /** Sets the reactions to the next requests; later ones are accepted again. */
    react(...next: Reaction[]): void {
      reactions = next;
    },
    arrived: (count: number) =>
      pollUntil(`${count} requests`, () => (requests.length >= count ? requests : undefined)),
  };
}

const CHUNK = 'x'.repeat(16 * 1024);

function react(outgoing: ServerResponse, reaction: Reaction): void {
  if (reaction === 'hang') return;
  if (reaction === 'cut') outgoing.destroy();
  else if (reaction === 'endless') writeOn(outgoing.writeHead(200));
  else outgoing.writeHead(reaction.status, reaction.headers).end(reaction.text ?? 'noted');
}

function writeOn(outgoing: ServerResponse): void {
  while (!outgoing.destroyed && outgoing.write(CHUNK));
  if (!outgoing.destroyed) outgoing.once('drain', () => writeOn(outgoing));
}
