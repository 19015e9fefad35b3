import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { DEACTIVATED_TEXT } from '@berth/protocol/cloud/cloud-requests';
import type { Answer } from '../../support/chaos/chaos-fault.ts';
import { pickNumber, pickOne } from '../../support/random.ts';
import { askInstead, makeAnswer, setHeader, signatureOf, withBody, withSignature } from './messages.ts';
import type { Exchange, Middle, Recorded } from './middle.ts';
import { findStop } from './vendor.ts';

/** What the server gets; `null`: the connection is closed. */
type Play = () => Promise<Answer | null>;

/** One kind of meddling. It finds what it needs among what was seen, or cannot be played now. */
export interface Trick {
  readonly name: string;
  find(middle: Middle, exchange: Exchange): Play | null;
}

/** An answer from before takes the place of the cloud's, which may get the request all the same. */
function replay(middle: Middle, exchange: Exchange, answer: Answer): Play {
  return async () => {
    if (middle.random() < 0.5) await middle.ask(exchange);
    return answer;
  };
}

type Choice = (recorded: Recorded, exchange: Exchange) => boolean;

/** Replays one of the answers that fit, or the one at a place of the list. */
function replaySeen(name: string, fits: Choice, at?: 0 | -1): Trick {
  return {
    name,
    find(middle, exchange) {
      const seen = middle.seen((recorded) => fits(recorded, exchange));
      if (seen.length === 0) return null;
      const { answer } = at === undefined ? pickOne(middle.random, seen) : (seen.at(at) as Recorded);
      return replay(middle, exchange, answer);
    },
  };
}

/** Lets the cloud answer, and changes what it said. */
function change(name: string, work: (answer: Answer, middle: Middle) => Answer | null): Trick {
  return {
    name,
    find: (middle, exchange) => async () => {
      const answer = await middle.ask(exchange);
      return answer === null ? null : work(answer, middle);
    },
  };
}

/** Puts a part of an earlier answer to the same question into the cloud's. */
function mix(name: string, work: (answer: Answer, other: Answer) => Answer): Trick {
  return {
    name,
    find(middle, exchange) {
      const seen = middle.seen((recorded) => isSameQuestion(recorded, exchange));
      if (seen.length === 0) return null;
      const other = pickOne(middle.random, seen).answer;
      return async () => {
        const answer = await middle.ask(exchange);
        return answer === null ? null : work(answer, other);
      };
    },
  };
}

const isGood = ({ answer }: Recorded) => answer.status === 200;
const isSameQuestion: Choice = (seen, { operation, server, key }) =>
  seen.operation === operation && seen.server === server && seen.key === key;
const isReport = ({ operation }: Exchange) => operation === 'count' || operation === 'count_feature';
const tellsTerms = ({ operation }: Exchange) => operation === 'check' || operation === 'activate';

const REPLAYS: readonly Trick[] = [
  replaySeen('last answer again', isSameQuestion, -1),
  replaySeen('oldest answer again', isSameQuestion, 0),
  replaySeen('answer about another license', (seen, one) => {
    return seen.operation === one.operation && seen.server === one.server && seen.key !== one.key;
  }),
  replaySeen('answer to another server', (seen, one) => {
    return seen.operation === one.operation && seen.server !== one.server && seen.key === one.key;
  }),
  replaySeen('answer to another operation', (seen, one) => {
    return seen.operation !== one.operation && seen.server === one.server && seen.key === one.key;
  }),
  replaySeen('refusal of another license', (seen, one) => !isGood(seen) && seen.key !== one.key),
  replaySeen('refusal of another server', (seen, one) => !isGood(seen) && seen.server !== one.server),
  replaySeen('old report answer to a new report', (seen, one) => {
    return isReport(one) && isReport(seen) && isGood(seen) && seen.key === one.key;
  }),
];

/** Old words that the vendor has taken back since. */
const TAKEN_BACK: readonly Trick[] = [
  {
    name: 'old refusal of a license that runs',
    find(middle, exchange) {
      const { server, key } = exchange;
      if (findStop(middle.vendor.now(key), server) !== null) return null;
      const seen = middle.seen((one) => !isGood(one) && one.server === server && one.key === key);
      return seen.length === 0 ? null : replay(middle, exchange, pickOne(middle.random, seen).answer);
    },
  },
  {
    name: 'old good answer about a stopped license',
    find(middle, exchange) {
      const { server, key } = exchange;
      if (!tellsTerms(exchange) || findStop(middle.vendor.now(key), server) === null) return null;
      const seen = middle.seen((one) => {
        return isGood(one) && tellsTerms(one) && one.server === server && one.key === key;
      });
      return seen.length === 0 ? null : replay(middle, exchange, pickOne(middle.random, seen).answer);
    },
  },
  {
    name: 'old answer from before a reduction',
    find(middle, exchange) {
      const { server, key } = exchange;
      const { slots, max } = middle.vendor.now(key).terms;
      const seen = middle.seen((one) => {
        const isMore = one.terms.slots > slots || one.terms.max > max;
        return isMore && isGood(one) && tellsTerms(one) && one.server === server && one.key === key;
      });
      if (!tellsTerms(exchange) || seen.length === 0) return null;
      return replay(middle, exchange, pickOne(middle.random, seen).answer);
    },
  },
  {
    name: 'file served as an answer',
    find(middle, exchange) {
      const files = middle.files.get(`${exchange.key} ${exchange.server}`) ?? [];
      if (files.length === 0) return null;
      const { body, signature } = pickOne(middle.random, files);
      return replay(middle, exchange, makeAnswer(200, body, signature));
    },
  },
];

