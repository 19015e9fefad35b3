import type { AuditEvent } from '@berth/protocol/admin/audit';
import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { addressOf } from '../../data/api.ts';
import { useLicenses } from '../../data/overview.ts';
import { linkTo, setParams, usePlace } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { FilterChip, LicenseChip, PeriodChip, SearchField } from '../../parts/filters.tsx';
import { Picker } from '../../parts/finder.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { CopyButton, Empty, ErrorBox, Loading } from '../../parts/states.tsx';
import { Moment } from '../../parts/time.tsx';
import { RowCells, useIsNarrow, VirtualRows } from '../../parts/virtual-rows.tsx';
import { readPeriod } from '../../words/date-range.ts';
import { describeEvent, EVENT_KINDS, sayActor, sayKind } from '../../words/describe-event.ts';
import { nameOf } from '../../words/judge-license.ts';
import { type AuditLog, useAuditLog } from './audit-log.ts';
import { VerifyLog } from './verify-log.tsx';

const PERIODS = [
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['365d', 'Last 12 months'],
] as const;

/** What happened, and by whom. */
export function Audit() {
  const { params } = usePlace();
  const [isVerifying, setVerifying] = useState(false);
  const licenses = useLicenses().data?.licenses ?? [];
  const names = new Map(licenses.map((license) => [license.id, nameOf(license)]));
  const period = readPeriod(params.get('when'), readNow());
  const log = useAuditLog({
    license_id: params.get('license'),
    kind: params.get('kind'),
    user: params.get('user'),
    search: params.get('search'),
    since: period === null ? null : new Date(period.since).toISOString(),
    until: period === null ? null : new Date(period.until).toISOString(),
  });
  const hasFilter = ['license', 'kind', 'user', 'search', 'when'].some((name) => params.has(name));
  const user = params.get('user');
  return (
    <div class="content wide">
      <PageHead
        title="Audit"
        lead={
          may('GET /api/admin/audit/verify')
            ? 'Everything that happened, in chains that cannot be changed without a trace.'
            : 'What happened with your products.'
        }
      >
        <Button icon="audit" needs="GET /api/admin/audit/verify" onClick={() => setVerifying(true)}>
          Verify
        </Button>
        {may('GET /api/admin/audit/export') && (
          <a class="button" href={addressOf('/api/admin/audit/export')} download="audit.jsonl">
            <Icon name="download" />
            Export
          </a>
        )}
      </PageHead>
      {isVerifying && <VerifyLog onClose={() => setVerifying(false)} />}
      <div class="filters">
        <SearchField
          label="User, host or address"
          value={params.get('search') ?? ''}
          onSearch={(search) => setParams({ search }, true)}
        />
        {user !== null && <FilterChip label="User" name="user" value={user} choices={[[user, user]]} />}
        <LicenseChip licenses={licenses} value={params.get('license')} />
        <KindChip value={params.get('kind')} />
        <PeriodChip label="When" name="when" value={params.get('when')} choices={PERIODS} />
        {hasFilter && <a href={linkTo('audit')}>Clear filters</a>}
      </div>
      <EventList log={log} names={names} />
    </div>
  );
}

const ROW_HEIGHT = 36;
const NARROW_HEIGHT = 60;

interface EventListProps {
  readonly log: AuditLog;
  readonly names: ReadonlyMap<number, string>;
}

