import type { Denial } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { readNow } from '../../clock.ts';
import { useResource } from '../../data/resource.ts';
import { linkTo } from '../../data/route.ts';
import { Section } from '../../parts/head.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { type Later, sayAfter } from '../../words/person.ts';
import { localizeTimes, plural } from '../../words/time.ts';

const WEEKS = 12;
const SHOWN = 20;

const TAKEN = 'slot_lent,slot_borrowed,feature_lent,feature_borrowed';

interface DenialsProps {
  readonly user: string;
  readonly licenses: readonly License[];
}

/** Why the person was refused, and what happened since. */
export function Denials({ user, licenses }: DenialsProps) {
  const query = { user, since: `${WEEKS * 7}d`, limit: SHOWN };
  const { data } = useResource('/api/admin/history/denials', query, { isLive: true });
  const denials = data?.denials ?? [];
  const since = denials.at(-1)?.first_at ?? null;
  const log = useResource(
    since === null ? null : '/api/admin/audit',
    { user, kind: TAKEN, since, limit: 1000 },
    { isLive: true },
  ).data;
  if (data === null) return null;
  if (data.total === 0) {
    return (
      <Section title="Denials">
        <p class="second">Not refused in {WEEKS} weeks.</p>
      </Section>
    );
  }
  const later: Later = {
    events: log?.events ?? [],
    isComplete: log?.next_before === null,
    products: new Map(licenses.map(({ id, product }) => [id, product])),
  };
  const end = <a href={linkTo('audit', { user, kind: 'slot_denied,denials_repeated' })}>All in Audit</a>;
  return (
    <Section title="Denials" note={`${formatNumber(data.total)} in ${WEEKS} weeks`} end={end}>
      <Table
        rows={denials}
        keyOf={keyOf}
        rowClass="top"
        columns={[
          ['Time', ({ last_at }) => <Time at={last_at} />, 'nowrap'],
          ['Why', drawReason, 'wide grow'],
          ['Since then', (denial) => sayAfter(denial, denials, later) ?? '–', 'wide second after'],
        ]}
      />
      {data.left_off > 0 && <p class="small quiet gap">{plural(data.left_off, 'older record')} not shown.</p>}
    </Section>
  );
}

function keyOf({ license_id, feature, reason, rule, first_at, host }: Denial): string {
  return `${license_id} ${feature} ${reason} ${rule} ${first_at} ${host}`;
}

function drawReason({ name, product, feature, count, explanation, host }: Denial) {
  const subject = `${name || product}${feature === null ? '' : `, ${feature}`}`;
  return (
    <div dir="auto">
      <b>
        <bdi>{subject}.</bdi>
      </b>{' '}
      {localizeTimes(explanation, readNow())}
      {count > 1 && ` Asked ${formatNumber(count)} times.`}
      {host !== null && <span class="quiet"> From {host}.</span>}
    </div>
  );
}
