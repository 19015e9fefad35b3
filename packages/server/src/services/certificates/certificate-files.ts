import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { TLS_OPTIONS } from '@berth/protocol/cloud/tls-options';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { refuseOpen } from '@berth/shell/files/file-sharing';
import type { Config } from '../../config.ts';
import { readFileVersion } from '../watching/watched-file.ts';

type TlsRules = typeof TLS_OPTIONS;

/** The TLS files of a server, all in PEM. */
export interface TlsContext extends TlsRules {
  readonly cert: string;
  readonly key: string;
  /** The CA of client certificates; without it none are requested. */
  readonly ca?: string;
}

/** Invalid files; the message says which and why, but never their contents. */
export class CertificateError extends Error {}

interface LoadedFiles {
  readonly context: TlsContext;
  readonly certificate: X509Certificate;
}

type Files = Config['tls'];

/** Reads the files and checks that they are valid and match. */
export function loadFiles(files: Files): LoadedFiles {
  const cert = read('tls.cert', files.cert);
  const key = read('tls.key', files.key);
  const certificates = parseCertificates('tls.cert', files.cert, cert);
  const [certificate] = certificates;
  checkSignatures(files, certificates);
  checkKey(files, certificate, key);
  const context: TlsContext = { cert, key, ...TLS_OPTIONS, ...readClientCa(files) };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new CertificateError(`The TLS files are not valid: ${(error as Error).message}.`);
  }
  return { context, certificate };
}

/** Changes whenever one of the files changes: its link, inode, time or mode. */
export async function describeLooks({ cert, key, clientCa }: Files): Promise<string> {
  const looks = await Promise.all([cert, key, clientCa].filter((path) => path !== '').map(readFileVersion));
  return looks.join(' ');
}

function read(setting: string, path: string): string {
  const open = refuseOpen([path], process.env);
  if (open !== null) throw new CertificateError(open);
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
    // A file without certificates gives an empty one, which cannot be parsed either.
    return (text.match(PEM_BLOCK) ?? ['']).map((block) => new X509Certificate(block)) as [X509Certificate];
  } catch {
    throw new CertificateError(`"${setting}": ${path} does not contain a valid certificate in PEM format.`);
  }
}

function checkKey(files: Files, certificate: X509Certificate, text: string): void {
  const key = parseKey(files.key, text);
  if (certificate.checkPrivateKey(key) && canSign(key, certificate.publicKey)) return;
  throw new CertificateError(
    `The key in ${files.key} does not belong to the first certificate in ${files.cert}.`,
  );
}

/** A damaged file may have the right public key beside a wrong private one. */
function canSign(key: KeyObject, publicKey: KeyObject): boolean {
  const text = Buffer.from('berth');
  const hash = key.asymmetricKeyType?.startsWith('ed') ? null : 'sha256';
  return verify(hash, text, publicKey, sign(hash, text, key));
}

/** Clients would refuse a damaged certificate, and only they would know. */
function checkSignatures({ cert }: Files, certificates: readonly X509Certificate[]): void {
  for (const certificate of certificates) {
    const issuer = certificates.find((other) => certificate.checkIssued(other));
    if (issuer === undefined || certificate.verify(issuer.publicKey)) continue;
    throw new CertificateError(`A certificate in ${cert} is damaged: its signature is wrong.`);
  }
}

function parseKey(path: string, text: string) {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError(
      `"tls.key": ${path} does not contain a readable private key. Use PEM without a passphrase.`,
    );
  }
}
