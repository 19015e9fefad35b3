import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { goTo, linkToPerson } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { ActionsMenu, type MenuItem } from '../../parts/menu.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { copyText } from '../../parts/states.tsx';
import { Ending, Moment } from '../../parts/time.tsx';
import { RowCells } from '../../parts/virtual-rows.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { FREEING, sayPrograms } from './slot-actions.ts';

export function keyOf({ license_id, user }: Slot): string {
  return `${license_id} ${user}`;
}

interface RowProps {
  readonly slot: Slot;
  readonly index: number;
  readonly top: number;
  readonly license: License | undefined;
  readonly showsLicense: boolean;
  readonly isCurrent: boolean;
  readonly isPicked: boolean;
  readonly canBar: boolean;
  readonly onPoint: () => void;
  /** `isRange`: together with all rows since the last one. */
  readonly onPick: (isRange: boolean) => void;
  readonly onFree: () => void;
  readonly onBar: () => void;
  readonly onOpen: () => void;
}

export function SlotRow(props: RowProps) {
  const { slot, index, top, license, showsLicense, isCurrent, isPicked } = props;
  const { os_hostname: host } = slot;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isPicked}
      class={`grid-row${isCurrent ? ' current' : ''}`}
      style={{ top: `${top}px` }}
      data-row={index}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={props.onPoint}
      onClick={({ shiftKey }) => (shiftKey ? props.onPick(true) : props.onPoint())}
      // Otherwise the browser selects text.
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      onDblClick={props.onOpen}
    >
      <RowCells
        cells={[
          ['pick', may(FREEING) && <PickBox {...props} />],
          ['cell first', <UserName user={slot.user} />],
          ['cell second-line', host === null ? <span class="quiet">–</span> : <Name text={host} />],
          ['cell second', slot.address ?? slot.ip_local ?? '–'],
          showsLicense && [
            'cell license',
            <Name text={license === undefined ? slot.product : nameOf(license)} />,
          ],
          ['cell second', slot.features.length === 0 ? '–' : slot.features.join(', ')],
          ['cell third-line', <SlotState {...slot} />],
          ['cell number', <Moment at={slot.registered_at} />],
          ['cell number until', <Ending at={slot.ends_at} />],
          ['more', <RowMenu {...props} />],
        ]}
      />
    </div>
  );
}

function PickBox({ slot, isCurrent, isPicked, onPoint, onPick }: RowProps) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${slot.user}`}
      checked={isPicked}
      tabIndex={isCurrent ? 0 : -1}
      onClick={(event) => {
        event.stopPropagation();
        onPoint();
        onPick(event.shiftKey);
      }}
    />
  );
}

export function SlotState({ is_borrowed, programs }: Pick<Slot, 'is_borrowed' | 'programs'>) {
  const [several] = sayPrograms(programs);
  return (
    <span class="state">
      <i class={`swatch${is_borrowed ? ' hatched' : ''}`} />
      {is_borrowed ? 'Borrowed' : 'In use'}
      {several !== undefined && (
        <span role="img" aria-label={several} title={several}>
          ×{programs}
        </span>
      )}
    </span>
  );
}

function RowMenu({ slot, isCurrent, canBar, onFree, onBar, onOpen }: RowProps) {
  const free = slot.is_borrowed ? 'Recall this slot…' : 'Release this slot…';
  const items: (MenuItem | null)[] = [
    ...(may(FREEING) ? [{ label: free, icon: 'release' as const, key: 'R', act: onFree }, null] : []),
    ...(canBar ? [{ label: 'Bar this user…', icon: 'bar' as const, key: 'B', act: onBar }, null] : []),
    { label: 'Show the slot', icon: 'eye', act: onOpen },
    { label: 'Show the person', icon: 'user', key: 'H', act: () => goTo(linkToPerson(slot.user)) },
    { label: 'Copy the user', icon: 'copy', key: 'C', act: () => void copyText(slot.user) },
  ];
  return (
    <span class={isCurrent ? '' : 'calm'}>
      <ActionsMenu of={slot.user} items={items} />
    </span>
  );
}
