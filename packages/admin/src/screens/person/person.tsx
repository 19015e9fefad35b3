import type { Slot } from '@berth/protocol/admin/registrations';
import { useBars } from '../../data/bars.ts';
import { useAllowed, useLicenses, useLine } from '../../data/overview.ts';
import { type Resource, useResource } from '../../data/resource.ts';
import { linkTo } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { sayHolding, sayWaiting } from '../../words/person.ts';
import { askToBar, askToFree, askToFreeAll, askToUnbar, FREEING, isBarOf } from '../slots/slot-actions.ts';
import { About } from './about.tsx';
import { Denials } from './denials.tsx';
import { HeldSlots } from './held-slots.tsx';
import { type Usage, Use, useUsage } from './use.tsx';

/** Slots that one person holds at once, at most. */
const MAX_SLOTS = 200;

/** Everything about a person: what they hold, what they used, and why they were refused. */
export function Person({ user }: { readonly user: string }) {
  const slots = useResource('/api/admin/registrations', { user, limit: MAX_SLOTS }, { isLive: true });
  const usage = useUsage(user);
  return (
    <div class="content">
      <PersonHead user={user} slots={slots.data?.registrations ?? null} onChange={slots.reload} />
      <Show of={slots} what="The slots" rows={6}>
        {({ registrations }) => <PersonBody {...{ user, usage }} slots={registrations} list={slots} />}
      </Show>
    </div>
  );
}

interface PersonHeadProps {
  readonly user: string;
  readonly slots: readonly Slot[] | null;
  readonly onChange: () => void;
}

function PersonHead({ user, slots, onChange }: PersonHeadProps) {
  const licenses = useLicenses().data?.licenses ?? [];
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const byProduct = new Map(licenses.map((license) => [license.product, nameOf(license)]));
  const awaited = (useLine().data?.line ?? [])
    .filter((one) => one.user === user)
    .map(({ product, feature }) => feature ?? byProduct.get(product) ?? product);
  const { canBar, reload } = useBars();
  const why = useAllowed('/api/admin/rules/why', { user }, { isLive: true });
  const changeBars = () => {
    reload();
    why.reload();
  };
  const held = slots?.filter(({ is_borrowed }) => !is_borrowed) ?? [];
  const [only] = held;
  const isBarred = why.data?.barred_by.some((bar) => isBarOf(user, bar)) ?? false;
  return (
    <PageHead
      title={user}
      lead={
        slots === null ? undefined : sayHolding(held.length, slots.length - held.length) + sayWaiting(awaited)
      }
      crumbs={
        <>
          <a href={linkTo('slots')}>Slots</a> / <Name text={user} />
        </>
      }
    >
      {held.length === 1 && only !== undefined && (
        <Button icon="release" needs={FREEING} onClick={() => askToFree(only, byId, onChange)}>
          Release the slot…
        </Button>
      )}
      {held.length > 1 && (
        <Button icon="release" needs={FREEING} onClick={() => askToFreeAll(held, onChange)}>
          {held.length === 2 ? 'Release both slots…' : `Release all ${held.length} slots…`}
        </Button>
      )}
      {canBar && why.data !== null && (
        <Button icon="bar" onClick={() => (isBarred ? askToUnbar : askToBar)(user, changeBars)}>
          {isBarred ? 'Lift the bar…' : 'Bar…'}
        </Button>
      )}
    </PageHead>
  );
}

interface PersonBodyProps {
  readonly user: string;
  readonly slots: readonly Slot[];
  readonly usage: Usage;
  readonly list: Resource<unknown>;
}

function PersonBody({ user, slots, usage, list }: PersonBodyProps) {
  const licenses = useLicenses().data?.licenses ?? [];
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const free = (slot: Slot) => askToFree(slot, byId, list.reload);
  const isKnown = slots.length > 0 || usage.rows === null || usage.rows.length > 0;
  const forgotten = () => {
    list.reload();
    usage.reload();
  };
  return (
    <div class="columns person">
      <div>
        {!isKnown && (
          <Empty title="Nothing is recorded">
            <p>
              This user holds no slot, and in the last 12 months none was lent or refused. Users are named as
              their applications name them.
            </p>
          </Empty>
        )}
        <HeldSlots slots={slots} byId={byId} onFree={free} />
        {isKnown && <Use usage={usage} />}
        {isKnown && <Denials user={user} licenses={licenses} />}
      </div>
      <About
        user={user}
        slots={slots}
        lastAt={usage.lastAt}
        onForget={may('POST /api/admin/history/forget') && isKnown ? forgotten : null}
      />
    </div>
  );
}
