import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { isIP, connect as openTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as openTls, type TLSSocket } from 'node:tls';
import { Fault } from '../../../core/nouns/fault.ts';
import { ConnectionLost } from './database-error.ts';
import { type DatabaseTarget, describeTarget, type Encryption, isSocketFolder } from './database-url.ts';

type Encrypted = Extract<Encryption, { kind: 'always' }>;

/** Asks for encryption before anything else; the answer is one letter. */
const SSL_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);
const YES = 'S'.charCodeAt(0);
const NO = 'N'.charCodeAt(0);

const UNVERIFIED: Encrypted = { kind: 'always', proof: 'none', authorities: null };

/** Connects, and checks the other end as the URL demands. The signal only aborts the attempt. */
export async function openSocket(target: DatabaseTarget, signal: AbortSignal): Promise<Socket> {
  const socket = isSocketFolder(target.host)
    ? openTcp(join(target.host, `.s.PGSQL.${target.port}`))
    : openTcp(target.port, target.host);
  // `waitFor` reports errors; without a listener they would end the process.
  socket.on('error', () => {});
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort);
  try {
    await waitFor(socket, 'connect', signal);
    socket.setNoDelay(true);
    return await encrypt(socket, target, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function encrypt(socket: Socket, target: DatabaseTarget, signal: AbortSignal): Promise<Socket> {
  const { encryption } = target;
  if (encryption.kind === 'off') return socket;
  if (await offersEncryption(socket, signal))
    return shakeHands(socket, target, encryption.kind === 'always' ? encryption : UNVERIFIED, signal);
  if (encryption.kind === 'if_offered') return socket;
  throw new Fault(
    'store_unavailable',
    `The database at ${describeTarget(target)} does not encrypt. Set up TLS there, or write ` +
      'sslmode=disable in its URL if you trust the network between.',
  );
}

async function offersEncryption(socket: Socket, signal: AbortSignal): Promise<boolean> {
  socket.write(SSL_REQUEST);
  const [answer] = (await waitFor(socket, 'data', signal)) as [Buffer];
  // Anything unencrypted after the letter comes from an attacker in between.
  if (answer.length !== 1 || (answer[0] !== YES && answer[0] !== NO))
    throw new Fault('store_unavailable', 'The server at the address of the database is not PostgreSQL.');
  return answer[0] === YES;
}

async function shakeHands(
  socket: Socket,
  target: DatabaseTarget,
  { proof, authorities }: Encrypted,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const tls = openTls({
    socket,
    host: target.host,
    ...(isIP(target.host) === 0 && !isSocketFolder(target.host) ? { servername: target.host } : {}),
    ...(authorities === null ? {} : { ca: readAuthorities(authorities) }),
    ...(proof === 'certificate' ? { checkServerIdentity: () => undefined } : {}),
    rejectUnauthorized: proof !== 'none',
  });
  tls.on('error', () => {});
  try {
    await waitFor(tls, 'secureConnect', signal);
    return tls;
  } catch (error) {
    tls.destroy();
    throw explainTls(error, target);
  }
}

function readAuthorities(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const message = `The file ${file}, named by sslrootcert in the database URL, cannot be read.`;
    throw new Fault('store_unavailable', message, { cause });
  }
}

function explainTls(error: unknown, target: DatabaseTarget): unknown {
  if (error instanceof ConnectionLost) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new Fault(
    'store_unavailable',
    `The database at ${describeTarget(target)} could not prove who it is: ${reason}. Check its ` +
      'certificate, and sslmode and sslrootcert in the URL.',
    { cause: error },
  );
}

/** Ends with the event, an error, the end of the socket, or the signal. */
async function waitFor(socket: Socket, event: string, signal: AbortSignal): Promise<unknown[]> {
  const done = new AbortController();
  try {
    return await Promise.race([
      once(socket, event, { signal: done.signal }),
      once(socket, 'close', { signal: done.signal }).then(() => {
        throw new ConnectionLost(
          signal.aborted
            ? 'The database did not answer in time. Check that it runs, and the network.'
            : 'The database closed the connection while it was being opened. Try again in a moment.',
        );
      }),
    ]);
  } finally {
    done.abort();
  }
}
