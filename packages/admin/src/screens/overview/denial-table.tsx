import type { Denial } from '@berth/protocol/admin/history';
import { readNow } from '../../clock.ts';
import { LicenseName, Name, UserName } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { sayDenial } from '../../words/describe-event.ts';
import { formatNumber } from '../../words/numbers.ts';

function keyOf({ license_id, user, first_at, reason, rule, feature }: Denial): string {
  return `${license_id} ${user} ${first_at} ${reason} ${rule} ${feature}`;
}

/** Who was refused and why. */
export function DenialTable({ denials }: { readonly denials: readonly Denial[] }) {
  return (
    <Table
      rows={denials}
      keyOf={keyOf}
      columns={[
        ['Time', ({ last_at }) => <Time at={last_at} />, 'nowrap'],
        ['User', (denial) => <UserName {...denial} />, 'grow cut'],
        ['Host', ({ host, address }) => <Name text={host ?? address ?? '–'} />, 'cut no-tablet'],
        ['License', (one) => <LicenseName id={one.license_id} name={one.name || one.product} />, 'cut'],
        ['Why', (denial) => sayDenial(denial, readNow()), 'wide'],
        ['Asked', ({ count }) => (count === 1 ? 'once' : `${formatNumber(count)} times`), 'number'],
      ]}
    />
  );
}
