import assert from 'node:assert/strict';
import { type CurlAnswer, curlAll } from './curl.ts';

const JSON_HEADERS = ['-H', 'Content-Type: application/json', '-H', 'Accept: application/json'];

/** The seven operations of the API as anybody types them, on a server with the demo license. */
const CALLS = {
  register: post({ product: 'demo', user: 'ada', os_hostname: 'ws-7', ip_local: '10.0.0.7', user_info: '' }),
  borrow: post({ product: 'demo', user: 'bob', os_hostname: 'laptop' }),
  add_consumption: post({ product: 'demo', consumptions: '1' }),
  add_feature_consumption: post({ product: 'demo', feature: 'export', consumptions: '1' }),
  'airgap/license': post({
    license_policy: 'e30=',
    license_key: 'AAAA-BBBB-CCCC-DDDD',
    policy_id: '1',
    confirmation_code: 'AAAA',
  }),
  'license/generate': post({}),
  'setKeys?apiKey=an-api-key&sharedKey=a-shared-key': ['-H', 'Accept: application/json'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

function post(body: object): readonly string[] {
  return [...JSON_HEADERS, '-d', JSON.stringify(body)];
}

type Call = keyof typeof CALLS;
type Fates = Readonly<Record<Call, string>>;

/** How a server without a vendor's key answers those whom it lets in: the handler itself says no. */
const LET_IN: Partial<Record<Call, string>> = { 'airgap/license': '400 airgap_key_not_configured' };
const CLIENT_CALLS = new Set<string>([
  'register',
  'borrow',
  'add_consumption',
  'add_feature_consumption',
] satisfies Call[]);

export interface Visit {
  readonly url: string;
  readonly token?: string;
  /** More words for curl. */
  readonly words?: readonly string[];
  readonly under?: readonly string[];
}

/** Some of the seven, one after the other, by one curl. */
export function makeCalls(calls: readonly Call[], visit: Visit): Promise<readonly CurlAnswer[]> {
  return curlAll(wordsOf(calls, visit), visit.under);
}

/** The same for several visits from one place. */
export async function makeVisits(
  calls: readonly Call[],
  visits: readonly Omit<Visit, 'under'>[],
): Promise<readonly (readonly CurlAnswer[])[]> {
  const answers = await curlAll(visits.flatMap((visit) => wordsOf(calls, visit)));
  return visits.map((_, index) => answers.slice(index * calls.length, (index + 1) * calls.length));
}

function wordsOf(calls: readonly Call[], { url, token, words = [] }: Visit) {
  const shown = token === undefined ? [] : ['-H', `Authorization: Bearer ${token}`];
  return calls.map((call) => [`${url}/api/v4/${call}`, ...CALLS[call], ...shown, ...words]);
}

/** What became of a call: its status, and the code where it was refused. */
export function fateOf({ status, headers, text }: CurlAnswer): string {
  // A browser that is asked for a password keeps it, and sends it for whoever asks it to.
  assert.equal(headers.get('www-authenticate'), null);
  return status === 200 ? '200' : `${status} ${JSON.parse(text).code}`;
}

/** What becomes of each of the seven, one after the other. */
export async function makeSevenCalls(visit: Visit): Promise<Fates> {
  const calls = Object.keys(CALLS) as Call[];
  const answers = await makeCalls(calls, visit);
  return Object.fromEntries(
    calls.map((call, index) => [call, fateOf(answers[index] as CurlAnswer)]),
  ) as Fates;
}

/** `in`: they are let in; otherwise how they are sent away. */
interface Expectation {
  readonly clients: string;
  readonly admins: string;
}

/** The fates of somebody's calls as a client, and of those as an administrator. */
export function expectFates({ clients, admins }: Expectation): Fates {
  const fates = (Object.keys(CALLS) as Call[]).map((call) => {
    const fate = CLIENT_CALLS.has(call) ? clients : admins;
    return [call, fate === 'in' ? (LET_IN[call] ?? '200') : fate];
  });
  return Object.fromEntries(fates) as Fates;
}
