import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { LicenseName, Name } from '../../parts/name.tsx';
import { Table, TwoLines } from '../../parts/table.tsx';
import { Ending, Moment } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { FREEING, sayPrograms } from '../slots/slot-actions.ts';
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
        rows={slots}
        keyOf={keyOf}
        rowClass="slot-line"
        isTall
        columns={[
          ['License', (slot) => drawLicense(slot, byId.get(slot.license_id)), 'grow cut'],
          ['Computer', drawComputer, 'cut'],
          ['Since', ({ registered_at }) => <Moment at={registered_at} />, 'number no-phone'],
          ['Until', ({ ends_at }) => <Ending at={ends_at} />, 'number'],
        ]}
        actions={(slot) => (
          <Button as="link" needs={FREEING} onClick={() => onFree(slot)}>
            {slot.is_borrowed ? 'Recall…' : 'Release…'}
          </Button>
        )}
      />
    </Section>
  );
}

function drawLicense({ license_id, product, features }: Slot, license: License | undefined) {
  const name = license === undefined ? product : nameOf(license);
  return (
    <TwoLines
      first={<LicenseName id={license_id} name={name} isStrong isPlain />}
      second={features.length === 0 ? 'no features' : features.join(', ')}
    />
  );
}

function drawComputer({ os_hostname, address, ip_local, programs }: Slot) {
  const where = [address ?? ip_local ?? [], sayPrograms(programs)].flat().join(', ');
  return <TwoLines first={<Name text={os_hostname ?? '–'} />} second={where} />;
}
