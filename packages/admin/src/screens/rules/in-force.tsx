import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { SlotBar, SlotLegend } from '../../parts/slot-bar.tsx';
import {
  countUnruled,
  isRefusing,
  listReserved,
  listRuled,
  type Rule,
  type RuledProduct,
  SHOWN_PRODUCTS,
  sayRecord,
} from '../../words/rules.ts';
import { formatClock, plural } from '../../words/time.ts';
import { LineLink } from './editor.tsx';
import { Sentence } from './sentence.tsx';

interface InForceProps {
  readonly rules: readonly Rule[];
  readonly licenses: readonly License[];
}

/** What the rules do now, product by product. */
export function InForce({ rules, licenses }: InForceProps) {
  const [isOpen, setOpen] = useState(false);
  const products = listRuled(rules, licenses);
  const shown = isOpen ? products : products.slice(0, SHOWN_PRODUCTS);
  const others = countUnruled(rules, licenses);
  const left = products.length - shown.length;
  return (
    <Section title="In force" note={`now, ${formatClock(readNow())}`} end={<SlotLegend hasReserved />}>
      <ul class="in-force">
        {shown.map((one) => (
          <ProductLine key={one.product} one={one} />
        ))}
        {others > 0 && (
          <li>
            <b>{products.length === 0 ? 'All products' : plural(others, 'other product')}</b>
            <span class="quiet">no rules</span>
            <span>Whoever asks first gets a slot.</span>
          </li>
        )}
      </ul>
      {left > 0 && (
        <p class="gap-small">
          <Button as="link" onClick={() => setOpen(true)}>
            Show {plural(left, 'more product')}
          </Button>
        </p>
      )}
    </Section>
  );
}

function ProductLine({ one }: { readonly one: RuledProduct }) {
  const { product, slots, inUse, borrowed, rules } = one;
  return (
    <li>
      <Name text={product} isStrong />
      {slots === 0 ? (
        <span class="quiet">no license</span>
      ) : (
        <span>
          <SlotBar {...{ slots, inUse, borrowed }} reserved={listReserved(rules, product)} />
        </span>
      )}
      <ul>
        {rules.map((rule, index) => (
          <li key={index}>
            <Sentence rule={rule} slots={slots} isLoud={isRefusing(rule, one)} />{' '}
            <span class="small quiet">
              {sayRecord(rule)}
              {sayRecord(rule) !== '' && ', '}
              <LineLink line={rule.line} />
            </span>
          </li>
        ))}
      </ul>
    </li>
  );
}
