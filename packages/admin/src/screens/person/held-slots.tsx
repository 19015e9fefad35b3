import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { readNow } from '../../clock.ts';
import { linkTo } from '../../data/route.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { sayPrograms } from '../../words/say-programs.ts';
import { formatDistance } from '../../words/time.ts';
import { FREEING } from '../slots/slot-actions.ts';
import { keyOf } from '../slots/slot-row.tsx';

interface HeldSlotsProps {
  readonly slots: readonly Slot[];
  readonly byId: ReadonlyMap<number, License>;
  readonly onFree: (slot: Slot) => void;
}

/** What a person holds now, and what they have borrowed. */
export function HeldSlots({ slots, ...props }: HeldSlotsProps) {
  const [lent, held] = [true, false].map((wish) => slots.filter(({ is_borrowed }) => is_borrowed === wish));
  return (
    <>
      <SlotSection title="Slots held now" note="" slots={held ?? []} {...props} />
      <SlotSection title="Borrowed" note=", works without the server" slots={lent ?? []} {...props} />
    </>
  );
}

interface SlotSectionProps extends HeldSlotsProps {
  readonly title: string;
  readonly note: string;
}

function SlotSection({ title, note, slots, byId, onFree }: SlotSectionProps) {
  if (slots.length === 0) return null;
  return (
    <Section title={title} note={`${formatNumber(slots.length)}${note}`}>
      <Table
        columns={['License', 'Computer', ['Since', 'number no-phone'], ['Until', 'number']]}
        hasActions
        isTall
      >
        {slots.map((slot) => (
          <SlotLine key={keyOf(slot)} slot={slot} license={byId.get(slot.license_id)} onFree={onFree} />
        ))}
      </Table>
    </Section>
  );
}

interface SlotLineProps {
  readonly slot: Slot;
  readonly license: License | undefined;
  readonly onFree: (slot: Slot) => void;
}

function SlotLine({ slot, license, onFree }: SlotLineProps) {
  return (
    <tr class="slot-line">
      <td class="grow cut">
        <span class="two">
          <a class="plain-link" href={linkTo(`licenses/${slot.license_id}`)}>
            <Name text={license === undefined ? slot.product : nameOf(license)} isStrong />
          </a>
          <span>{slot.features.length === 0 ? 'no features' : slot.features.join(', ')}</span>
        </span>
      </td>
      <td class="cut">
        <span class="two">
          <Name text={slot.os_hostname ?? '–'} />
          <span>{[slot.address ?? slot.ip_local ?? [], sayPrograms(slot.programs)].flat().join(', ')}</span>
        </span>
      </td>
      <td class="number no-phone">
        <Moment at={slot.registered_at} />
      </td>
      <td class="number">
        <Moment at={slot.ends_at} />{' '}
        <span class="quiet">{formatDistance(Date.parse(slot.ends_at), readNow())}</span>
      </td>
      <td class="number act">
        <Button as="link" needs={FREEING} onClick={() => onFree(slot)}>
          {slot.is_borrowed ? 'Recall…' : 'Release…'}
        </Button>
      </td>
    </tr>
  );
}
