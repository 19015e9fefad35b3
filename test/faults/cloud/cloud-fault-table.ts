import type { CloudFaultReason } from '../../../packages/server/src/cloud/cloud.ts';
import type { Fault } from '../../support/chaos/chaos-fault.ts';

/** What a question to a broken cloud comes to: an answer, a refusal under its code, or no use at all. */
export type Outcome = 'ok' | { readonly refused: string } | CloudFaultReason;

export interface FaultCase {
  readonly name: string;
  readonly fault: Fault;
  /** The cloud gets the request and does what it asks for. */
  readonly acts: boolean;
  readonly comesTo: Outcome;
  /** Where it is another thing once the cloud has bound an answer to its request, and is held to that. */
  readonly onceHeld?: Outcome;
  /** The answer never comes. */
  readonly hangs?: boolean;
  /** Much like another one. */
  readonly isVariant?: boolean;
}

/** What somebody on the way would say to stop a company's work. */
const FORGED = JSON.stringify({
  status: 400,
  code: 'license_not_enabled',
  message: 'The license was disabled by its vendor.',
});

const PORTAL = '<html><body>Please sign in to the guest network.</body></html>';

const NEVER_THERE: readonly FaultCase[] = [
  { name: 'refuses connections', fault: { kind: 'refuse' }, acts: false, comesTo: 'broken_off' },
  {
    name: 'resets connections',
    fault: { kind: 'reset' },
    acts: false,
    comesTo: 'broken_off',
    isVariant: true,
  },
  { name: 'hangs up on requests', fault: { kind: 'cut_before' }, acts: false, comesTo: 'broken_off' },
  { name: 'never answers', fault: { kind: 'hang' }, acts: false, comesTo: 'timeout', hangs: true },
  { name: 'speaks no HTTP', fault: { kind: 'garbage' }, acts: false, comesTo: 'broken_off' },
];

/** The request has done its work, and nobody hears of it, or not what was said. */
const LOST_ANSWERS: readonly FaultCase[] = [
  { name: 'acts and hangs up', fault: { kind: 'cut_after' }, acts: true, comesTo: 'broken_off' },
  {
    name: 'acts and hangs up during its answer',
    fault: { kind: 'cut_within' },
    acts: true,
    comesTo: 'broken_off',
    isVariant: true,
  },
  {
    name: 'acts and never answers',
    fault: { kind: 'hang_after' },
    acts: true,
    comesTo: 'timeout',
    hangs: true,
  },
  {
    name: 'acts and a gateway says 502',
    fault: { kind: 'status_after', code: 502 },
    acts: true,
    comesTo: 'server_error',
  },
  {
    name: 'acts and a gateway says 504 in JSON',
    fault: { kind: 'status_after', code: 504, body: '{"code":"timeout"}' },
    acts: true,
    comesTo: 'server_error',
    isVariant: true,
  },
  {
    name: 'acts and somebody refuses',
    fault: { kind: 'status_after', code: 400, body: FORGED },
    acts: true,
    comesTo: { refused: 'license_not_enabled' },
    onceHeld: 'not_signed',
  },
  {
    name: 'acts and its signature is wrong',
    fault: { kind: 'wrong_signature' },
    acts: true,
    comesTo: 'not_signed',
  },
  {
    name: 'acts and its signature is missing',
    fault: { kind: 'no_signature' },
    acts: true,
    comesTo: 'not_signed',
    isVariant: true,
  },
  {
    name: 'acts and its answer is changed',
    fault: { kind: 'changed_body' },
    acts: true,
    comesTo: 'not_signed',
  },
];

const MADE_UP_ANSWERS: readonly FaultCase[] = [
  {
    name: 'answers bytes',
    fault: { kind: 'garbage_body' },
    acts: false,
    comesTo: 'not_signed',
  },
  {
    name: 'answers other JSON',
    fault: { kind: 'wrong_json' },
    acts: false,
    comesTo: 'not_signed',
    isVariant: true,
  },
  {
    name: 'is a captive portal',
    fault: { kind: 'status', code: 200, body: PORTAL, headers: { 'Content-Type': 'text/html' } },
    acts: false,
    comesTo: 'not_signed',
    isVariant: true,
  },
  { name: 'answers without an end', fault: { kind: 'huge' }, acts: false, comesTo: 'too_large' },
  {
    name: 'announces 10 GiB',
    fault: { kind: 'huge_declared' },
    acts: false,
    comesTo: 'too_large',
    isVariant: true,
  },
  {
    name: 'has another API there',
    fault: { kind: 'status', code: 404 },
    acts: false,
    comesTo: 'not_understood',
  },
  {
    name: 'has another API there, in JSON',
    fault: { kind: 'status', code: 404, body: '{"code":"not_found","message":"no"}' },
    acts: false,
    comesTo: 'not_understood',
    isVariant: true,
  },
  {
    name: 'is barred by a gateway',
    fault: { kind: 'status', code: 403 },
    acts: false,
    comesTo: 'not_understood',
    isVariant: true,
  },
  {
    name: 'limits requests',
    fault: { kind: 'status', code: 429, body: '{"code":"too_many_requests","message":"Later."}' },
    acts: false,
    comesTo: { refused: 'too_many_requests' },
    onceHeld: 'not_signed',
  },
  {
    name: 'is not the one who refuses',
    fault: { kind: 'status', code: 400, body: FORGED },
    acts: false,
    comesTo: { refused: 'license_not_enabled' },
    onceHeld: 'not_signed',
  },
];

const SERVER_ERRORS: readonly FaultCase[] = [500, 502, 503].map((code) => ({
  name: `answers ${code}`,
  fault: { kind: 'status', code },
  acts: false,
  comesTo: 'server_error',
  isVariant: code !== 500,
}));

/** `trap` says where a client that follows would arrive. */
function listRedirects(trap: () => string): readonly FaultCase[] {
  return ([301, 302, 303, 307, 308] as const).map((code) => ({
    name: `redirects with ${code}`,
    fault: {
      kind: 'redirect',
      code,
      get location() {
        return `${trap()}/api/v4/elsewhere`;
      },
    },
    acts: false,
    comesTo: 'redirect',
    isVariant: code !== 301,
  }));
}

const HARMLESS: readonly FaultCase[] = [
  { name: 'answers byte by byte', fault: { kind: 'drip' }, acts: true, comesTo: 'ok', isVariant: true },
  { name: 'gets everything twice', fault: { kind: 'duplicate' }, acts: true, comesTo: 'ok' },
];

/** Everything that can be wrong between a server and its cloud on one exchange. */
export function listFaults(trap: () => string): readonly FaultCase[] {
  return [
    ...NEVER_THERE,
    ...LOST_ANSWERS,
    ...MADE_UP_ANSWERS,
    ...SERVER_ERRORS,
    ...listRedirects(trap),
    ...HARMLESS,
  ];
}
