import { parseRange } from '@berth/protocol/address-range';
import { TLS_OPTIONS } from '@berth/protocol/cloud/tls-options';
import { UsageError } from '@berth/shell/console/command-line';
import { LOG_FORMATS, LOG_LEVELS } from '@berth/shell/console/log-line';
import { waitForStop } from '@berth/shell/console/stop-signals';
import { type Listening, listen } from '@berth/web/listen';
import type { Clock } from '../clock.ts';
import { readAmount, ValueError } from '../core/read-values.ts';
import { createApp } from '../http/app.ts';
import { LIMITS } from '../http/limits/limits.ts';
import { createLog } from '../http/log.ts';
import type { DataFolder } from '../store/data-folder.ts';
import { readNamedFile } from './carried-files.ts';
import type { Flags } from './command.ts';
import type { Terminal } from './terminal.ts';

export interface ServeOptions {
  readonly folder: DataFolder;
  readonly flags: Flags;
  readonly clock: Clock;
  readonly terminal: Terminal;
  readonly defaultPort: number;
  readonly warnings: readonly string[];
}

const PORT = { from: 0, to: 65_535, isWhole: true } as const;
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Starts the server. The log goes to standard error. */
export async function startCloud(options: ServeOptions): Promise<Listening> {
  const { folder, flags, clock, terminal, defaultPort } = options;
  const port = flags.port === undefined ? defaultPort : readAmount('port', flags.port, PORT);
  const { host = '127.0.0.1' } = flags;
  const tls = readTls(flags);
  const trustedProxies = readProxies(flags);
  const log = createLog({
    level: readChoice(flags, 'log-level', LOG_LEVELS, 'info'),
    format: readChoice(flags, 'log-format', LOG_FORMATS, 'auto'),
    screen: terminal.errorScreen,
    writeLine: terminal.log,
    readWallMs: clock.readWallMs,
  });
  for (const warning of options.warnings) log.write('warn', warning, {});
  if (tls === null && !LOOPBACK.test(host)) {
    log.write('warn', 'without TLS, license keys and passwords can be read on the network', { host });
  }
  const app = createApp({ ...folder, clock, log });
  const listening = await listen(app, {
    host,
    port,
    maxConnections: LIMITS.connections,
    maxConnectionsPerAddress: LIMITS.connectionsPerAddress,
    trustedProxies,
    certificates: tls === null ? null : { read: () => tls, onChange: () => {} },
    clock: { readWall: clock.readWallMs, readMonotonicMs: clock.readMonotonicMs },
  });
  log.write('info', 'serving', { url: listening.url, data: folder.path });
  return listening;
}

function readChoice<T extends string>(
  flags: Flags,
  name: 'log-level' | 'log-format',
  choices: readonly T[],
  usual: T,
): T {
  const { [name]: text = usual } = flags;
  const choice = choices.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new ValueError(`"${name}" cannot be "${text}". Allowed: ${choices.join(', ')}.`);
}

function readProxies({ 'trusted-proxies': text = '' }: Flags): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      if (parseRange(part) !== null) return part;
      throw new ValueError(
        `"trusted-proxies" cannot be "${part}". Write addresses, such as 10.0.0.1,10.1.0.0/16.`,
      );
    });
}

function readTls({ 'tls-cert': cert, 'tls-key': key }: Flags) {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) {
    throw new UsageError('TLS needs both --tls-cert FILE and --tls-key FILE.');
  }
  return { ...TLS_OPTIONS, cert: readNamedFile(cert), key: readNamedFile(key) };
}

/** Runs until a signal. Prints one line when ready. */
export async function serve(options: ServeOptions): Promise<null> {
  const listening = await startCloud(options);
  const { url } = listening;
  const ended = waitForStop(process);
  options.terminal.print(options.flags.json ? JSON.stringify({ url }) : `cloud listening on ${url}`);
  await ended;
  await listening.stop();
  return null;
}
