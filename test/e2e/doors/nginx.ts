import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { findFreePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/server-process.ts';

/** What proxies say about themselves; each has a path of its own. */
const ANNOUNCEMENTS = {
  'x-forwarded-for': 'X-Forwarded-For $proxy_add_x_forwarded_for',
  'x-forwarded-proto': 'X-Forwarded-Proto $scheme',
  'x-real-ip': 'X-Real-IP $remote_addr',
  forwarded: 'Forwarded for=$remote_addr',
  via: 'Via "1.1 proxy.example"',
  'host-as-it-came': 'Host $http_host',
} as const;

interface Nginx {
  /** Passes requests on, and says nothing about itself. */
  readonly url: string;
  /** The same with one header that gives it away, by the name of the header. */
  readonly announced: Readonly<Record<keyof typeof ANNOUNCEMENTS, string>>;
}

/** A real nginx in front of a server, on a free port of this machine, until the test ends. */
export async function startNginx(t: TestContext, upstream: string): Promise<Nginx> {
  const folder = temporaryFolder(t);
  const port = await findFreePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configure(port, upstream));
  const child = spawn('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let log = '';
  const listening = new Promise<true>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      // It says so after it has opened its sockets.
      if (log.includes('event method')) resolve(true);
    });
  });
  if (!(await Promise.race([listening, exited.then(() => false)]))) {
    throw new Error(`nginx ended before it was ready:\n${log}`);
  }
  const url = `http://127.0.0.1:${port}`;
  const announced = Object.keys(ANNOUNCEMENTS).map((name) => [name, `${url}/${name}`]);
  return { url, announced: Object.fromEntries(announced) };
}

/** Nothing outside its folder, and nothing that plain `proxy_pass` would not do by itself. */
function configure(port: number, upstream: string): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const announcing = Object.entries(ANNOUNCEMENTS).map(
    ([name, header]) => `location /${name}/ { proxy_pass ${upstream}/; proxy_set_header ${header}; }`,
  );
  return `
    daemon off; master_process off; pid nginx.pid; error_log stderr notice;
    events {}
    http {
      access_log off;
      ${folders.map((name) => `${name}_temp_path ${name};`).join(' ')}
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass ${upstream}; }
        ${announcing.join('\n        ')}
      }
    }
  `;
}