function EventList({ log, names }: EventListProps) {
  const [opened, setOpened] = useState<AuditEvent | null>(null);
  const isNarrow = useIsNarrow();
  if (log.error !== null && log.events.length === 0) {
    return (
      <ErrorBox title="The audit log could not be read." error={log.error} onRetry={() => log.reload()} />
    );
  }
  // A search reads the log in parts, and the first ones may have nothing.
  if (!log.isLoaded || (log.events.length === 0 && log.hasMore)) return <Loading rows={12} />;
  if (log.events.length === 0) {
    return (
      <Empty title="Nothing fits">
        <p>No event is recorded that fits these filters.</p>
        <ButtonLink to="audit">Show all events</ButtonLink>
      </Empty>
    );
  }
  return (
    <>
      <div class="grid audit-grid" role="table" aria-label="Events">
        <div class="grid-head" role="row">
          {['Time', 'What happened', 'User', 'License', 'By'].map((label) => (
            <span key={label} role="columnheader">
              {label}
            </span>
          ))}
        </div>
        <VirtualRows
          count={log.events.length}
          rowHeight={isNarrow ? NARROW_HEIGHT : ROW_HEIGHT}
          onShow={(_, to) => to > log.events.length - 40 && log.readMore()}
          render={(index, top) => (
            <EventRow
              key={index}
              event={log.events[index] as AuditEvent}
              top={top}
              names={names}
              onOpen={() => setOpened(log.events[index] as AuditEvent)}
            />
          )}
        />
      </div>
      {!log.hasMore && <p class="list-foot">This is the beginning of the log.</p>}
      {opened !== null && <EventDialog event={opened} names={names} onClose={() => setOpened(null)} />}
    </>
  );
}

interface EventRowProps {
  readonly event: AuditEvent;
  readonly top: number;
  readonly names: ReadonlyMap<number, string>;
  readonly onOpen: () => void;
}

function EventRow({ event, top, names, onOpen }: EventRowProps) {
  const license =
    event.license_id === null ? null : (names.get(event.license_id) ?? String(event.license_id));
  const opener = (
    <button type="button" class="row-button" onClick={onOpen}>
      <Name text={describeEvent(event)} />
    </button>
  );
  return (
    <div role="row" class="grid-row" style={{ top: `${top}px` }}>
      <RowCells
        cells={[
          ['cell second-line', <Moment at={event.at} isExact />],
          ['cell first', opener],
          ['cell', typeof event.user === 'string' ? <UserName user={event.user} /> : '–'],
          ['cell second', license === null ? '–' : <Name text={license} />],
          ['cell second third-line', <Name text={sayActor(event)} />],
        ]}
      />
    </div>
  );
}

interface EventDialogProps {
  readonly event: AuditEvent;
  readonly names: ReadonlyMap<number, string>;
  readonly onClose: () => void;
}

function EventDialog({ event, names, onClose }: EventDialogProps) {
  const { at, kind: _, license_id, ...facts } = event;
  const shown = Object.entries(facts).filter(([, value]) => value !== null);
  return (
    <Dialog title={sayKind(event.kind)} onClose={onClose}>
      <p dir="auto">{describeEvent(event)}.</p>
      <Facts
        rows={[
          ['Time', <Moment at={at} isExact />],
          license_id !== null && ['License', names.get(license_id) ?? license_id],
          ...shown.map(
            ([name, value]) =>
              [
                sayKind(name),
                name === 'user' ? <UserName user={String(value)} /> : <Value value={value} />,
              ] as const,
          ),
        ]}
      />
      <div class="buttons">
        <CopyButton text={JSON.stringify(event, null, 2)} label="Copy as JSON" />
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Value({ value }: { readonly value: unknown }) {
  // Such as the lines of a text that changed.
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
    return <span class="lines">{value.join('\n')}</span>;
  }
  return <>{typeof value === 'string' ? value : JSON.stringify(value)}</>;
}

const ANY = { icon: 'audit', text: 'Any', note: '', kind: null } as const;

const KINDS = EVENT_KINDS.map((kind) => ({ icon: 'audit', text: sayKind(kind), note: '', kind }) as const);

/** Chooses one of the many kinds of events. */
function KindChip({ value }: { readonly value: string | null }) {
  const [text, setText] = useState<string | null>(null);
  const wish = (text ?? '').trim().toLowerCase();
  const found = [ANY, ...KINDS].filter((one) => one.text.toLowerCase().includes(wish));
  return (
    <>
      <button
        type="button"
        class={`chip${value === null ? '' : ' on'}`}
        aria-haspopup="dialog"
        onClick={() => setText('')}
      >
        Kind <b>{value === null ? 'Any' : value.split(',').map(sayKind).join(', ')}</b>
        <Icon name="down" size={12} />
      </button>
      {text !== null && (
        <Picker
          label="Kind of event"
          text={text}
          found={found}
          onText={setText}
          onPick={({ kind }) => setParams({ kind })}
          onClose={() => setText(null)}
        />
      )}
    </>
  );
}
