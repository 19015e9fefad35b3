import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../../core/nouns/fault.ts';
import type { DatabaseTarget } from './database-url.ts';
import type { Message } from './message-reader.ts';

/** How the database asks for the password, by the number in its message. */
const DONE = 0;
const PLAIN = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

const MECHANISM = 'SCRAM-SHA-256';
/** No channel binding, and no user: the one that the session was started with counts. */
const HEADER = 'n,,';
/** Far more than any database uses. The server does nothing else while it computes them. */
const MAX_ITERATIONS = 1_000_000;

/** Proves to the database that we know the password, without sending it where the database allows that. */
export class Login {
  readonly #user: string;
  readonly #password: string;
  readonly #first = `n=,r=${randomBytes(18).toString('base64')}`;
  /** What the database must send to prove that it knows the password, too. */
  #expected: Buffer | null = null;
  #isProven = true;

  constructor({ user, password }: DatabaseTarget) {
    this.#user = user;
    this.#password = password ?? '';
  }

  /** The answer to a message about the login; null if there is nothing to say. */
  answer({ bytes, at, end }: Message): string | null {
    const kind = bytes.readInt32BE(at);
    const said = bytes.subarray(at + 4, end);
    if (kind === DONE && this.#isProven) return null;
    if (kind === PLAIN) return `${this.#password}\0`;
    if (kind === MD5) return `md5${md5(md5(this.#password + this.#user), said)}\0`;
    if (kind === SASL && said.toString().split('\0').includes(MECHANISM)) return this.#begin();
    if (kind === SASL_CONTINUE) return this.#prove(said.toString());
    if (kind === SASL_FINAL) return this.#check(said.toString());
    throw kind === DONE ? unproven() : unsupported();
  }

  #begin(): string {
    this.#isProven = false;
    const text = HEADER + this.#first;
    // The length takes four bytes.
    return `${MECHANISM}\0\0\0\0${String.fromCharCode(text.length)}${text}`;
  }

  #prove(challenge: string): string {
    const { final, signature } = answerChallenge(this.#password, this.#first, challenge);
    this.#expected = signature;
    return final;
  }

  #check(final: string): null {
    const signature = Buffer.from(/^v=([^,]*)/.exec(final)?.[1] ?? '', 'base64');
    const expected = this.#expected;
    if (signature.length !== expected?.length || !timingSafeEqual(signature, expected)) throw unproven();
    this.#isProven = true;
    return null;
  }
}

/** SCRAM of RFC 5802: our last message, and the signature with which the database must answer. */
export function answerChallenge(password: string, first: string, challenge: string) {
  const { r: nonce = '', s: salt = '', i: count } = readAttributes(challenge);
  const iterations = Number(count);
  const isOurs = nonce.startsWith(readAttributes(first).r as string);
  if (!isOurs || !(iterations >= 1 && iterations <= MAX_ITERATIONS)) throw unproven();
  const secret = pbkdf2Sync(
    password.normalize('NFKC'),
    Buffer.from(salt, 'base64'),
    iterations,
    32,
    'sha256',
  );
  const clientKey = hmac(secret, 'Client Key');
  const unsigned = `c=${Buffer.from(HEADER).toString('base64')},r=${nonce}`;
  const exchanged = `${first},${challenge},${unsigned}`;
  const mask = hmac(createHash('sha256').update(clientKey).digest(), exchanged);
  const proof = clientKey.map((byte, index) => byte ^ (mask[index] as number));
  return {
    final: `${unsigned},p=${Buffer.from(proof).toString('base64')}`,
    signature: hmac(hmac(secret, 'Server Key'), exchanged),
  };
}

function readAttributes(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split(',').map((part) => [part[0], part.slice(2)]));
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function md5(text: string, salt: Uint8Array = new Uint8Array()): string {
  return createHash('md5').update(text).update(salt).digest('hex');
}

function unproven(): Fault {
  return new Fault(
    'store_unavailable',
    'The database could not prove that it knows the password. Check its address in the URL.',
  );
}

function unsupported(): Fault {
  return new Fault(
    'store_unavailable',
    'The database asks for a kind of login that Berth does not support. Let it use scram-sha-256.',
  );
}
