import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { UserName } from '../../parts/name.tsx';
import { Legend } from '../../parts/slot-bar.tsx';
import { ErrorBox } from '../../parts/states.tsx';
import { PlainTable } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { type Affected, formatChange, listAffected, listHours, type Replay } from '../../words/replay.ts';
import { giveUpSlot } from '../../words/rules.ts';
import { formatDate, plural } from '../../words/time.ts';
import { LineLink } from './editor.tsx';
import type { RulesDraft, Trial } from './rules-draft.ts';

interface TrialPartProps {
  readonly trial: Trial;
  readonly draft: RulesDraft;
  /** In force. */
  readonly revision: number;
}

/** What would the text have done? */
export function TrialPart({ trial, draft, revision }: TrialPartProps) {
  const { isRunning, error, result, start, stop } = trial;
  const { text, isChanged } = draft;
  const isStale = result !== null && result.text !== text;
  const fix = (line: number) => {
    const fewer = giveUpSlot(text, line);
    if (fewer === null) return null;
    const act = () => {
      draft.set(fewer.text);
      void start(fewer.text);
    };
    return { slots: fewer.slots, act };
  };
  const what = isChanged ? 'the draft' : `revision ${revision}`;
  return (
    <Section title="What it would have changed in the last 30 days">
      {isRunning && (
        <div class="box pad verify" role="status">
          <p>Replaying the audit log of the last 30 days.</p>
          <div class="progress open">
            <span />
          </div>
          <p>
            <Button onClick={stop}>Stop</Button>
          </p>
        </div>
      )}
      {error !== null && (
        <ErrorBox
          title="It was not tried. The rules in force stay."
          error={error}
          onRetry={() => start(text)}
        />
      )}
      {result === null && !isRunning && error === null && (
        <div class="box pad">
          <p class="second">
            Try {what} on what really happened: who would have been refused or served, and by which line.
            Nothing changes by trying.
          </p>
        </div>
      )}
      {isStale && (
        <p class="notice-line" role="status">
          The text has changed since it was tried.{' '}
          <Button as="link" onClick={() => start(text)}>
            Try it again
          </Button>
        </p>
      )}
      {result !== null && !isRunning && (
        <div class={isStale ? 'stale' : ''}>
          <Result replay={result.replay} revision={revision} fix={isStale ? null : fix} />
        </div>
      )}
    </Section>
  );
}

/** What may be enough for a reservation that stood empty; `null`: nothing less. */
type Fix = (line: number) => { readonly slots: number; readonly act: () => void } | null;

interface ResultProps {
  readonly replay: Replay;
  readonly revision: number;
  readonly fix: Fix | null;
}

function Result({ replay, revision, fix }: ResultProps) {
  const refused = listAffected(replay, 'refused');
  const served = listAffected(replay, 'served');
  return (
    <>
      <dl class="key-figures">
        <Figure count={replay.newly_served} label="served instead of refused" />
        <Figure count={replay.newly_refused} label="refused instead of served" isBad />
      </dl>
      <GroupTable replay={replay} revision={revision} />
      <RuleTable replay={replay} fix={fix} />
      {replay.left_out === 0 && <Hours replay={replay} />}
      <People title="Who would be refused" people={refused} />
      <People title="Who would be served" people={served} />
      <p class="small quiet gap">
        Replayed from {plural(replay.events, 'event')} of the audit log,{' '}
        {formatDate(Date.parse(replay.since), readNow())} to {formatDate(Date.parse(replay.until), readNow())}
        . A request that was refused and would be served is taken to last that product’s median. Repeated
        requests count once.
        {replay.left_out > 0 && ` ${plural(replay.left_out, 'older change')} not listed.`}
      </p>
    </>
  );
}

interface FigureProps {
  readonly count: number;
  readonly label: string;
  readonly isBad?: boolean;
}

