import { bucketStart, HOUR_MS, type Instant } from '../nouns/instant.ts';
import type { Request, Verdict } from './judge.ts';

/** What was answered, and what the rules would have answered. */
interface Answered {
  readonly request: Request;
  /** All groups of the person. */
  readonly groups: readonly string[];
  readonly at: Instant;
  readonly wasServed: boolean;
  /** `null`: the slot would be lent. */
  readonly refusal: Verdict | null;
}

interface Counts {
  requests: number;
  refused: number;
  wouldRefuse: number;
  newlyRefused: number;
  newlyServed: number;
}

interface ChangedAnswer extends Verdict {
  /** The hour. */
  readonly at: Instant;
  readonly user: string;
  readonly product: string;
  readonly feature: string | null;
  readonly groups: readonly string[];
  readonly happened: Answer;
  readonly would: Answer;
  times: number;
}

type Answer = 'served' | 'refused';

export interface RefusingRule {
  readonly line: number | null;
  readonly text: string;
  readonly product: string;
  readonly feature: string | null;
  wouldRefuse: number;
}

/** So many changed answers are listed one by one; the latest say most. */
const MAX_CHANGES = 1000;
const MAX_USERS = 100;
const MAX_GROUPS = 50;

/** Counts answers. Its size depends on the number of users and hours, not on that of requests. */
export class Tally {
  readonly #all = noCounts();
  readonly #products = new Map<string, Counts>();
  readonly #groups = new Map<string, Counts>();
  readonly #users = new Map<string, Counts>();
  readonly #hours = new Map<Instant, Counts>();
  readonly #rules = new Map<string, RefusingRule>();
  readonly #changes = new Map<string, ChangedAnswer>();
  #leftOut = 0;

  add(answered: Answered): void {
    const { request, groups, at, wasServed, refusal } = answered;
    const hour = bucketStart(at, HOUR_MS);
    const of = groups.length === 0 ? [''] : groups;
    const isChanged = wasServed !== (refusal === null);
    const counts = [
      this.#all,
      countsOf(this.#products, request.product),
      ...of.map((group) => countsOf(this.#groups, group)),
      ...(isChanged ? [countsOf(this.#users, request.user), countsOf(this.#hours, hour)] : []),
    ];
    for (const one of counts) count(one, wasServed, refusal === null);
    if (refusal?.rule != null) this.#blame(request, refusal, refusal.rule);
    if (isChanged) this.#note(answered, hour);
  }

  report() {
    const users = [...this.#users].sort(([, a], [, b]) => changesOf(b) - changesOf(a));
    return {
      ...this.#all,
      products: [...this.#products].map(([product, counts]) => ({ product, ...counts })),
      groups: [...this.#groups].map(([group, counts]) => ({ group, ...counts })),
      hours: [...this.#hours].map(([at, { newlyRefused, newlyServed }]) => ({
        at,
        newlyRefused,
        newlyServed,
      })),
      users: users
        .slice(0, MAX_USERS)
        .map(([user, { newlyRefused, newlyServed }]) => ({ user, newlyRefused, newlyServed })),
      rules: [...this.#rules.values()],
      changes: [...this.#changes.values()].reverse(),
      leftOut: this.#leftOut,
    };
  }

  #blame({ product, feature }: Request, { line }: Verdict, text: string): void {
    const key = JSON.stringify([product, feature, line, text]);
    const rule = this.#rules.get(key) ?? { line, text, product, feature, wouldRefuse: 0 };
    rule.wouldRefuse += 1;
    this.#rules.set(key, rule);
  }

  #note({ request, groups: all, wasServed, refusal }: Answered, at: Instant): void {
    const groups = all.slice(0, MAX_GROUPS);
    const { user, product, feature } = request;
    const { rule, line } = refusal ?? { rule: null, line: null };
    const would = refusal === null ? 'served' : 'refused';
    const key = JSON.stringify([at, user, product, feature, would, rule]);
    const known = this.#changes.get(key);
    if (known !== undefined) {
      known.times += 1;
      return;
    }
    const happened = wasServed ? 'served' : 'refused';
    this.#changes.set(key, { at, user, product, feature, groups, happened, would, rule, line, times: 1 });
    if (this.#changes.size <= MAX_CHANGES) return;
    const [oldest = ''] = this.#changes.keys();
    this.#changes.delete(oldest);
    this.#leftOut += 1;
  }
}

function noCounts(): Counts {
  return { requests: 0, refused: 0, wouldRefuse: 0, newlyRefused: 0, newlyServed: 0 };
}

function countsOf<K>(all: Map<K, Counts>, key: K): Counts {
  const counts = all.get(key) ?? noCounts();
  all.set(key, counts);
  return counts;
}

function count(counts: Counts, wasServed: boolean, wouldServe: boolean): void {
  counts.requests += 1;
  if (!wasServed) counts.refused += 1;
  if (!wouldServe) counts.wouldRefuse += 1;
  if (wasServed && !wouldServe) counts.newlyRefused += 1;
  if (!wasServed && wouldServe) counts.newlyServed += 1;
}

function changesOf({ newlyRefused, newlyServed }: Counts): number {
  return newlyRefused + newlyServed;
}
