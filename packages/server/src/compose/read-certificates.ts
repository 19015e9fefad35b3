import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { ConfigError } from '../config.ts';

/** The certificates in the file that a setting names; `null`: it names none. */
export function readCertificates(setting: string, file: string): string | null {
  if (file === '') return null;
  const text = readText(setting, file);
  if (isCertificate(text)) return text;
  throw new ConfigError(`"${setting}" has no certificate: ${file} must contain one as PEM.`);
}

function readText(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`"${setting}" cannot be read. ${explainFileError(file, error, 'read')}`);
  }
}

/** Looks at the first one. */
function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
