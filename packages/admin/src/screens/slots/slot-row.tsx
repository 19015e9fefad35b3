import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { readNow } from '../../clock.ts';
import { goTo, linkToPerson } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Icon } from '../../parts/icon.tsx';
import { MenuButton, type MenuItem } from '../../parts/menu.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { copyText } from '../../parts/states.tsx';
import { Moment } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatDistance } from '../../words/time.ts';
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
      <span role="cell" class="pick">
        {may(FREEING) && (
          <input
            type="checkbox"
            aria-label={`Select ${slot.user}`}
            checked={isPicked}
            tabIndex={isCurrent ? 0 : -1}
            onClick={(event) => {
              event.stopPropagation();
              props.onPoint();
              props.onPick(event.shiftKey);
            }}
          />
        )}
      </span>
      <span role="cell" class="cell first">
        <UserName user={slot.user} />
      </span>
      <span role="cell" class="cell second-line">
        {slot.os_hostname === null ? <span class="quiet">–</span> : <Name text={slot.os_hostname} />}
      </span>
      <span role="cell" class="cell second">
        {slot.address ?? slot.ip_local ?? '–'}
      </span>
      {showsLicense && (
        <span role="cell" class="cell license">
          <Name text={license === undefined ? slot.product : nameOf(license)} />
        </span>
      )}
      <span role="cell" class="cell second">
        {slot.features.length === 0 ? '–' : slot.features.join(', ')}
      </span>
      <span role="cell" class="cell third-line">
        <SlotState {...slot} />
      </span>
      <span role="cell" class="cell number">
        <Moment at={slot.registered_at} />
      </span>
      <span role="cell" class="cell number until">
        <Moment at={slot.ends_at} />{' '}
        <span class="quiet">{formatDistance(Date.parse(slot.ends_at), readNow())}</span>
      </span>
      <span role="cell" class="more">
        <RowMenu {...props} />
      </span>
    </div>
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
      <MenuButton label={`Actions for ${slot.user}`} className="icon-button" isIcon items={items}>
        <Icon name="more" />
      </MenuButton>
    </span>
  );
}
