import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useBars } from '../../data/bars.ts';
import { useLicenses } from '../../data/overview.ts';
import { setParams, usePlace } from '../../data/route.ts';
import { Button } from '../../parts/button.tsx';
import { FilterChip, LicenseChip, SearchField } from '../../parts/filters.tsx';
import { PageHead } from '../../parts/head.tsx';
import { useKeys } from '../../parts/keys.tsx';
import { ErrorBox, Loading } from '../../parts/states.tsx';
import { useIsNarrow, VirtualRows } from '../../parts/virtual-rows.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { plural } from '../../words/time.ts';
import { ExportButton } from './export-slots.tsx';
import { NoSlots } from './no-slots.tsx';
import { MAX_PICKED, type PickedSlots, usePicked } from './picked-slots.ts';
import { askToBar, askToFree, askToFreeAll, FREEING } from './slot-actions.ts';
import { SlotDialog } from './slot-dialog.tsx';
import { type Filters, NO_FILTERS, queryOf, readFilters } from './slot-filters.ts';
import { SlotFoot, SlotHead } from './slot-head.tsx';
import { keyOf, SlotRow } from './slot-row.tsx';
import { type SlotWindow, useSlotWindow } from './slot-window.ts';

/** Who holds what, until when? */
export function Slots() {
  const { params } = usePlace();
  const licenses = useLicenses().data?.licenses ?? [];
  const filters = readFilters(params);
  return (
    <div class="content wide">
      <SlotsHead licenses={licenses} filters={filters} />
      <SlotList licenses={licenses} filters={filters} />
    </div>
  );
}

interface ListProps {
  readonly licenses: readonly License[];
  readonly filters: Filters;
}

function SlotsHead({ licenses, filters }: ListProps) {
  const held = licenses.reduce((sum, { floating_in_use }) => sum + floating_in_use, 0);
  const lent = licenses.reduce((sum, { borrowed }) => sum + borrowed, 0);
  const full = licenses.filter(({ floating_in_use: used, floating_users: all }) => all > 0 && used >= all);
  const borrowed = lent === 0 ? 'none borrowed' : `${formatNumber(lent)} borrowed`;
  const [first] = full;
  const shortage =
    first === undefined
      ? ''
      : full.length === 1
        ? ` ${nameOf(first)} has none free.`
        : ` ${full.length} licenses have none free.`;
  return (
    <PageHead
      title="Slots"
      lead={licenses.length > 0 && `${plural(held, 'slot is', 'slots are')} held, ${borrowed}.${shortage}`}
    >
      <ExportButton filters={filters} />
    </PageHead>
  );
}

const ROW_HEIGHT = 36;
const NARROW_HEIGHT = 60;

function SlotList({ licenses, filters }: ListProps) {
  const list = useSteadyWindow(useSlotWindow(queryOf(filters)));
  const { canBar, reload: reloadBars } = useBars();
  const picked = usePicked(filters);
  const [opened, setOpened] = useState<Slot | null>(null);
  const cursor = useCursor(list.matched ?? 0, JSON.stringify(filters));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const current = list.find(cursor.index);
  const free = (slot: Slot) => askToFree(slot, byId, () => list.reload());
  const bar = (slot: Slot) => canBar && askToBar(slot.user, reloadBars);
  const freeAll = () =>
    askToFreeAll([...picked.slots.values()], () => {
      picked.clear();
      list.reload();
    });
  useKeys({
    j: () => cursor.move(1),
    k: () => cursor.move(-1),
    x: () => current !== undefined && picked.pick(current, cursor.index, false),
    'Ctrl a': () => picked.pickAll(list.matched ?? 0),
    r: () => (picked.slots.size > 0 ? freeAll() : current !== undefined && free(current)),
    b: () => current !== undefined && bar(current),
    Enter: (event) => !isOnButton(event) && current !== undefined && setOpened(current),
  });
  const acts = { free, bar, open: setOpened };
  return (
    <>
      <Filtering licenses={licenses} filters={filters} matched={list.matched} />
      {picked.slots.size > 0 && (
        <PickedBar count={picked.slots.size} onFree={freeAll} onClear={picked.clear} />
      )}
      {list.error !== null && (
        <ErrorBox title="The slots could not be read." error={list.error} onRetry={() => list.reload()} />
      )}
      {list.matched === null && list.error === null && <Loading rows={12} />}
      {list.matched === 0 && <NoSlots licenses={licenses} filters={filters} />}
      {list.matched !== null && list.matched > 0 && (
        <SlotGrid list={list} filters={filters} byId={byId} {...{ cursor, picked, canBar, acts }} />
      )}
      <SlotFoot />
      {opened !== null && (
        <SlotDialog
          slot={opened}
          license={byId.get(opened.license_id)}
          onClose={() => setOpened(null)}
          onFree={() => {
            setOpened(null);
            free(opened);
          }}
        />
      )}
    </>
  );
}

