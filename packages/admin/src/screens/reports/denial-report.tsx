import type { Denials } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { sayCode, sayUser } from '../../words/describe-event.ts';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { DenialTable } from '../overview/denial-table.tsx';
import { CsvLink, type Span } from './slot-reports.tsx';

interface DenialReportProps {
  readonly denials: Denials;
  readonly licenses: readonly License[];
  readonly query: Span;
  readonly range: Span;
}

/** Who was refused, why, and by which license. */
export function DenialReport({ denials, licenses, query, range }: DenialReportProps) {
  const [isOpen, setOpen] = useState(false);
  const all = useResource('/api/admin/history/denials', { ...range, limit: 1 }).data;
  const names = new Map(licenses.map((license) => [license.id, nameOf(license)]));
  if (denials.total === 0) {
    return (
      <Section title="Denials">
        <p class="second">Nobody was denied in this period.</p>
      </Section>
    );
  }
  const end = (
    <>
      <Button as="link" isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : `Show all ${formatNumber(denials.total)}`}
      </Button>
      <CsvLink path="/api/admin/history/denials" query={query} />
    </>
  );
  return (
    <Section title="Denials" note={formatNumber(denials.total)} end={end}>
      {isOpen ? (
        <DenialTable denials={denials.denials} />
      ) : (
        <div class="columns three">
          <Shares
            title="User"
            parts={denials.by_user.map((one) => [sayUser(one), one.count, one.user] as const)}
            total={denials.total}
          />
          <Shares
            title="Why"
            parts={denials.by_reason.map(({ reason, count }) => [sayReason(reason), count] as const)}
          />
          <Shares
            title="License"
            parts={(all?.by_license ?? denials.by_license).map(
              ({ license_id, product, name, count }) =>
                [names.get(license_id) ?? name ?? product, count] as const,
            )}
          />
        </div>
      )}
    </Section>
  );
}

function sayReason(reason: string): string {
  const text = sayCode(reason);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

const MAX_SHARES = 6;

interface SharesProps {
  readonly title: string;
  readonly parts: readonly (readonly [name: string, count: number, user?: string | null])[];
  /** If the parts are only the largest of them. */
  readonly total?: number;
}

/** Numbers with bars behind them, the largest first; the rest is one line, so that it adds up. */
function Shares({ title, parts, total }: SharesProps) {
  const sorted = parts.toSorted((one, other) => other[1] - one[1]);
  const shown = sorted.length > MAX_SHARES ? sorted.slice(0, MAX_SHARES - 1) : sorted;
  const left = (total ?? sumOf(sorted)) - sumOf(shown);
  const count = sorted.length - shown.length;
  const most = Math.max(1, sorted[0]?.[1] ?? 1);
  return (
    <div>
      <div class="shares-head">
        <h3>{title}</h3>
        <span class="small quiet">Denials</span>
      </div>
      <ul class="shares">
        {shown.map(([name, count, user = null]) => (
          <li key={name}>
            <i style={{ width: `${(count / most) * 84}%` }} />
            {user === null ? <Name text={name} /> : <UserName user={user} />}
            <b>{formatNumber(count)}</b>
          </li>
        ))}
        {left > 0 && (
          <li>
            <span>{count > 0 ? `${formatNumber(count)} more` : 'More'}</span>
            <b>{formatNumber(left)}</b>
          </li>
        )}
      </ul>
    </div>
  );
}

function sumOf(parts: SharesProps['parts']): number {
  return parts.reduce((sum, [, count]) => sum + count, 0);
}
