import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { TLS_OPTIONS } from '@berth/protocol/cloud/tls-options';
import { explainFileError } from '@berth/protocol/files/explain-file-error';
import type { Config } from '../../config.ts';
import { readFileVersion } from './file-version.ts';

type TlsRules = typeof TLS_OPTIONS;

/** What a TLS server is set up with. Everything in PEM. */
export interface TlsContext extends TlsRules {
  readonly cert: string;
  readonly key: string;
  /** Who signs the certificates of clients that are believed; without it none is asked for. */
  readonly ca?: string;
}

/** Files that cannot be used; the message says which and why, and never what is in them. */
export class CertificateError extends Error {}

interface LoadedFiles {
  readonly context: TlsContext;
  readonly certificate: X509Certificate;
}

type Files = Config['tls'];

/** Reads the files and makes sure that they can be used, and with each other. */
export function loadFiles(files: Files): LoadedFiles {
  const cert = read('tls.cert', files.cert);
  const key = read('tls.key', files.key);
  const [certificate] = parseCertificates('tls.cert', files.cert, cert);
  checkKey(files, certificate, key);
  const context: TlsContext = { cert, key, ...TLS_OPTIONS, ...readClientCa(files) };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new CertificateError(`The TLS files cannot be used: ${(error as Error).message}.`);
  }
  return { context, certificate };
}

/** Changes whenever one of the files does: another link, another place, a new time, new rights. */
export async function describeLooks({ cert, key, clientCa }: Files): Promise<string> {
  const looks = await Promise.all([cert, key, clientCa].filter((path) => path !== '').map(readFileVersion));
  return looks.join(' ');
}

function read(setting: string, path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    throw new CertificateError(`"${setting}" cannot be read. ${explainFileError(path, error, 'read')}`);
  }
}

function readClientCa({ clientCa }: Files): Pick<TlsContext, 'ca'> {
  if (clientCa === '') return {};
  const ca = read('tls.clientCa', clientCa);
  parseCertificates('tls.clientCa', clientCa, ca);
  return { ca };
}

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parseCertificates(setting: string, path: string, text: string): [X509Certificate] {
  try {
    // None at all makes an empty one, which cannot be parsed either.
    return (text.match(PEM_BLOCK) ?? ['']).map((block) => new X509Certificate(block)) as [X509Certificate];
  } catch {
    throw new CertificateError(`"${setting}": ${path} holds no certificate, or a broken one. It takes PEM.`);
  }
}

function checkKey(files: Files, certificate: X509Certificate, text: string): void {
  const key = parseKey(files.key, text);
  if (certificate.checkPrivateKey(key)) return;
  throw new CertificateError(
    `The key in ${files.key} does not belong to the first certificate in ${files.cert}.`,
  );
}

function parseKey(path: string, text: string) {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError(
      `"tls.key": ${path} holds no private key that can be read. It takes PEM without a passphrase.`,
    );
  }
}
