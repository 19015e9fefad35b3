import type { License } from '@berth/protocol/admin/licenses';
import { useLicenses } from '../../data/overview.ts';
import { linkTo } from '../../data/route.ts';
import { useRules } from '../../data/rules.ts';
import { isAdmin } from '../../data/session.ts';
import { mapReserved, type Reserved } from '../../words/rules.ts';
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
          <a href={linkTo('rules')}>{isAdmin() && data?.file === null ? 'Edit' : 'See all'}</a>
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
