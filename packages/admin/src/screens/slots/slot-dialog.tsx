import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { Dialog } from '../../parts/dialog.tsx';
import { Name } from '../../parts/name.tsx';
import { Time } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { SlotState } from './slot-row.tsx';

interface SlotDialogProps {
  readonly slot: Slot;
  readonly license: License | undefined;
  readonly onClose: () => void;
  readonly onFree: () => void;
}

/** Everything that is known of a slot. */
export function SlotDialog({ slot, license, onClose, onFree }: SlotDialogProps) {
  return (
    <Dialog title={slot.user} onClose={onClose}>
      <dl class="facts">
        <dt>License</dt>
        <dd>
          <Name text={license === undefined ? slot.product : nameOf(license)} />
        </dd>
        <dt>State</dt>
        <dd>
          <SlotState isBorrowed={slot.is_borrowed} />
        </dd>
        <dt>Since</dt>
        <dd>
          <Time at={slot.registered_at} />
        </dd>
        <dt>Until</dt>
        <dd>
          <Time at={slot.ends_at} />, <Time at={slot.ends_at} as="distance" />
        </dd>
        <dt>Host</dt>
        <dd dir="auto">{slot.os_hostname ?? '–'}</dd>
        <dt>Address</dt>
        <dd>
          {slot.address ?? '–'}
          {slot.ip_local !== null && slot.ip_local !== slot.address && ` (the host says ${slot.ip_local})`}
        </dd>
        <dt>Features</dt>
        <dd>{slot.features.length === 0 ? 'none' : slot.features.join(', ')}</dd>
        {slot.user_info !== null && (
          <>
            <dt>Further</dt>
            <dd dir="auto">{slot.user_info}</dd>
          </>
        )}
      </dl>
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
        <button type="button" class="button" onClick={onFree}>
          {slot.is_borrowed ? 'Recall…' : 'Release…'}
        </button>
      </div>
    </Dialog>
  );
}