function Figure({ count, label, isBad = false }: FigureProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <b class={isBad && count > 0 ? 'critical' : ''}>{formatNumber(count)}</b>
      </dd>
    </div>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="replay-part" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function GroupTable({ replay, revision }: Pick<ResultProps, 'replay' | 'revision'>) {
  const happened = revision === 0 ? 'So far' : 'Happened';
  const rows = [
    ...replay.groups.map((one) => ({ ...one, name: one.group || 'in no group' })),
    { ...replay, name: 'All' },
  ];
  return (
    <Part title="Refused, by group">
      <PlainTable
        columns={[
          'Group',
          ['Requests', 'number'],
          [happened, 'number'],
          ['Would be', 'number'],
          ['Change', 'number'],
        ]}
      >
        {rows.map((row, index) => {
          const change = row.would_refuse - row.refused;
          return (
            <tr key={row.name} class={index === rows.length - 1 ? 'strong' : ''}>
              <td class="breaks">
                <bdi>{row.name}</bdi>
              </td>
              <td class="number">{formatNumber(row.requests)}</td>
              <td class="number">{formatNumber(row.refused)}</td>
              <td class="number strong">{formatNumber(row.would_refuse)}</td>
              <td class={`number${change > 0 ? ' strong critical' : ''}`}>{formatChange(change)}</td>
            </tr>
          );
        })}
      </PlainTable>
    </Part>
  );
}

/** From here on an unused reservation is worth a word, as a share of the time. */
const MUCH_UNUSED = 0.2;

function RuleTable({ replay, fix }: Pick<ResultProps, 'replay' | 'fix'>) {
  const rules = replay.rules.filter(
    ({ would_refuse, unused_share }) => would_refuse > 0 || unused_share !== null,
  );
  if (rules.length === 0) return null;
  return (
    <Part title="Refused, by rule">
      <PlainTable columns={['Rule', 'Where', ['Refused', 'number'], ['Kept free', 'number']]}>
        {rules.map((rule) => {
          const { line, unused_share: unused } = rule;
          const fewer = line !== null && (unused ?? 0) >= MUCH_UNUSED ? (fix?.(line) ?? null) : null;
          return (
            <tr key={`${rule.line} ${rule.text} ${rule.product}`} class="top">
              <td class="breaks">
                {rule.text}
                <small>
                  <bdi>{rule.product}</bdi>
                  {rule.feature !== null && `, ${rule.feature}`}
                </small>
              </td>
              <td class="nowrap">{rule.line !== null && <LineLink line={rule.line} />}</td>
              <td class="number strong">{formatNumber(rule.would_refuse)}</td>
              <td class="number">
                {rule.unused_share === null ? '–' : `${Math.round(rule.unused_share * 100)} %`}
                {fewer !== null && (
                  <small>
                    <Button as="link" onClick={fewer.act}>
                      Try it with {fewer.slots}
                    </Button>
                  </small>
                )}
              </td>
            </tr>
          );
        })}
      </PlainTable>
    </Part>
  );
}

const HOURS_HEIGHT = 64;

/** Requests with another answer, by the hour of the day. */
function Hours({ replay }: { readonly replay: Replay }) {
  const hours = listHours(replay);
  if (hours.length === 0) return null;
  const most = Math.max(...hours.map(({ refused, served }) => Math.max(refused, served)));
  const bar = (count: number, name: string) => (
    <span>
      {count > 0 && <b>{formatNumber(count)}</b>}
      <i class={name} style={{ height: `${(count / most) * HOURS_HEIGHT}px` }} />
    </span>
  );
  const said = hours.map(
    ({ hour, refused, served }) => `${hour}:00: ${served} more served, ${refused} more refused`,
  );
  return (
    <Part title="Other answers, by hour of the day">
      <Legend
        items={[
          ['', 'Served instead'],
          ['denied', 'Refused instead'],
        ]}
      />
      <div class="hours" role="img" aria-label={said.join('; ')}>
        {hours.map(({ hour, refused, served }) => (
          <div key={hour}>
            <div>
              {bar(served, 'served')}
              {bar(refused, 'refused')}
            </div>
            <small>{hour}</small>
          </div>
        ))}
      </div>
    </Part>
  );
}

const SHOWN_PEOPLE = 6;

interface PeopleProps {
  readonly title: string;
  readonly people: readonly Affected[];
}

function People({ title, people }: PeopleProps) {
  const [isOpen, setOpen] = useState(false);
  if (people.length === 0) return null;
  const shown = isOpen ? people : people.slice(0, SHOWN_PEOPLE);
  return (
    <Part title={title}>
      <PlainTable columns={['User', 'Last time', ['Times', 'number'], 'By']}>
        {shown.map(({ user, at, times, product, rule, line }) => (
          <tr key={`${user} ${product} ${line}`}>
            <td class="cut">
              <UserName user={user} />
            </td>
            <td class="nowrap">
              <Time at={at} />
            </td>
            <td class="number">{formatNumber(times)}</td>
            <td class="breaks">
              {rule?.split(' ')[0] ?? product}
              {line !== null && (
                <>
                  , <LineLink line={line} />
                </>
              )}
            </td>
          </tr>
        ))}
      </PlainTable>
      {shown.length < people.length && (
        <p class="gap-small">
          <Button as="link" onClick={() => setOpen(true)}>
            Show {plural(people.length - shown.length, 'more person', 'more people')}
          </Button>
        </p>
      )}
    </Part>
  );
}
