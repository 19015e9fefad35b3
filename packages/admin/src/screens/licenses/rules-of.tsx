import type { License } from '@berth/protocol/admin/licenses';
import { readNow } from '../../clock.ts';
import { useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { linkTo } from '../../data/route.ts';
import { useRules } from '../../data/rules.ts';
import { may } from '../../data/session.ts';
import { formatNumber } from '../../words/numbers.ts';
import { findUnused, mapReserved, type Reserved } from '../../words/rules.ts';
import { startOfDay } from '../../words/time.ts';
import { Sentence } from '../rules/sentence.tsx';

/** What is reserved of a license now. */
export function useReserved(license: License): readonly Reserved[] {
  const rules = useRules().data?.rules ?? [];
  const licenses = useLicenses().data?.licenses ?? [];
  return mapReserved(rules, licenses).get(license.id) ?? [];
}

/** The rules of its product. */
export function RulesOf({ license }: { readonly license: License }) {
  const data = useRules().data;
  const rules = data?.rules.filter(({ product }) => product === license.product) ?? [];
  if (rules.length === 0) return null;
  return (
    <>
      <div class="section-head">
        <h2>Rules</h2>
        <span class="end">
          <a href={linkTo('rules')}>
            {may('POST /api/admin/rules/apply') && data?.file === null ? 'Edit' : 'See all'}
          </a>
        </span>
      </div>
      <ul class="rule-list">
        {rules.map((rule, index) => (
          <li key={index}>
            <Sentence rule={rule} slots={0} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** A reservation that was kept free for long, with a change to try. */
export function UnusedReservation({ license }: { readonly license: License }) {
  const data = useRules().data;
  const rule = findUnused(data?.rules ?? [], license.product);
  if (rule === null) return null;
  return (
    <div class="insight">
      <b>
        Reserved for <bdi>{rule.groups.join(', ')}</bdi> and kept free{' '}
        {Math.round((rule.unused_share ?? 0) * 100)} % of the last 30 days
      </b>
      {may('POST /api/admin/rules/apply') && data?.file === null && (
        <a class="button no-phone" href={linkTo('rules', { fewer: rule.line })}>
          Try it with {formatNumber((rule.slots ?? 0) - 1)}
        </a>
      )}
    </div>
  );
}

/** By which rules, and how often, people were refused a slot of the license today. */
export function RefusedToday({ license }: { readonly license: License }) {
  const since = new Date(startOfDay(readNow())).toISOString();
  const query = { since, license: license.id, limit: 1 };
  const found = useResource('/api/admin/history/denials', query, { isLive: true }).data;
  if (found === null || found.total === 0) return null;
  const byRule = found.by_rule.reduce((sum, { count }) => sum + count, 0);
  const parts = [
    ...found.by_rule,
    ...(byRule < found.total ? [{ rule: null, count: found.total - byRule }] : []),
  ];
  return (
    <>
      <div class="section-head">
        <h2>Refused today</h2>
        <span class="note">{formatNumber(found.total)}</span>
        <span class="end">
          <a href={linkTo('reports', { license: license.id, period: 'today' })}>All</a>
        </span>
      </div>
      <ul class="rule-list">
        {parts.map(({ rule, count }) => (
          <li key={rule}>
            <span>{rule === null ? 'By no rule' : `${rule.charAt(0).toUpperCase()}${rule.slice(1)}`}</span>
            <b>{formatNumber(count)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}
