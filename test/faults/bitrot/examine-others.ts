import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extractBackup } from '@berth/shell/files/backup-file';
import { loadConfig } from '../../../packages/server/src/config.ts';
import { loadFiles } from '../../../packages/server/src/services/certificates/certificate-files.ts';
import { parseRules } from '../../../packages/server/src/services/rules/parse-rules.ts';

/** Reads a file of the folder as a server or a command does. Throws if that refuses it. */
type Read = (folder: string) => unknown;

/** A file that people write, or a backup: what is read from it. */
const READ: Readonly<Record<string, Read>> = {
  backup(folder) {
    const to = join(folder, 'extracted');
    rmSync(to, { force: true });
    return extractBackup(join(folder, 'backup'), to).facts;
  },
  'berth.yaml': (folder) => loadConfig({ flags: {}, env: {}, file: join(folder, 'berth.yaml') }).config,
  'rules.yaml'(folder) {
    const parsed = parseRules(readFileSync(join(folder, 'rules.yaml'), 'utf8'));
    if ('errors' in parsed) throw new Error(parsed.errors[0]?.message);
    return parsed.rules;
  },
  'tls.crt': readCertificate,
  'tls.key': readCertificate,
};

function readCertificate(folder: string): string {
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  return new X509Certificate(loadFiles({ cert, key, clientCa: '' }).context.cert).fingerprint256;
}

/** What is read from a file, as a text; `null`: it is refused. */
export function examineOther(folder: string, file: string): string | null {
  try {
    return JSON.stringify((READ[file] as Read)(folder));
  } catch {
    return null;
  }
}
