import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { NotSentError, type Tls } from '../environment.ts';
import { BerthError } from '../errors.ts';

/** Files are read again for every request, because certificates are renewed while programs run. */
export function readCertificates(tls: Tls): Tls {
  return Object.fromEntries(Object.entries(tls).map(([name, given]) => [name, readPem(name, given)]));
}

export function checkTls(tls: Tls): void {
  try {
    const { ca, ...own } = readCertificates(tls);
    if (ca !== undefined) new X509Certificate(ca);
    createSecureContext(own);
  } catch (error) {
    const { message } = error as Error;
    const advice = 'Give "ca", "cert" and "key" as PEM, or as names of files. The key has no password.';
    throw new BerthError('invalid_option', `The certificates cannot be used: ${message}.`, advice, {
      cause: error,
    });
  }
}

function readPem(name: string, given: string): string {
  if (given.includes('-----BEGIN')) return given;
  try {
    return readFileSync(given, 'utf8');
  } catch (error) {
    throw new NotSentError(`the file of "${name}" cannot be read (${(error as { code?: string }).code})`);
  }
}
