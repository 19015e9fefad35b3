import { useState } from 'preact/hooks';
import { setParams } from '../../data/route.ts';
import { Picker } from '../../parts/finder.tsx';
import { Icon } from '../../parts/icon.tsx';
import { EVENT_KINDS, sayKind } from '../../words/describe-event.ts';

const ANY = { icon: 'audit', text: 'Any', note: '', kind: null } as const;

const KINDS = EVENT_KINDS.map((kind) => ({ icon: 'audit', text: sayKind(kind), note: '', kind }) as const);

/** Chooses one of the many kinds of events. */
export function KindChip({ value }: { readonly value: string | null }) {
  const [text, setText] = useState<string | null>(null);
  const wish = (text ?? '').trim().toLowerCase();
  const found = [ANY, ...KINDS].filter((one) => one.text.toLowerCase().includes(wish));
  return (
    <>
      <button
        type="button"
        class={`chip${value === null ? '' : ' on'}`}
        aria-haspopup="dialog"
        onClick={() => setText('')}
      >
        Kind <b>{value === null ? 'Any' : value.split(',').map(sayKind).join(', ')}</b>
        <Icon name="down" size={12} />
      </button>
      {text !== null && (
        <Picker
          label="Kind of event"
          text={text}
          found={found}
          onText={setText}
          onPick={({ kind }) => setParams({ kind })}
          onClose={() => setText(null)}
        />
      )}
    </>
  );
}