/** Shows the rows before until the new ones are there, so that nothing flickers during typing. */
function useSteadyWindow(list: SlotWindow): SlotWindow {
  const shown = useRef(list);
  if (list.matched !== null || list.error !== null) shown.current = list;
  return shown.current;
}

interface SlotGridProps {
  readonly list: SlotWindow;
  readonly filters: Filters;
  readonly byId: ReadonlyMap<number, License>;
  readonly cursor: ReturnType<typeof useCursor>;
  readonly picked: PickedSlots;
  readonly canBar: boolean;
  readonly acts: Readonly<Record<'free' | 'bar' | 'open', (slot: Slot) => unknown>>;
}

function SlotGrid({ list, filters, byId, cursor, picked, canBar, acts }: SlotGridProps) {
  const isNarrow = useIsNarrow();
  const showsLicense = filters.license === null;
  const matched = list.matched ?? 0;
  const draw = (index: number, top: number) => {
    const slot = list.find(index);
    if (slot === undefined) return <WaitingRow key={index} top={top} />;
    return (
      <SlotRow
        key={keyOf(slot)}
        slot={slot}
        index={index}
        top={top}
        license={byId.get(slot.license_id)}
        showsLicense={showsLicense}
        isCurrent={index === cursor.index}
        isPicked={picked.slots.has(keyOf(slot))}
        canBar={canBar}
        onPoint={() => cursor.set(index)}
        onPick={(isRange) => picked.pick(slot, index, isRange)}
        onFree={() => acts.free(slot)}
        onBar={() => acts.bar(slot)}
        onOpen={() => acts.open(slot)}
      />
    );
  };
  return (
    <div
      class={`grid slots-grid${showsLicense ? ' with-license' : ''}`}
      role="table"
      aria-label="Slots"
      aria-rowcount={matched + 1}
    >
      <SlotHead
        filters={filters}
        showsLicense={showsLicense}
        picked={picked.slots.size}
        matched={matched}
        onPickAll={() => picked.pickAll(matched)}
      />
      <VirtualRows
        count={matched}
        rowHeight={isNarrow ? NARROW_HEIGHT : ROW_HEIGHT}
        onShow={(from, to) => list.show(from, to)}
        render={draw}
      />
    </div>
  );
}

/** In the place of a row that is being fetched. */
function WaitingRow({ top }: { readonly top: number }) {
  return (
    <div role="row" class="grid-row waiting" style={{ top: `${top}px` }}>
      <span role="cell" class="hidden-text">
        Loading
      </span>
    </div>
  );
}

function isOnButton({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest('a, button, input') !== null;
}

/** The row that keys act on. */
function useCursor(count: number, list: string) {
  const [index, setIndex] = useState(0);
  useEffect(() => setIndex(0), [list]);
  const wantsFocus = useRef(false);
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const row = document.querySelector<HTMLElement>(`[data-row="${index}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: 'nearest' });
  }, [index]);
  return {
    index,
    set: setIndex,
    move: (by: number) => {
      wantsFocus.current = true;
      setIndex(Math.max(0, Math.min(count - 1, index + by)));
    },
  };
}

function Filtering({ licenses, filters, matched }: ListProps & { readonly matched: number | null }) {
  const { license, state, feature, search } = filters;
  const total = licenses.reduce((sum, { floating_in_use }) => sum + floating_in_use, 0);
  const hasFilter = license !== null || state !== null || feature !== null || search !== '';
  const chosen = licenses.filter(({ id }) => license === null || String(id) === license);
  const features = new Map(
    chosen.flatMap(({ product_features }) =>
      product_features
        .filter(({ is_floating }) => is_floating)
        .map(({ code, name }) => [code, name || code] as const),
    ),
  );
  return (
    <div class="filters">
      <SearchField
        label="User, host or address"
        value={search}
        onSearch={(text) => setParams({ search: text }, true)}
      />
      <LicenseChip licenses={licenses} value={license} />
      <FilterChip
        label="State"
        name="state"
        value={state}
        choices={[
          ['in_use', 'In use'],
          ['borrowed', 'Borrowed'],
        ]}
      />
      {features.size > 0 && (
        <FilterChip label="Feature" name="feature" value={feature} choices={[...features]} />
      )}
      {hasFilter && (
        <Button as="link" onClick={() => setParams(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
      <span class="end" role="status">
        {matched !== null && (
          <>
            <b>{formatNumber(matched)}</b>
            {hasFilter && ` of ${formatNumber(Math.max(total, matched))}`}
            {matched === 1 && !hasFilter ? ' slot' : ' slots'}
          </>
        )}
      </span>
    </div>
  );
}

interface PickedBarProps {
  readonly count: number;
  readonly onFree: () => void;
  readonly onClear: () => void;
}

function PickedBar({ count, onFree, onClear }: PickedBarProps) {
  return (
    <div class="picked-bar">
      <span class="grow">
        <b>{formatNumber(count)}</b> selected
        {count === MAX_PICKED && ', the most at once'}
      </span>
      <Button needs={FREEING} onClick={onFree}>
        Release or recall…
      </Button>
      <Button as="plain" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  );
}
