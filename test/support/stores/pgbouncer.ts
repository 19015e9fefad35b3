import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../free-port.ts';
import { temporaryFolder } from '../server-process.ts';
import { findRunAs } from './postgres-binaries.ts';

export type PoolMode = 'session' | 'transaction' | 'statement';

export interface Pgbouncer {
  readonly port: number;
  /** Changes the configuration and has it read again, as an administrator does after a failover. */
  leadTo(databasePort: number): void;
}

/** Starts a pooler which knows nothing of prepared statements. It ends with the test. */
export async function startPgbouncer(
  life: { after(end: () => unknown): void },
  databasePort: number,
  mode: PoolMode,
  settings: readonly string[] = [],
): Promise<Pgbouncer> {
  const folder = temporaryFolder(life);
  const { uid, gid } = findRunAs() ?? {};
  const port = await findFreePort();
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    if (uid !== undefined && gid !== undefined) chownSync(join(folder, name), uid, gid);
  };
  const configure = (toPort: number) => {
    const lines = [
      '[databases]',
      `* = host=127.0.0.1 port=${toPort}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users')}`,
      `pool_mode = ${mode}`,
      'max_client_conn = 1000',
      ...settings,
      ...(canPrepare() ? ['max_prepared_statements = 0'] : []),
    ];
    write('pgbouncer.ini', lines.join('\n'));
  };
  write('users', '"postgres" ""\n');
  configure(databasePort);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  // It refuses to run as root.
  const child = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], {
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  life.after(() => child.kill('SIGKILL'));
  let log = '';
  const up = new Promise<boolean>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('process up')) resolve(true);
    });
  });
  if (!(await Promise.race([up, once(child, 'exit').then(() => false)])))
    throw new Error(`PgBouncer ended before it was ready:\n${log}`);
  const leadTo = (toPort: number) => {
    configure(toPort);
    child.kill('SIGHUP');
  };
  return { port, leadTo };
}

/** Older releases do not know the setting, and can never prepare statements. */
function canPrepare(): boolean {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });
  return Number(/PgBouncer 1\.(\d+)/.exec(stdout)?.[1]) >= 21;
}
