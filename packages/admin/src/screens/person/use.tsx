import type { UserHistory } from '@berth/protocol/admin/history';
import { DayChart } from '../../charts/day-chart.tsx';
import { readNow } from '../../clock.ts';
import { useResource } from '../../data/resource.ts';
import { Section } from '../../parts/head.tsx';
import { LicenseName } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { type DayUse, listDays, USE_DAYS } from '../../words/person.ts';
import { formatDuration, MINUTE_MS } from '../../words/time.ts';

export interface Usage {
  readonly days: readonly DayUse[];
  /** For each license, over a year; `null`: not read yet. */
  readonly rows: readonly UserHistory[] | null;
  readonly lastAt: string | null;
  reload(): void;
}

export function useUsage(user: string): Usage {
  const often = { everyMs: 5 * MINUTE_MS, isLive: true };
  const path = '/api/admin/history/users';
  const byDay = useResource(path, { user, since: `${USE_DAYS}d`, by: 'day', limit: 10_000 }, often);
  const inAll = useResource(path, { user, since: '365d', limit: 1000 }, often);
  const rows = inAll.data?.users ?? null;
  const times = (rows ?? []).map(({ last_at }) => last_at);
  return {
    days: listDays(byDay.data?.users ?? [], readNow()),
    rows,
    lastAt: times.toSorted().at(-1) ?? null,
    reload: () => {
      byDay.reload();
      inAll.reload();
    },
  };
}

/** For how long slots were held, by days and by licenses. */
export function Use({ usage: { days, rows } }: { readonly usage: Usage }) {
  const used = days.filter(({ heldMs }) => heldMs > 0);
  const held = used.reduce((sum, { heldMs }) => sum + heldMs, 0);
  const note =
    used.length === 0
      ? `no slot was given back in ${USE_DAYS} days`
      : `on ${used.length} of ${USE_DAYS} days, ${formatDuration(held / used.length)} a day`;
  return (
    <Section title="Use" note={note}>
      {used.length > 0 && (
        <>
          <DayChart days={days} />
          <p class="small quiet chart-note">
            A slot counts on the day on which it was given back (UTC). A red dot marks a day with a denial.
          </p>
        </>
      )}
      {rows !== null && rows.length > 0 && <LicenseUse rows={rows} />}
    </Section>
  );
}

function LicenseUse({ rows }: { readonly rows: readonly UserHistory[] }) {
  return (
    <Table
      rows={rows}
      keyOf={({ license_id, feature }) => `${license_id} ${feature}`}
      hasLabels
      columns={[
        ['In 12 months', drawUsed, 'grow cut'],
        ['Slots taken', ({ grants }) => formatNumber(grants), 'number no-phone'],
        ['Held for', ({ held_ms }) => formatDuration(held_ms), 'number'],
        ['Denials', ({ denials }) => formatNumber(denials), 'number no-phone'],
        ['Last seen', ({ last_at }) => <Time at={last_at} />, 'number'],
      ]}
    />
  );
}

function drawUsed({ license_id, name, product, feature }: UserHistory) {
  const text = feature === null ? name || product : `${name}, ${feature}`;
  return <LicenseName id={license_id} name={text} isPlain />;
}
