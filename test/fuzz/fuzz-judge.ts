import assert from 'node:assert/strict';
import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { HEADERS } from '@berth/web/reply';
import type { FuzzRequest } from './fuzz-requests.ts';
import type { FuzzWorld } from './fuzz-world.ts';

/** An answer, read to its end if it has one. */
export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A database and a program may say anything. */
const UNJUDGED: readonly string[] = [HEADERS.bytes['Content-Type'], HEADERS.js['Content-Type']];

export async function readFuzzAnswer({ status, headers, body }: Response): Promise<FuzzAnswer> {
  const type = headers.get('content-type') ?? '';
  const isEndless = type.startsWith('text/event-stream');
  if (isEndless) await body?.cancel();
  const text = isEndless || body === null ? '' : await new Response(body).text();
  return { status, headers, text };
}

/** What only somebody who reads the code should see. */
const INSIDES = /\n\s+at |node:internal|node_modules|\.ts:\d+|\b[A-Z]\w*Error\b|SQLITE_|at Object\./;

export function judgeInsides(type: string, text: string): void {
  if (!UNJUDGED.includes(type)) assert.doesNotMatch(text, INSIDES);
}

/** Whatever was asked: an answer in good form, that says nothing about the inside. */
export function judgeForm({ method }: FuzzRequest, { status, headers, text }: FuzzAnswer): void {
  assert.ok(status >= 200 && status < 500, `${status}: ${text}`);
  judgeInsides(headers.get('content-type') ?? '', text);
  for (const name of Object.keys(HEADERS.json)) assert.ok(headers.has(name), `${name} is missing`);
  if (status < 400) return;
  assert.equal(headers.get('content-type'), HEADERS.json['Content-Type']);
  if (method !== 'HEAD') judgeProblem(status, text);
}

export function judgeProblem(status: number, text: string): void {
  const body = JSON.parse(text) as Record<string, unknown>;
  assert.equal(body.status, status);
  assert.ok(Object.hasOwn(ERRORS, String(body.code)), `"${body.code}" is a code`);
  assert.equal(ERRORS[body.code as ErrorCode].status, status);
  assert.match(String(body.message), /\S.*[.?]$/s);
}

/**
 * What a refusal may leave: its own record, and that time goes on and a token was used. Whoever gives back a
 * borrow that has ended is refused, and a reset of the clock does not bring it back to them. Looking for
 * slots that have ended notes when those that were renewed are due, and may fold the log of renewals.
 */
const OWN_TRACES = [
  /^audit_link added$/,
  /^(place_)?denial (added|removed|changed.*)$/,
  /^license changed( audit_n| audit_mac)*$/,
  /^server changed( mark| audit_n| audit_mac| audit_anchor)*$/,
  /^token changed( used_at| is_used)*$/,
  /^ended_borrow removed$/,
  /^registration changed( due_at)?$/,
  /^renewal removed$/,
  /^history_(slot|person|denial) (added|changed( denials| last_at)*)$/,
];
const OWN_EVENTS = /^(slot_denied|consumption_denied|denials_repeated|sign_in_failed|second_factor_asked)$/;

/** Whatever was refused has changed nothing. */
export async function judgeTraces(world: FuzzWorld, status: number, lastSeq: number): Promise<void> {
  const traces = world.trace.read();
  if (status < 400 || traces.length === 0) return;
  const others = traces.filter((what) => !OWN_TRACES.some((own) => own.test(what)));
  assert.deepEqual(others, [], 'a refused request changed something');
  const query = { kind: 'list_audit', chain: null, before: null, after: lastSeq, limit: 1000 } as const;
  const links = await world.app.store.read(query);
  const kinds = links.flatMap(({ events }) => events.map(({ kind }) => kind));
  assert.deepEqual(
    kinds.filter((kind) => !OWN_EVENTS.test(kind)),
    [],
    'a refused request did something',
  );
}

/** Nobody has reached what all objects share. */
export function judgePrototypes(): void {
  for (const name in {}) assert.fail(`every object has "${name}" now`);
  assert.equal(({} as Record<string, unknown>).isFuzzed, undefined);
}
