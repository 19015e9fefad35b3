import type { AuditEvent } from '@berth/protocol/admin/audit';
import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { SLOTS_CHART_HEIGHT, SlotsChart } from '../../charts/slots-chart.tsx';
import { Sparkline } from '../../charts/sparkline.tsx';
import { readNow } from '../../clock.ts';
import { ApiError } from '../../data/api.ts';
import { useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { linkTo, usePlace } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { useSend } from '../../parts/form.tsx';
import { PageHead, Section } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { MenuButton } from '../../parts/menu.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { State } from '../../parts/shape.tsx';
import { SlotBar, SlotLegend, SlotNotes } from '../../parts/slot-bar.tsx';
import { Empty, ErrorBox, Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { describeEvent, sayActor } from '../../words/describe-event.ts';
import { countedOf, judgeLicense, nameOf, worstOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { DAY_MS, HOUR_MS } from '../../words/time.ts';
import { fillSteps } from '../../words/usage.ts';
import { Consumption } from './consumption.tsx';
import { FeatureTable } from './feature-table.tsx';
import { askToRemove, askToRemoveHere, askToReturn, checkNow } from './license-actions.ts';
import { RefusedToday, RulesOf, UnusedReservation, useReserved } from './rules-of.tsx';
import { Terms } from './terms.tsx';
import { Waiting } from './waiting.tsx';

/** Will it last? */
export function LicenseScreen() {
  const id = usePlace().path[1] ?? '';
  const licenses = useLicenses();
  return (
    <div class="content">
      <Show of={licenses} what="The license" rows={8} hasHead>
        {(data) => {
          const license = data.licenses.find((one) => String(one.id) === id);
          return license === undefined ? <NoSuchLicense /> : <LicenseOf license={license} />;
        }}
      </Show>
    </div>
  );
}

function NoSuchLicense() {
  return (
    <Empty title="This server does not have that license">
      <p>It may have been removed.</p>
      <ButtonLink to="licenses">See all licenses</ButtonLink>
    </Empty>
  );
}

function LicenseOf({ license }: { readonly license: License }) {
  const [fault, setFault] = useState<string | null>(null);
  const now = readNow();
  const verdict = worstOf(license, now);
  const sentences = judgeLicense(license, now).map(({ sentence }) => `${nameOf(license)} ${sentence}`);
  const crumbs = (
    <>
      <a href={linkTo('licenses')}>Licenses</a> / <bdi>{nameOf(license)}</bdi>
    </>
  );
  return (
    <>
      <PageHead
        title={nameOf(license)}
        mark={<State level={verdict.level} word={verdict.word} />}
        lead={sentences.length > 0 ? sentences.join(' ') : 'All is well with this license.'}
        crumbs={crumbs}
      >
        {may('POST /api/v4/removeProduct') && <Actions license={license} onFault={setFault} />}
      </PageHead>
      {fault !== null && (
        <ErrorBox title="The license could not be checked." error={new ApiError(0, 'cloud', fault)} />
      )}
      <div class="columns">
        <div>
          <Consumption license={license} />
          {license.floating_users > 0 && <SlotsOf license={license} />}
          {license.floating_users > 0 && <Waiting license={license} />}
        </div>
        <aside aria-label="Rules and terms">
          <RefusedToday license={license} />
          <RulesOf license={license} />
          <Terms license={license} />
        </aside>
      </div>
      {license.product_features.length > 0 && (
        <Section title="Features" note={formatNumber(license.product_features.length)}>
          <FeatureTable features={license.product_features} product={license.product} />
        </Section>
      )}
      <History license={license} />
    </>
  );
}

interface ActionsProps {
  readonly license: License;
  readonly onFault: (fault: string | null) => void;
}

function Actions({ license, onFault }: ActionsProps) {
  const isCloud = license.source === 'cloud';
  const isFile = license.source === 'offline' || license.source === 'airgap';
  const { isBusy, submit: check } = useSend(async () => onFault(await checkNow(license)));
  const items = [
    ...(isFile
      ? [{ label: 'Return to the vendor…', icon: 'release' as const, act: () => askToReturn(license) }]
      : []),
    { label: 'Remove license…', icon: 'trash' as const, act: () => askToRemove(license) },
    ...(isCloud
      ? [{ label: 'Remove only here…', icon: 'trash' as const, act: () => askToRemoveHere(license) }]
      : []),
  ];
  return (
    <>
      {isFile && (
        <ButtonLink to={`licenses/add?way=${license.source === 'offline' ? 'file' : 'codes'}`}>
          Renew the license
        </ButtonLink>
      )}
      {isCloud && (
        <Button icon="sync" isBusy={isBusy} onClick={check}>
          {isBusy ? 'Checking…' : 'Check now'}
        </Button>
      )}
      <MenuButton label="More actions" className="button square" isIcon items={items}>
        <Icon name="more" />
      </MenuButton>
    </>
  );
}

const WEEK_MS = 7 * DAY_MS;

/** The last week: as a chart, or as a small one if the license has a chart of its consumption. */
function SlotsOf({ license }: { readonly license: License }) {
  const now = readNow();
  const until = Math.ceil(now / HOUR_MS) * HOUR_MS;
  const since = new Date(until - WEEK_MS).toISOString();
  const history = useResource('/api/admin/history/slots', { since, license: license.id }).data;
  const { floating_in_use: used, floating_users: slots, borrowed } = license;
  const lent = borrowed === 0 ? 'none borrowed' : `${formatNumber(borrowed)} borrowed`;
  const reserved = useReserved(license);
  const bar = (
    <>
      <SlotBar slots={slots} inUse={used} borrowed={borrowed} reserved={reserved} />
      <SlotNotes slots={slots} inUse={used} reserved={reserved} />
      <UnusedReservation license={license} />
    </>
  );
  return (
    <Section
      title="Slots"
      note={`${formatNumber(used)} of ${formatNumber(slots)} in use, ${lent}`}
      end={
        <>
          {reserved.length > 0 && <SlotLegend hasReserved />}
          <a href={linkTo('slots', { license: license.id })}>See who holds them</a>
        </>
      }
    >
      {countedOf(license) === null ? (
        <>
          {bar}
          <p class="second gap">The last 7 days</p>
          {history === null ? (
            <div style={{ height: `${SLOTS_CHART_HEIGHT}px` }} />
          ) : (
            <SlotsChart steps={fillSteps(history, license.id, now)} stepMs={history.step_ms} slots={slots} />
          )}
        </>
      ) : (
        <div class="slots-row">
          <div>{bar}</div>
          <Sparkline
            points={history?.series.find(({ feature }) => feature === null)?.points ?? []}
            slots={slots}
            since={until - WEEK_MS}
            until={now}
            now={used}
            width={360}
            height={60}
            hasAxes
          />
        </div>
      )}
    </Section>
  );
}

function History({ license }: { readonly license: License }) {
  const query = { license_id: license.id, limit: 12 };
  const events = useResource('/api/admin/audit', query, { isLive: true });
  return (
    <Section title="History" end={<a href={linkTo('audit', { license: license.id })}>All of it in Audit</a>}>
      <Show of={events} what="The history">
        {(data) => <EventTable events={data.events.slice(0, 12)} />}
      </Show>
    </Section>
  );
}

function EventTable({ events }: { readonly events: readonly AuditEvent[] }) {
  if (events.length === 0) return <p class="quiet">Nothing is recorded.</p>;
  return (
    <Table
      rows={events}
      keyOf={({ seq }, index) => `${seq} ${index}`}
      columns={[
        ['Time', ({ at }) => <Time at={at} />, 'nowrap'],
        ['What happened', (event) => <div dir="auto">{describeEvent(event)}</div>, 'wide sentence-cell'],
        ['User', ({ user }) => (typeof user === 'string' ? <UserName user={user} /> : '–'), 'cut'],
        ['By', (event) => <Name text={sayActor(event)} />, 'cut second'],
      ]}
    />
  );
}
