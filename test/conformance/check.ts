import type { Received, Sent } from './exchange.ts';
import { type Fields, findWrongField } from './wire-fields.ts';

/** What the checks work with, found out before the first. */
export interface Subject {
  readonly product: string;
  readonly licenseId: number;
  /** What each body has, beside what it is about. */
  readonly aim: Readonly<Record<string, string | number>>;
  /** Another one for each check, which returns what it holds. */
  readonly user: string;
  readonly slots: number;
  /** In hours; 0: no slot can be borrowed. */
  readonly maxBorrowHours: number;
  readonly isConsumption: boolean;
  /** Codes of a feature that is counted, and of one whose slots are lent; `null`: there is none. */
  readonly countedFeature: string | null;
  readonly floatingFeature: string | null;
  /** Name and password of an account that was given. */
  readonly basic: string | null;
}

/** Why a check cannot be made; `null`: it can. */
export type Need = (subject: Subject, options: { isAlone: boolean; hasToken: boolean }) => string | null;

/** One line of the table. */
export interface Check {
  readonly call: string;
  readonly what: string;
  readonly needs?: Need;
  /** A server may leave it to administrators: then it is skipped. */
  readonly isAdministrative?: true;
  /** No client is known to need it: a server that answers 404 is skipped. */
  readonly isOptional?: true;
  /** Of several requests, the answer to the last one is judged. */
  readonly send: (subject: Subject) => readonly Sent[];
  readonly expect: readonly Expectation[];
}

/** Returns what is wrong, or `null`. `before`: the answers to the requests before it. */
export type Expectation = (
  received: Received,
  subject: Subject,
  before: readonly Received[],
) => string | null;

export const API = '/api/v4';

/** For what would be felt by others, or stays behind. */
export function needsAlone(why: string): Need {
  return (_, { isAlone }) => (isAlone ? null : `needs --alone: ${why}`);
}

export function post(path: string, body: object | string, headers: Sent['headers'] = {}): Sent {
  return { method: 'POST', path: `${API}/${path}`, body, headers };
}

export function get(path: string, headers: Sent['headers'] = {}): Sent {
  return { method: 'GET', path, headers };
}

export function status(expected: number): Expectation {
  return ({ status: found }) => (found === expected ? null : `the status is ${found}, not ${expected}`);
}

/** A success with a JSON object. */
export const answersObject: Expectation = (received) => {
  if (received.status !== 200) return `the status is ${received.status}, not 200`;
  return isJson(received);
};

function isJson({ type, isObject }: Received): string | null {
  if (!isObject) return 'the body is no JSON object';
  return /^application\/json\b/.test(type) ? null : `the content type is "${type}", not application/json`;
}

/** An error as clients read it: `{status, code, message}`. Without a code, any will do. */
export function refuses(expected: number, code?: string): Expectation {
  return (received) => {
    const { status: found, body } = received;
    if (found !== expected) return `the status is ${found}, not ${expected}`;
    const wrong = isJson(received);
    if (wrong !== null) return wrong;
    if (body.status !== expected) return `"status" is ${JSON.stringify(body.status)}, not ${expected}`;
    if (typeof body.code !== 'string' || !/^[a-z0-9_]+$/.test(body.code)) return '"code" is no code';
    if (typeof body.message !== 'string' || body.message === '') return '"message" is no sentence';
    return code === undefined || body.code === code ? null : `"code" is "${body.code}", not "${code}"`;
  };
}

export function hasFields(fields: Fields): Expectation {
  return ({ body }) => findWrongField(body, fields);
}

export function lacks(name: string): Expectation {
  return ({ body }) => (name in body ? `"${name}" must not be there` : null);
}

export function hasValue(name: string, expectedOf: (subject: Subject) => unknown): Expectation {
  return ({ body }, subject) => {
    const expected = expectedOf(subject);
    const found = JSON.stringify(body[name]);
    return body[name] === expected ? null : `"${name}" is ${found}, not ${JSON.stringify(expected)}`;
  };
}

/** Some servers put a bare text between quotes, which clients do not mind. */
export function saysText(expected: string): Expectation {
  return ({ text }) => (text.replaceAll('"', '').trim() === expected ? null : `the text is not ${expected}`);
}

/** The same number as in the first answer, or so much more. */
export function keepsCount(name: string, more = 0): Expectation {
  return ({ body }, _, [first]) => {
    const expected = Number(first?.body[name]) + more;
    return body[name] === expected ? null : `"${name}" is ${JSON.stringify(body[name])}, not ${expected}`;
  };
}
