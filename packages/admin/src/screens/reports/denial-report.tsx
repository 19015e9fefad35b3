import type { Denials } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { linkTo, linkToPerson, usePlace } from '../../data/route.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { sayCode, sayUser } from '../../words/describe-event.ts';
import { formatNumber } from '../../words/numbers.ts';
import { sumByLicense } from '../../words/usage.ts';
import { DenialTable } from '../overview/denial-table.tsx';
import { CsvLink, type Span } from './slot-reports.tsx';

interface DenialReportProps {
  readonly denials: Denials;
  readonly query: Span;
  /** Null for the denials of all licenses. */
  readonly license: License | null;
}

/** Who was refused, why, and by which license or feature. Every request counts, so the parts add up. */
export function DenialReport({ denials, query, license }: DenialReportProps) {
  const [isOpen, setOpen] = useState(false);
  const period = usePlace().params.get('period');
  if (denials.total === 0) {
    return (
      <Section title="Denials">
        <p class="second">Nobody was refused in this period.</p>
      </Section>
    );
  }
  const all =
    denials.left_off === 0 ? 'Show each' : `Show the latest ${formatNumber(denials.denials.length)}`;
  const end = (
    <>
      <Button as="link" isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : all}
      </Button>
      <CsvLink path="/api/admin/history/denials" query={query} />
    </>
  );
  const parts = license === null ? partsByLicense(denials, period) : partsByFeature(denials, license);
  const reasons = denials.by_reason.map(({ reason, count }) => ({ name: sayReason(reason), count }));
  const rules = denials.by_rule.map(({ rule, count }) => ({ name: rule, count }));
  return (
    <Section title="Denials" note={`${formatNumber(denials.total)} requests, retries included`} end={end}>
      {isOpen ? (
        <DenialTable denials={denials.denials} />
      ) : (
        <div class="columns three">
          <Shares title="User" parts={denials.by_user.map(toPart)} total={denials.total} />
          <div>
            <Shares title="Why" parts={reasons} total={denials.total} />
            {rules.length > 0 && (
              <div class="gap">
                <Shares title="By rule" parts={rules} total={sumOf(rules)} />
              </div>
            )}
          </div>
          <Shares
            title={license === null ? 'License' : 'License or feature'}
            parts={parts}
            total={denials.total}
          />
        </div>
      )}
    </Section>
  );
}

interface Part {
  readonly name: string;
  readonly count: number;
  readonly link?: string;
}

function toPart(one: Denials['by_user'][number]): Part {
  return {
    name: sayUser(one),
    count: one.count,
    ...(one.user === null ? {} : { link: linkToPerson(one.user) }),
  };
}

function partsByLicense({ by_license }: Denials, period: string | null): readonly Part[] {
  const names = new Map(by_license.map((one) => [one.license_id, one.name || one.product]));
  return [...sumByLicense(by_license)].map(([id, count]) => ({
    name: names.get(id) ?? String(id),
    count,
    link: linkTo('reports', { license: id, period }),
  }));
}

function partsByFeature({ by_license }: Denials, license: License): readonly Part[] {
  return by_license.map(({ feature, count }) => ({ name: sayLender(license, feature), count }));
}

/** Of what slots were asked for: the license or one of its features. */
export function sayLender({ product_features }: License, feature: string | null): string {
  if (feature === null) return 'The license itself';
  return product_features.find(({ code }) => code === feature)?.name || feature;
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { count }) => sum + count, 0);
}

function sayReason(reason: string): string {
  const text = sayCode(reason);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

const MAX_SHARES = 6;

interface SharesProps {
  readonly title: string;
  readonly parts: readonly Part[];
  readonly total: number;
}

/** Numbers with bars behind them, the largest first; the rest is one line, so that it adds up. */
function Shares({ title, parts, total }: SharesProps) {
  const sorted = parts.toSorted((one, other) => other.count - one.count);
  const shown = sorted.length > MAX_SHARES ? sorted.slice(0, MAX_SHARES - 1) : sorted;
  const left = total - sumOf(shown);
  const most = Math.max(1, sorted[0]?.count ?? 1);
  return (
    <div>
      <div class="shares-head">
        <h3>{title}</h3>
        <span class="small quiet">Denials</span>
      </div>
      <ul class="shares">
        {shown.map(({ name, count, link }) => (
          <li key={name}>
            <i style={{ width: `${(count / most) * 84}%` }} />
            {link === undefined ? (
              <Name text={name} />
            ) : (
              <a href={link}>
                <Name text={name} />
              </a>
            )}
            <b>{formatNumber(count)}</b>
          </li>
        ))}
        {left > 0 && (
          <li>
            <span>All others</span>
            <b>{formatNumber(left)}</b>
          </li>
        )}
      </ul>
    </div>
  );
}
