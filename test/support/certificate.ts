import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';

export interface CertificateOptions {
  /** The host names and IP addresses that it is valid for. */
  readonly names: readonly string[];
  /** Both limits are inclusive, with a precision of one second. */
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The subject; '' for none. */
  readonly commonName?: string;
  /** Self-signed by default. */
  readonly issuer?: Certificate;
  /** P-256 by default. An RSA certificate needs an issuer. */
  readonly keyType?: 'ec' | 'rsa';
}

/** Both as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

interface Signer {
  readonly commonName: string;
  readonly key: KeyObject;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
/** [0] and [3] of a certificate; [2] and [7] of a GeneralName. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

const OID = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  subjectKeyIdentifier: '551d0e',
  keyUsage: '551d0f',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
};

const TRUE = der(BOOLEAN, bytes('ff'));
/** Bits 0 (digitalSignature) and 5 (keyCertSign); two bits at the end are unused. */
const SIGNS_TLS_AND_CERTIFICATES = der(BIT_STRING, bytes('0284'));

/**
 * A certificate for a TLS server or client. It is also a CA: a self-signed one can be trusted directly (`ca`,
 * NODE_EXTRA_CA_CERTS), and it can sign others.
 */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { publicKey, privateKey } =
    options.keyType === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { commonName = DEFAULT_NAME, issuer } = options;
  const signer = issuer === undefined ? { commonName, key: privateKey } : signerOf(issuer);
  const toSign = encodeFacts({ ...options, commonName }, signer.commonName, publicKey);
  const signature = der(BIT_STRING, bytes('00'), sign('sha256', toSign, signer.key));
  const certificate = der(SEQUENCE, toSign, encodeAlgorithm(), signature);
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: encodePem(certificate) };
}

const DEFAULT_NAME = 'Berth test';

/** A certificate for this machine that is valid for as long as the tests will exist. */
export function makeTestCertificate(facts: Partial<CertificateOptions> = {}): Certificate {
  return makeCertificate({
    names: ['localhost', '127.0.0.1', '::1'],
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('2100-12-31T23:59:59Z'),
    ...facts,
  });
}

function signerOf({ cert, key }: Certificate): Signer {
  const commonName = /^CN=(.*)$/m.exec(new X509Certificate(cert).subject)?.[1] ?? '';
  return { commonName, key: createPrivateKey(key) };
}

function encodeFacts(
  { names, notBefore, notAfter, commonName }: CertificateOptions & { readonly commonName: string },
  issuerName: string,
  publicKey: KeyObject,
): Buffer {
  return der(
    SEQUENCE,
    der(VERSION, der(INTEGER, bytes('02'))),
    // The first byte keeps the number positive and its encoding minimal.
    der(INTEGER, bytes('01'), randomBytes(15)),
    encodeAlgorithm(),
    encodeSubject(issuerName),
    der(SEQUENCE, encodeTime(notBefore), encodeTime(notAfter)),
    encodeSubject(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, encodeExtensions(names, publicKey)),
  );
}

function encodeExtensions(names: readonly string[], publicKey: KeyObject): Buffer {
  const keyId = createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
  return der(
    SEQUENCE,
    encodeExtension(OID.basicConstraints, TRUE, der(SEQUENCE, TRUE)),
    encodeExtension(OID.keyUsage, TRUE, SIGNS_TLS_AND_CERTIFICATES),
    encodeExtension(OID.subjectKeyIdentifier, Buffer.alloc(0), der(OCTET_STRING, keyId)),
    encodeExtension(OID.subjectAltName, Buffer.alloc(0), der(SEQUENCE, ...names.map(encodeName))),
  );
}

function encodeExtension(oid: string, critical: Buffer, value: Buffer): Buffer {
  return der(SEQUENCE, der(OBJECT_ID, bytes(oid)), critical, der(OCTET_STRING, value));
}

function encodeName(name: string): Buffer {
  const version = isIP(name);
  if (version === 0) return der(DNS_NAME, Buffer.from(name, 'ascii'));
  return der(IP_ADDRESS, version === 4 ? Buffer.from(name.split('.').map(Number)) : encodeIPv6(name));
}

/** A double colon stands for the missing zeros. */
function encodeIPv6(address: string): Buffer {
  const [front = [], back = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - front.length - back.length).fill('0');
  return bytes([...front, ...zeros, ...back].map((group) => group.padStart(4, '0')).join(''));
}

function encodeSubject(commonName: string): Buffer {
  if (commonName === '') return der(SEQUENCE);
  const value = der(UTF8_STRING, Buffer.from(commonName));
  return der(SEQUENCE, der(SET, der(SEQUENCE, der(OBJECT_ID, bytes(OID.commonName)), value)));
}

function encodeAlgorithm(): Buffer {
  return der(SEQUENCE, der(OBJECT_ID, bytes(OID.ecdsaWithSha256)));
}

/** Years from 1950 to 2049 must be written with two digits, all others with four. */
function encodeTime(time: Date): Buffer {
  const text = `${time.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
  const isShort = time.getUTCFullYear() >= 1950 && time.getUTCFullYear() < 2050;
  return der(isShort ? UTC_TIME : GENERALIZED_TIME, Buffer.from(isShort ? text.slice(2) : text));
}

function encodePem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(value.length), value]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const size = bytes(hex.padStart(hex.length + (hex.length % 2), '0'));
  return Buffer.from([0x80 | size.length, ...size]);
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}
