import type { ErrorCode } from '@berth/protocol/errors';
import type { RecordedEvent } from '../../../src/core/nouns/audit-event.ts';
import { DEMO_LICENSE } from '../../../src/core/nouns/demo-license.ts';
import { type Instant, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { Registration } from '../../../src/core/nouns/registration.ts';
import { LookBack, type ReplayedLink } from '../../../src/core/replay/look-back.ts';
import { type Judged, Replay } from '../../../src/core/replay/replay.ts';
import {
  EMPTY_RULE_SET,
  type Group,
  NO_NAMES,
  type ProductRules,
  type RuleSet,
} from '../../../src/core/rules/rule-set.ts';

/** A Tuesday, 8:00 UTC. */
const SINCE = instant(Date.UTC(2030, 0, 15, 8));

export function minute(count: number): Instant {
  return plus(SINCE, count * MINUTE_MS);
}

/** A history, written as it happened. Times are minutes after `SINCE`. */
export class ExampleLog {
  readonly links: ReplayedLink[] = [];

  add(minutes: number, event: object, chain = 1): this {
    this.links.push({ chain, at: minute(minutes), events: [event as RecordedEvent] });
    return this;
  }

  lent(minutes: number, user: string, { hostname = null, origin = '10.0.0.1', chain = 1 }: Place = {}): this {
    return this.add(minutes, { kind: 'slot_lent', user, hostname, by: 'client', origin }, chain);
  }

  borrowed(
    minutes: number,
    user: string,
    hours: number,
    { origin = '10.0.0.1', chain = 1 }: Place = {},
  ): this {
    const at = minute(minutes);
    const lent = { kind: 'slot_lent', user, hostname: null, origin } as RecordedEvent;
    const borrowedUntil = plus(at, hours * 60 * MINUTE_MS);
    const borrowed = { kind: 'slot_borrowed', user, borrowedUntil, origin } as RecordedEvent;
    this.links.push({ chain, at, events: [lent, borrowed] });
    return this;
  }

  returned(minutes: number, user: string, { chain = 1 }: Place = {}): this {
    return this.add(minutes, { kind: 'slot_returned', user, by: 'client' }, chain);
  }

  denied(minutes: number, user: string, facts: DeniedFacts = {}): this {
    const { chain = 1, code = 'floating_not_available', ...rest } = facts;
    return this.add(minutes, { kind: 'slot_denied', user, code, repeated: 0, ...rest }, chain);
  }
}

interface Place {
  readonly hostname?: string | null;
  readonly origin?: string;
  readonly chain?: number;
}

interface DeniedFacts extends Place {
  readonly code?: ErrorCode;
  readonly feature?: string;
  readonly barredBy?: string;
  readonly rule?: string;
}

export function cad(id: number, facts: Partial<License> = {}): License {
  return { ...DEMO_LICENSE, id: licenseId(id), product: 'cad', slots: 2, maxBorrowHours: 240, ...facts };
}

function group(facts: Partial<Group>): Group {
  return { ...NO_NAMES, ...facts };
}

const GROUPS = {
  team: group({ users: ['t-*'] }),
  ext: group({ users: ['x-*'] }),
  lab: group({ hosts: ['lab-*'] }),
};

export function cadRules(own: Partial<ProductRules>, facts: Partial<RuleSet> = {}): RuleSet {
  const cadPro = {
    allow: null,
    deny: NO_NAMES,
    reserve: [],
    limit: [],
    borrow: null,
    priority: [],
    features: {},
  };
  return { ...EMPTY_RULE_SET, groups: GROUPS, products: { cad: { ...cadPro, ...own } }, ...facts };
}

interface Held {
  readonly chain: number;
  readonly registration: Registration;
  readonly features?: readonly string[];
}

interface Wish {
  readonly licenses?: readonly License[];
  /** Held at the end of the log. */
  readonly held?: readonly Held[];
  readonly minutes?: number;
}

/** Looks back, and replays what came after `SINCE`. */
export function replay(rules: RuleSet, log: ExampleLog, wish: Wish = {}) {
  const { licenses = [cad(1)], held = [], minutes = 1000 } = wish;
  const back = new LookBack(SINCE, licenses);
  for (const { chain, registration, features = [] } of held) back.hold(chain, registration, features);
  for (const link of log.links.toReversed()) back.take(link);
  const answers: string[] = [];
  const watch = ({ request, wasServed, refusal }: Judged) => {
    const would = refusal === null ? 'served' : (refusal.rule ?? 'full');
    answers.push(`${request.user} ${wasServed ? 'served' : 'refused'} → ${would}`);
  };
  const run = new Replay(rules, back.finish(), SINCE, watch);
  for (const link of log.links) if (link.at >= SINCE) run.take(link);
  return { answers, isDone: back.isDone, ...run.finish(minute(minutes)) };
}
