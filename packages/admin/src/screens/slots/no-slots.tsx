import type { License } from '@berth/protocol/admin/licenses';
import { setParams } from '../../data/route.ts';
import { Button } from '../../parts/button.tsx';
import { openFinder } from '../../parts/finder.tsx';
import { Icon } from '../../parts/icon.tsx';
import { SlotBar } from '../../parts/slot-bar.tsx';
import { Command, Empty } from '../../parts/states.tsx';
import { registerCommand } from '../../words/commands.ts';
import { nameOf } from '../../words/judge-license.ts';
import { describeReach } from '../../words/reach.ts';
import { type Filters, NO_FILTERS } from './slot-filters.ts';

interface NoSlotsProps {
  readonly licenses: readonly License[];
  readonly filters: Filters;
}

/** No slot is held, or no slot fits the filters. */
export function NoSlots({ licenses, filters }: NoSlotsProps) {
  const { license, state, feature, search } = filters;
  const named = licenses.find(({ id }) => String(id) === license);
  const inForce = [
    license === null ? null : `License is ${named === undefined ? license : nameOf(named)}`,
    state === null ? null : `State is ${state === 'borrowed' ? 'Borrowed' : 'In use'}`,
    feature === null ? null : `Feature is ${feature}`,
  ].filter((text) => text !== null);
  if (inForce.length === 0 && search === '') {
    return (
      <Empty
        title="No slot is held"
        picture={
          <span class="empty-bar">
            <SlotBar slots={5} inUse={0} borrowed={0} />
          </span>
        }
      >
        <p>
          The first application that asks appears here within a second. Try it{' '}
          {describeReach(location.hostname, null).where}:
        </p>
        <Command text={registerCommand(licenses.length === 1 ? (licenses[0]?.product ?? null) : null)} />
      </Empty>
    );
  }
  return (
    <Empty
      title={search === '' ? 'No slot fits' : `No slot fits “${search}”`}
      picture={<Icon name="search" size={24} />}
    >
      <p>
        {search !== '' && 'Searched user, host and address. '}
        {inForce.length > 0 &&
          `${inForce.length === 1 ? 'Filter' : 'Filters'} in force: ${inForce.join(', ')}.`}
      </p>
      <Button onClick={() => setParams({ ...NO_FILTERS, search: inForce.length > 0 ? search : null })}>
        {inForce.length > 0 && search !== '' ? 'Search all slots' : 'Show all slots'}
      </Button>
      {search !== '' && <Button onClick={() => openFinder(search)}>Find among all people</Button>}
    </Empty>
  );
}
