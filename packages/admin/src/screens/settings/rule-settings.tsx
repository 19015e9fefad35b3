import type { Bar } from '@berth/protocol/admin/bars';
import { useState } from 'preact/hooks';
import { type ApiError, toApiError } from '../../data/api.ts';
import { addBar, removeBar, useBars } from '../../data/bars.ts';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { Choose, Field } from '../../parts/field.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { ErrorBox, Show } from '../../parts/states.tsx';
import { PlainTable } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';

/** The rules in force, and who is barred besides them. */
export function RuleSettings() {
  const rules = useResource('/api/admin/rules', {}, { isLive: true });
  const { bars, canBar, reload } = useBars();
  return (
    <>
      {bars !== null && <Bars bars={bars} canBar={canBar} onChange={reload} />}
      <Section title="Rules" note="“berth rules edit” changes them">
        <Show of={rules} what="The rules">
          {(data) => (
            <>
              <TermList>
                <Term name="Revision">{data.revision === 0 ? 'there are none' : data.revision}</Term>
                <Term name="Since">
                  <Time at={data.at} none="there are none" />
                </Term>
                {data.file !== null && (
                  <Term name="File" note={data.file_error}>
                    <code>{data.file}</code>
                  </Term>
                )}
              </TermList>
              {data.text !== '' && <pre>{data.text}</pre>}
            </>
          )}
        </Show>
      </Section>
    </>
  );
}

interface BarsProps {
  readonly bars: readonly Bar[];
  readonly canBar: boolean;
  readonly onChange: () => void;
}

function Bars({ bars, canBar, onChange }: BarsProps) {
  const [error, setError] = useState<ApiError | null>(null);
  const lift = async ({ kind, pattern }: Bar) => {
    setError(null);
    try {
      await removeBar(kind, pattern);
    } catch (failure) {
      return setError(toApiError(failure));
    }
    onChange();
    showToast(`${pattern} is no longer barred.`, async () => {
      await addBar(kind, pattern);
      onChange();
    });
  };
  return (
    <Section
      title="Barred here"
      note="from this page or with “berth bar”; existing slots stay until they end"
    >
      {bars.length === 0 ? (
        <p class="quiet">Nobody is barred.</p>
      ) : (
        <PlainTable columns={['Who', 'Kind', 'Since', 'By']} hasActions>
          {bars.map((bar) => (
            <tr key={`${bar.kind} ${bar.pattern}`}>
              <td class="cut">
                <Name text={bar.pattern} isStrong />
              </td>
              <td>{bar.kind}</td>
              <td>
                <Time at={bar.at ?? null} />
              </td>
              <td class="cut">{bar.by == null ? '–' : <Name text={bar.by} />}</td>
              <td class="right">
                {canBar && (
                  <Button as="link" onClick={() => lift(bar)}>
                    Lift the bar
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
      {error !== null && <ErrorBox title="The bar was not lifted." error={error} />}
      {canBar && <BarForm onChange={onChange} />}
    </Section>
  );
}

const KINDS: readonly (readonly [Bar['kind'], string])[] = [
  ['user', 'User'],
  ['host', 'Host'],
  ['address', 'Address or range'],
];

function BarForm({ onChange }: { readonly onChange: () => void }) {
  const [kind, setKind] = useState<string>('user');
  const [pattern, setPattern] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const { error, submit } = useSend(async () => {
    setFault(pattern.trim() === '' ? 'Say whom to bar.' : null);
    if (pattern.trim() === '') return;
    const wish = [kind as Bar['kind'], pattern.trim()] as const;
    await addBar(...wish);
    setPattern('');
    onChange();
    showToast(`${wish[1]} is barred from all licenses.`, async () => {
      await removeBar(...wish);
      onChange();
    });
  });
  return (
    <form class="form gap" onSubmit={submit} noValidate>
      <Choose label="Bar a" value={kind} choices={KINDS} onChange={setKind} />
      <Field
        label="Name or pattern"
        value={pattern}
        onInput={setPattern}
        fault={fault}
        hint="An asterisk stands for anything: lab-*"
      />
      {error !== null && <ErrorBox title="Nobody was barred." error={error} />}
      <Button isSubmit>Bar</Button>
    </form>
  );
}
