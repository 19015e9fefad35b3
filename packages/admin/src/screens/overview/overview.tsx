import type { Finding } from '@berth/protocol/admin/doctor';
import type { SlotHistory } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { readNow } from '../../clock.ts';
import { useFindings, useLicenses, useLine, useStatus } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { linkTo } from '../../data/route.ts';
import { useRules } from '../../data/rules.ts';
import { AddLicenseLink } from '../../parts/button.tsx';
import { PageHead, Section } from '../../parts/head.tsx';
import { LicenseName, Name } from '../../parts/name.tsx';
import { Shape } from '../../parts/shape.tsx';
import { SlotLegend } from '../../parts/slot-bar.tsx';
import { Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { type Concern, headline, listConcerns, listWell, summary } from '../../words/attention.ts';
import { countedOf, nameOf } from '../../words/judge-license.ts';
import { listLines, sayWait } from '../../words/line.ts';
import { formatNumber } from '../../words/numbers.ts';
import { hasReserved, mapReserved } from '../../words/rules.ts';
import { DAY_MS, plural, startOfDay } from '../../words/time.ts';
import { sumByLicense } from '../../words/usage.ts';
import { DenialTable } from './denial-table.tsx';
import { LicenseTable, NoLicense } from './license-table.tsx';

const FIVE_MINUTES_MS = 5 * 60_000;

/** Does something need me? */
export function Overview() {
  const licenses = useLicenses();
  return (
    <div class="content">
      <Show of={licenses} what="The licenses" rows={8} hasHead>
        {(data) => <OverviewOf {...data} />}
      </Show>
    </div>
  );
}

function OverviewOf({ licenses }: { readonly licenses: readonly License[] }) {
  const now = readNow();
  const findings = useFindings().data?.findings ?? [];
  const today = useResource(
    '/api/admin/history/denials',
    { since: new Date(startOfDay(now)).toISOString(), limit: 6 },
    { isLive: true },
  );
  const history = useRecentHistory();
  const reserved = mapReserved(useRules().data?.rules ?? [], licenses);
  const denied = sumByLicense(today.data?.by_license ?? []);
  const concerns = listConcerns(licenses, findings, now, denied);
  const [worst] = concerns;
  const total = today.data?.total ?? null;
  const denials =
    total === null
      ? ''
      : total === 0
        ? ' No denials today.'
        : ` ${plural(total, 'request was', 'requests were')} refused today.`;
  return (
    <>
      <PageHead
        title={headline(concerns, licenses.length > 0)}
        level={worst?.level ?? (licenses.length > 0 ? 'ok' : 'off')}
        lead={`${summary(licenses)}${denials}`}
      >
        <AddLicenseLink />
      </PageHead>
      {concerns.length > 0 && <Attention concerns={concerns} />}
      <Well findings={findings} />
      <Section
        title="Licenses"
        note={formatNumber(licenses.length)}
        end={
          <SlotLegend
            hasForecast={licenses.some((license) => countedOf(license) !== null)}
            hasReserved={hasReserved(reserved)}
          />
        }
      >
        {licenses.length === 0 ? (
          <NoLicense />
        ) : (
          <LicenseTable {...{ licenses, history, reserved }} denied={today.data === null ? null : denied} />
        )}
      </Section>
      <Lines licenses={licenses} />
      {today.data !== null && today.data.denials.length > 0 && (
        <Section
          title="Denials today"
          note={`${formatNumber(today.data.total)}, the latest first`}
          end={<a href={linkTo('reports', { license: 'all', period: 'today' })}>All denials</a>}
        >
          <DenialTable denials={today.data.denials} />
        </Section>
      )}
    </>
  );
}

/** The last 24 hours of every license; read every few minutes, since the end of it is known anyway. */
function useRecentHistory(): SlotHistory | null {
  const until = Math.ceil(readNow() / FIVE_MINUTES_MS) * FIVE_MINUTES_MS;
  const since = new Date(until - DAY_MS).toISOString();
  return useResource('/api/admin/history/slots', { since }, { everyMs: FIVE_MINUTES_MS }).data;
}

function Attention({ concerns }: { readonly concerns: readonly Concern[] }) {
  return (
    <ul class="attention" aria-label="What needs attention">
      {concerns.map(({ level, word, name, sentence, link }) => (
        <li key={`${word} ${link.path} ${sentence}`} class={level === 'critical' ? 'critical' : ''}>
          <Shape level={level} />
          <span class={`word ${level}`}>{word}</span>
          <span class="sentence">
            {name !== null && (
              <b>
                <bdi>{name}</bdi>{' '}
              </b>
            )}
            {sentence}
          </span>
          <a href={linkTo(link.path, link.params)}>{link.label}</a>
        </li>
      ))}
    </ul>
  );
}

/** What was examined and is fine, in a few words; what is off has a dash. */
function Well({ findings }: { readonly findings: readonly Finding[] }) {
  const status = useStatus().data;
  const lines = status === null ? [] : listWell(findings, status, readNow());
  if (lines.length === 0) return null;
  return (
    <ul class="well" aria-label="What is fine">
      {lines.map(({ level, text }) => (
        <li key={text}>
          <Shape level={level} size={14} />
          {text}
        </li>
      ))}
    </ul>
  );
}

/** For what people wait, if somebody does. */
function Lines({ licenses }: { readonly licenses: readonly License[] }) {
  const { waiting, line } = useLine().data ?? { waiting: 0, line: [] };
  if (waiting === 0) return null;
  const note =
    waiting > line.length
      ? `${formatNumber(waiting)}, of whom the first ${formatNumber(line.length)} are counted below`
      : formatNumber(waiting);
  return (
    <Section title="Waiting" note={note}>
      <Table
        rows={listLines(line, licenses)}
        keyOf={({ product }) => product}
        hasLabels
        columns={[
          ['License', drawLender, 'grow cut most'],
          ['Waiting', (one) => formatNumber(one.waiting), 'number'],
          ['Longest wait', ({ longestSeconds }) => sayWait(longestSeconds), 'number'],
        ]}
      />
    </Section>
  );
}

function drawLender({ license, product }: ReturnType<typeof listLines>[number]) {
  return license === null ? <Name text={product} /> : <LicenseName id={license.id} name={nameOf(license)} />;
}
