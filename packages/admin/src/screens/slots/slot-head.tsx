import type { OperationKey } from '@berth/protocol/admin/admin-api';
import { readNow } from '../../clock.ts';
import { setParams } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Keycaps } from '../../parts/keys.tsx';
import { zoneName } from '../../words/time.ts';
import { MAX_PICKED } from './picked-slots.ts';
import { FREEING } from './slot-actions.ts';
import type { Filters } from './slot-filters.ts';

interface Column {
  readonly label: string;
  /** What the server calls it; left out if it cannot be sorted by. */
  readonly sort?: string;
  readonly isNumber?: boolean;
}

const COLUMNS: readonly Column[] = [
  { label: 'User', sort: 'user' },
  { label: 'Host', sort: 'host' },
  { label: 'Address', sort: 'address' },
  { label: 'License', sort: 'license' },
  { label: 'Features' },
  { label: 'State', sort: 'state' },
  { label: 'Since', sort: 'since', isNumber: true },
  { label: 'Until', sort: 'until', isNumber: true },
];

interface SlotHeadProps {
  readonly filters: Filters;
  readonly showsLicense: boolean;
  /** How many rows are selected, of how many. */
  readonly picked: number;
  readonly matched: number;
  readonly onPickAll: () => void;
}

export function SlotHead({ filters, showsLicense, picked, matched, onPickAll }: SlotHeadProps) {
  const shown = COLUMNS.filter(({ label }) => showsLicense || label !== 'License');
  return (
    <div class="grid-head" role="row" aria-rowindex={1}>
      <span role="columnheader">
        {may(FREEING) && (
          <input
            type="checkbox"
            aria-label="Select all"
            checked={picked > 0 && picked >= Math.min(matched, MAX_PICKED)}
            indeterminate={picked > 0 && picked < Math.min(matched, MAX_PICKED)}
            onClick={onPickAll}
          />
        )}
      </span>
      {shown.map((column) => (
        <HeadCell key={column.label} column={column} filters={filters} />
      ))}
      <span role="columnheader">
        <span class="hidden-text">Actions</span>
      </span>
    </div>
  );
}

function HeadCell({ column, filters }: { readonly column: Column; readonly filters: Filters }) {
  const { label, sort, isNumber = false } = column;
  const isSorted = sort !== undefined && filters.sort === sort;
  const isDown = filters.direction === 'down';
  const order = isSorted ? (isDown ? 'descending' : 'ascending') : undefined;
  return (
    <span role="columnheader" class={isNumber ? 'number' : ''} aria-sort={order}>
      {sort === undefined ? (
        label
      ) : (
        <button
          type="button"
          class="sort"
          onClick={() => setParams({ sort, direction: isSorted && !isDown ? 'down' : null }, true)}
        >
          {label}
          {isSorted && (isDown ? ' ↓' : ' ↑')}
        </button>
      )}
    </span>
  );
}

const KEYS: readonly (readonly [keys: string, meaning: string, needs?: OperationKey])[] = [
  ['J K', 'move'],
  ['X', 'select', FREEING],
  ['R', 'release or recall', FREEING],
  ['B', 'bar', 'POST /api/admin/bars'],
  ['?', 'all keys'],
];

export function SlotFoot() {
  return (
    <div class="list-foot no-phone">
      {KEYS.filter(([, , needs]) => needs === undefined || may(needs)).map(([keys, meaning]) => (
        <span key={keys}>
          <Keycaps keys={keys} /> {meaning}
        </span>
      ))}
      <span class="end">Times in your zone ({zoneName(readNow())}); point at one for UTC.</span>
    </div>
  );
}
