import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Name } from '../../parts/name.tsx';
import { Time } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { FREEING, sayPrograms } from './slot-actions.ts';
import { SlotState } from './slot-row.tsx';

interface SlotDialogProps {
  readonly slot: Slot;
  readonly license: License | undefined;
  readonly onClose: () => void;
  readonly onFree: () => void;
}

/** Everything that is known of a slot. */
export function SlotDialog({ slot, license, onClose, onFree }: SlotDialogProps) {
  const isElsewhere = slot.ip_local !== null && slot.ip_local !== slot.address;
  return (
    <Dialog title={slot.user} onClose={onClose}>
      <Facts
        rows={[
          ['License', <Name text={license === undefined ? slot.product : nameOf(license)} />],
          ['State', <SlotState {...slot} />],
          ...sayPrograms(slot.programs).map((several) => ['Used by', several] as const),
          ['Since', <Time at={slot.registered_at} />],
          ['Until', [<Time at={slot.ends_at} />, ', ', <Time at={slot.ends_at} as="distance" />]],
          ['Host', slot.os_hostname ?? '–'],
          ['Address', `${slot.address ?? '–'}${isElsewhere ? ` (the host says ${slot.ip_local})` : ''}`],
          ['Features', slot.features.length === 0 ? 'none' : slot.features.join(', ')],
          slot.user_info !== null && ['Further', slot.user_info],
        ]}
      />
      <div class="buttons">
        <Button onClick={onClose}>Close</Button>
        <Button needs={FREEING} onClick={onFree}>
          {slot.is_borrowed ? 'Recall…' : 'Release…'}
        </Button>
      </div>
    </Dialog>
  );
}
