import { randomBytes } from 'node:crypto';
import { API, type Check, get, post, type Subject } from './check.ts';
import { END_ALL_CHECKS } from './end-all-checks.ts';
import { exchange, type Received, type Sent, showReceived, showSent } from './exchange.ts';
import { LENDING_CHECKS } from './lending-checks.ts';
import { OTHER_CHECKS } from './other-checks.ts';

export interface Options {
  readonly url: string;
  /** `null`: the server has one product. */
  readonly product: string | null;
  readonly licenseId: number | null;
  readonly token: string | null;
  /** As `user:password`. */
  readonly basic: string | null;
  /** Nobody else uses the server, so slots of others may be ended. */
  readonly isAlone: boolean;
}

export interface Result {
  readonly call: string;
  readonly what: string;
  /** `null`: as it should be. */
  readonly wrong: string | null;
  /** Why it was not checked. */
  readonly skipped: string | null;
  readonly sent: string;
  readonly received: string;
}

/** The server cannot be checked at all. */
export class NoSubject extends Error {}

/** Makes every check, one after the other; each returns what it takes. */
export async function runChecks(options: Options): Promise<readonly Result[]> {
  const send = (sent: Sent) => exchange(options.url, withToken(sent, options.token));
  const subject = await findSubject(send, options);
  const results: Result[] = [];
  for (const [index, check] of [...OTHER_CHECKS, ...LENDING_CHECKS, ...END_ALL_CHECKS].entries()) {
    const user = `${subject.user}-${index}`;
    results.push(await make(check, { ...subject, user }, options, send));
  }
  return results;
}

type Send = (sent: Sent) => Promise<Received>;

function withToken(sent: Sent, token: string | null): Sent {
  if (token === null || sent.headers?.Authorization !== undefined) return sent;
  return { ...sent, headers: { ...sent.headers, Authorization: `Bearer ${token}` } };
}

async function make(check: Check, subject: Subject, options: Options, send: Send): Promise<Result> {
  const { call, what, needs, expect } = check;
  const result = { call, what, wrong: null, skipped: null, sent: '', received: '' };
  const skipped = needs?.(subject, { isAlone: options.isAlone, hasToken: options.token !== null }) ?? null;
  if (skipped !== null) return { ...result, skipped };
  const requests = check.send(subject);
  const answers: Received[] = [];
  for (const request of requests) answers.push(await send(request));
  await tidyUp(requests, subject, send);
  const left = findReasonToSkip(check, answers);
  if (left !== null) return { ...result, skipped: left };
  const [last, ...before] = answers.toReversed() as [Received, ...Received[]];
  const inOrder = before.toReversed();
  const wrong = expect.map((judge) => judge(last, subject, inOrder)).find((said) => said !== null) ?? null;
  const sent = showSent(requests.at(-1) as Sent);
  return { ...result, wrong, sent, received: showReceived(last) };
}

/** What the answers say about what a server may decline or lack. */
function findReasonToSkip({ isAdministrative, isOptional }: Check, answers: readonly Received[]) {
  const isAny = (...wanted: number[]) => answers.some(({ status }) => wanted.includes(status));
  if (isAdministrative && isAny(401, 403)) return 'needs the token of an administrator';
  return isOptional && isAny(404) ? 'the server does not have it, and need not' : null;
}

/** Returns all slots that the check may have taken. */
async function tidyUp(requests: readonly Sent[], { aim, user }: Subject, send: Send): Promise<void> {
  const users = new Set([user, ...requests.flatMap(({ body }) => usersIn(body))]);
  const takes = requests.some(({ path }) => /register|borrow|feature/i.test(path));
  if (takes) for (const one of users) await send(post('unregister', { ...aim, user: one }));
}

function usersIn(body: Sent['body']): readonly string[] {
  const { user } = (typeof body === 'object' ? body : {}) as { user?: unknown };
  return typeof user === 'string' ? [user] : [];
}

async function findSubject(send: Send, { product, licenseId, basic }: Options): Promise<Subject> {
  const query = product === null ? '' : `?product=${encodeURIComponent(product)}`;
  const answer = await send(get(`${API}/license${query}`));
  const { body: license } = answer;
  if (answer.status !== 200 || typeof license.product !== 'string') {
    throw new NoSubject(`GET ${API}/license${query} answers no license:\n  ${showReceived(answer)}`);
  }
  const features = (Array.isArray(license.product_features) ? license.product_features : []) as Feature[];
  const codeOf = (isMeant: (feature: Feature) => boolean) => features.find(isMeant)?.code ?? null;
  return {
    product: license.product,
    licenseId: Number(license.license_id),
    aim: { product: license.product, ...(licenseId === null ? {} : { license_id: licenseId }) },
    user: `conformance-${randomBytes(4).toString('hex')}`,
    slots: Number(license.floating_users),
    maxBorrowHours: license.can_borrow === true ? Number(license.max_borrow_time) : 0,
    isConsumption: license.license_type === 'consumption',
    countedFeature: codeOf(({ feature_type: type }) => type === 'consumption'),
    floatingFeature: codeOf(({ is_floating: is }) => is === true),
    basic,
  };
}

interface Feature {
  readonly code: string;
  readonly feature_type?: string;
  readonly is_floating?: boolean;
}