const MIXED: readonly Trick[] = [
  {
    name: 'swapped',
    find: (middle, exchange) =>
      middle.running < 2
        ? null
        : async () => {
            const answer = await middle.ask(exchange);
            return answer === null ? null : middle.swap(answer);
          },
  },
  mix('signature of another answer', (answer, other) => withSignature(answer, signatureOf(other))),
  mix('body of another answer', (answer, other) => withBody(answer, other.body)),
  change('another status', (answer) => ({ ...answer, status: answer.status === 200 ? 400 : 200 })),
  change('junk behind the body', (answer, { random }) =>
    withBody(answer, `${answer.body}${pickOne(random, ['\n', ' ', '{}', '\0', ',"license_enabled":true}'])}`),
  ),
];

const TRUNCATED: readonly Trick[] = [
  change('shorter body with its length', (answer, { random }) =>
    withBody(
      answer,
      answer.body.subarray(0, pickNumber(random, { from: 0, to: Math.max(0, answer.body.length - 1) })),
    ),
  ),
  change('body that breaks off', (answer, { random }) => ({
    ...answer,
    body: answer.body.subarray(0, pickNumber(random, { from: 0, to: Math.max(0, answer.body.length - 1) })),
  })),
  change('shorter signature', (answer, { random }) =>
    withSignature(answer, signatureOf(answer)?.slice(0, pickNumber(random, { from: 0, to: 300 }))),
  ),
  change('no signature', (answer) => withSignature(answer, undefined)),
  change('lost answer', () => null),
];

/** Somebody else's nonce, or a fresh one. */
function pickNonce(middle: Middle, exchange: Exchange): string {
  const fresh = Array.from({ length: 32 }, () => pickNumber(middle.random, { from: 0, to: 15 }).toString(16));
  return middle.findOtherNonce(exchange) ?? fresh.join('');
}

function withNonce(exchange: Exchange, nonce: string | undefined) {
  const { request } = exchange;
  return { ...request, headers: setHeader(request.headers, NONCE_HEADER, nonce) };
}

/** The way there. Whatever the cloud then answers is genuine. */
const ON_THE_WAY_THERE: readonly Trick[] = [
  {
    name: 'request without its nonce',
    find: (middle, exchange) => () => middle.ask(exchange, withNonce(exchange, undefined)),
  },
  {
    name: 'request with another nonce',
    find: (middle, exchange) => () => middle.ask(exchange, withNonce(exchange, pickNonce(middle, exchange))),
  },
  {
    name: 'request delivered twice',
    find: (middle, exchange) => async () => {
      await middle.ask(exchange);
      return middle.ask(exchange);
    },
  },
  {
    name: 'request delivered late',
    find: (middle, exchange) => async () => {
      middle.late.push(exchange);
      return null;
    },
  },
  {
    name: 'answer held while the vendor changes the terms',
    find: (middle, exchange) => async () => {
      const answer = await middle.ask(exchange);
      middle.vendor.change(middle.random, exchange.key);
      return answer;
    },
  },
];

/** Questions of the man himself, with the keys and the nonce of a server's request. None changes anything. */
const ASKED_INSTEAD: readonly Trick[] = [
  {
    name: 'check in place of another operation',
    find(middle, exchange) {
      if (exchange.operation === 'check') return null;
      const { hardware_id, product, license_key } = exchange.fields;
      const fields = { hardware_id, product, license_key };
      return () => middle.ask(exchange, askInstead(exchange.request, 'GET', 'check_license', fields));
    },
  },
  {
    name: 'report of nothing in place of a report',
    find(middle, exchange) {
      if (!isReport(exchange)) return null;
      const { report_id: _, ...rest } = exchange.fields;
      const fields = { ...rest, consumptions: 0 };
      const path = exchange.operation === 'count' ? 'add_consumption' : 'add_feature_consumption';
      return () => middle.ask(exchange, askInstead(exchange.request, 'POST', path, fields));
    },
  },
  {
    name: 'deactivation that the cloud never got',
    find: (_, { operation }) =>
      operation === 'deactivate' ? async () => makeAnswer(200, DEACTIVATED_TEXT) : null,
  },
];

/** A control: who has the vendor's key can say anything, and must be found out. */
export const FORGERY: Trick = {
  name: 'forged with the key of the vendor',
  find: (middle, exchange) => async () => {
    const answer = await middle.ask(exchange);
    if (answer?.status !== 200 || !tellsTerms(exchange)) return answer;
    const body = JSON.stringify({ ...JSON.parse(answer.body.toString()), floating_users: 999 });
    return withSignature(withBody(answer, body), middle.vendor.sign(body));
  },
};

/** What somebody on the way can do. */
export const TRICKS: readonly Trick[] = [
  ...REPLAYS,
  ...TAKEN_BACK,
  ...MIXED,
  ...TRUNCATED,
  ...ON_THE_WAY_THERE,
  ...ASKED_INSTEAD,
];
