import type { Slot } from '@berth/protocol/admin/registrations';
import { formatCsv } from '@berth/protocol/csv';
import { useState } from 'preact/hooks';
import { type ApiError, get } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { showToast } from '../../parts/toasts.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { type Filters, queryOf } from './slot-filters.ts';

/** As many as the server sends at once. */
const PART = 1000;

const HEAD = 'license_id product user host address features state since until programs'.split(' ');

/** Saves what the filters show, all of it. */
export function ExportButton({ filters }: { readonly filters: Filters }) {
  const [progress, setProgress] = useState<string | null>(null);
  const save = async () => {
    if (progress !== null) return;
    setProgress('Exporting…');
    try {
      const slots = await readAll(filters, setProgress);
      saveFile('slots.csv', formatCsv(HEAD, slots.map(rowOf)));
    } catch (error) {
      showToast(`The slots were not exported. ${(error as ApiError).message}`);
    }
    setProgress(null);
  };
  return (
    <Button icon="download" isBusy={progress !== null} onClick={save}>
      {progress ?? 'Export CSV'}
    </Button>
  );
}

async function readAll(filters: Filters, showProgress: (text: string) => void): Promise<readonly Slot[]> {
  const all: Slot[] = [];
  for (;;) {
    const query = { ...queryOf(filters), offset: all.length, limit: PART };
    const { matched, registrations, next } = await get('/api/admin/registrations', query);
    all.push(...registrations);
    if (next === null) return all;
    showProgress(`${formatNumber(all.length)} of ${formatNumber(matched ?? 0)}`);
  }
}

function rowOf(slot: Slot): readonly (string | number | null)[] {
  const state = slot.is_borrowed ? 'borrowed' : 'in use';
  const { license_id, product, user, os_hostname, address, registered_at, ends_at, programs } = slot;
  const features = slot.features.join(' ');
  return [license_id, product, user, os_hostname, address, features, state, registered_at, ends_at, programs];
}
