import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { temporaryFolder } from '../server-process.ts';
import type { OldAnswer } from './old-requests.ts';

interface Secrets {
  readonly token: string;
  readonly apiKey: string;
  readonly sharedKey: string;
  readonly masterKey: string;
  readonly signingKey: string;
  readonly airgapKey: string;
}

function read(name: string): Buffer {
  return readFileSync(new URL(name, import.meta.url));
}

export const SECRETS = JSON.parse(read('secrets.json').toString()) as Secrets;
export const OLD_ANSWERS = JSON.parse(read('answers.json').toString()) as readonly OldAnswer[];

/** Copies the data of a server and of the cloud its licenses come from. */
export function copyEarlierData(t: { after(work: () => void): void }) {
  const folder = temporaryFolder(t);
  const place = (name: string, files: Readonly<Record<string, string | Buffer>>) => {
    mkdirSync(join(folder, name), { mode: 0o700 });
    for (const [file, content] of Object.entries(files)) {
      writeFileSync(join(folder, name, file), content, { mode: 0o600 });
    }
    return join(folder, name);
  };
  return {
    server: place('server', {
      'berth.db': gunzipSync(read('berth.db.gz')),
      'master.key': SECRETS.masterKey,
    }),
    cloud: place('cloud', {
      'cloud.db': gunzipSync(read('cloud.db.gz')),
      'signing-key.pem': SECRETS.signingKey,
      'airgap-key.pem': SECRETS.airgapKey,
    }),
  };
}

/** The server of an earlier release, on the schema before the last one, as a bundle. It needs PostgreSQL. */
export function unpackEarlierServer(t: { after(work: () => void): void }) {
  const file = join(temporaryFolder(t), 'berth.cjs');
  writeFileSync(file, brotliDecompressSync(read('server-12.cjs.br')));
  return { file: process.execPath, args: [file] };
}
