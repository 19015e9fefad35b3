import { useState } from 'preact/hooks';
import { readNow } from '../clock.ts';
import { readRange, writeDay } from '../words/date-range.ts';
import { DAY_MS } from '../words/time.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { Form } from './form.tsx';

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
