import type { License } from '@berth/protocol/admin/licenses';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readNow } from '../clock.ts';
import { setParams } from '../data/route.ts';
import { readRange, sayRange, writeDay } from '../words/date-range.ts';
import { nameOf } from '../words/judge-license.ts';
import { DAY_MS } from '../words/time.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { Form } from './form.tsx';
import { Icon } from './icon.tsx';
import { MenuButton, type MenuItem } from './menu.tsx';

interface ChipProps {
  readonly label: string;
  /** The parameter in the address. */
  readonly name: string;
  readonly value: string | null;
  readonly choices: readonly (readonly [value: string, text: string])[];
  /** What else can be chosen, such as in a dialog. */
  readonly more?: readonly MenuItem[];
  /** One of the choices must be chosen. */
  readonly isRequired?: boolean;
}

/** A filter that lives in the address, so that a link or a reload keeps it. */
export function FilterChip({ label, name, value, choices, more = [], isRequired = false }: ChipProps) {
  const chosen = choices.find(([choice]) => choice === value)?.[1] ?? value;
  const items = [
    ...(isRequired
      ? []
      : [{ label: 'Any', isChosen: value === null, act: () => setParams({ [name]: null }) }, null]),
    ...choices.map(([choice, text]) => ({
      label: text,
      isChosen: choice === value,
      act: () => setParams({ [name]: choice }),
    })),
    ...more,
  ];
  return (
    <MenuButton
      label={`${label}: ${chosen ?? 'any'}`}
      className={`chip${value === null ? '' : ' on'}`}
      items={items}
      isRadio
    >
      {label} <b dir="auto">{chosen ?? 'Any'}</b>
      <Icon name="down" size={12} />
    </MenuButton>
  );
}

/** A filter for a time: one of the choices, or any days. */
export function PeriodChip({ label, name, value, choices }: ChipProps) {
  const [isOpen, setOpen] = useState(false);
  const range = readRange(value);
  const own = range === null || value === null ? [] : [[value, sayRange(range, readNow())] as const];
  return (
    <>
      <FilterChip
        {...{ label, name, value }}
        choices={[...choices, ...own]}
        more={[{ label: 'Choose days…', act: () => setOpen(true) }]}
      />
      {isOpen && (
        <RangeDialog
          value={value}
          onChoose={(chosen) => setParams({ [name]: chosen })}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

interface RangeDialogProps {
  /** What is chosen now, as `readRange` reads it, or anything else. */
  readonly value: string | null;
  readonly onChoose: (range: string) => void;
  readonly onClose: () => void;
}

/** Asks for the first and the last day of a period. */
export function RangeDialog({ value, onChoose, onClose }: RangeDialogProps) {
  const chosen = readRange(value);
  const now = readNow();
  const [from, setFrom] = useState(writeDay(chosen?.since ?? now - 7 * DAY_MS));
  const [to, setTo] = useState(writeDay(chosen === null ? now : chosen.until - 1));
  const [fault, setFault] = useState<string | null>(null);
  const choose = () => {
    if (from === '' || to === '') return setFault('Choose both days.');
    if (from > to) return setFault('The last day must not be before the first.');
    onClose();
    onChoose(`${from}..${to}`);
  };
  return (
    <Dialog title="Choose a period" onClose={onClose}>
      <Form verb="Show this period" failure="The period was not chosen." onSend={choose} onCancel={onClose}>
        <div class="columns equal">
          <Field label="First day" type="date" value={from} onInput={setFrom} isFirst />
          <Field label="Last day" type="date" value={to} onInput={setTo} fault={fault} />
        </div>
      </Form>
    </Dialog>
  );
}

interface LicenseChipProps {
  readonly licenses: readonly License[];
  readonly value: string | null;
}

export function LicenseChip({ licenses, value }: LicenseChipProps) {
  const choices = licenses.map((license) => [String(license.id), nameOf(license)] as const);
  return <FilterChip label="License" name="license" value={value} choices={choices} />;
}

interface SearchProps {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

const TYPING_MS = 200;

/** Searches when typing pauses. `/` goes there. */
export function SearchField({ label, value, onSearch }: SearchProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef(value);
  // The address changed for another reason than typing here; typing may have gone on meanwhile.
  useEffect(() => {
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        data-search
        aria-label={label}
        placeholder={label}
        value={text}
        spellcheck={false}
        onInput={(event) => {
          const typed = event.currentTarget.value;
          setText(typed);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            sent.current = typed.trim();
            onSearch(sent.current);
          }, TYPING_MS);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.currentTarget.blur();
        }}
      />
      <span class="keycap" aria-hidden="true">
        /
      </span>
    </div>
  );
}

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}

export function Segments<T extends string>({ label, value, choices, onChange }: SegmentsProps<T>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([choice, text]) => (
        <button key={choice} type="button" aria-pressed={choice === value} onClick={() => onChange(choice)}>
          {text}
        </button>
      ))}
    </div>
  );
}
