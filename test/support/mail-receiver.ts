import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { pollUntil } from './poll.ts';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Whether the connection was encrypted. */
  readonly isSecure: boolean;
  readonly user: string | null;
  /** As it was sent. */
  readonly text: string;
  /** Unfolded, by their lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
}

interface TestContext {
  after(work: () => unknown): void;
}

/** A real mail server on loopback. It takes every mail unless its options say otherwise. */
export async function openMailReceiver(t: TestContext, options: SMTPServerOptions = {}) {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: session.user === undefined ? null : String(session.user),
          text,
          headers: readHeaders(text),
        });
        done();
      });
    },
    ...options,
  });
  // A client that leaves because of the certificate is no error of the test.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    arrived: (count: number) =>
      pollUntil(`${count} mails`, () => (mails.length >= count ? mails : undefined)),
  };
}

function readHeaders(text: string): ReadonlyMap<string, string> {
  const [head = ''] = text.split('\r\n\r\n', 1);
  const lines = head.replaceAll(/\r\n[ \t]/g, ' ').split('\r\n');
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}
