import { useStatus } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { Section } from '../../parts/head.tsx';
import { Show } from '../../parts/states.tsx';
import { PlainTable } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatSpan } from '../../words/time.ts';

/** Which server this is, and how it was set up. */
export function ServerSettings() {
  const status = useStatus();
  return (
    <>
      <Show of={status} what="The state of the server">
        {(data) => (
          <TermList>
            <Term name="Version" note={`runs for ${formatSpan(data.uptime_seconds * 1000)}`}>
              Berth {data.version}
            </Term>
            <Term name="Address">{data.url ?? location.origin}</Term>
            <Term name="Data" note={data.database === null ? 'SQLite in this folder' : data.database}>
              <code>{data.data}</code>
            </Term>
            <Term name="Certificate" note={data.tls?.subject}>
              {data.tls === null ? (
                'none, plain HTTP'
              ) : (
                <>
                  good until <Time at={data.tls.valid_until} as="day" />
                </>
              )}
            </Term>
            <Term name="Hardware id">
              <code>{data.hardware_id}</code>
            </Term>
            <Term name="Identity key" note="signs exports, requests and usage files">
              <code>{data.identity_key}</code>
            </Term>
            <Term name="Master key" note={data.master_key.file ?? 'from the environment'}>
              <code>{data.master_key.fingerprint}</code>
            </Term>
          </TermList>
        )}
      </Show>
      <AllSettings />
    </>
  );
}

type Nested = Readonly<Record<string, unknown>>;

function AllSettings() {
  const settings = useResource('/api/admin/settings');
  return (
    <Section
      title="All settings"
      note="from berth.yaml, the environment and flags; restart the server after a change"
    >
      <Show of={settings} what="The settings">
        {(data) => (
          <PlainTable columns={['Name', 'Value']}>
            {flatten(data.settings).map(([name, value]) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td class="sentence-cell">{value === '' ? <span class="quiet">none</span> : value}</td>
              </tr>
            ))}
          </PlainTable>
        )}
      </Show>
    </Section>
  );
}

function flatten(settings: Nested, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return flatten(value as Nested, `${path}.`);
    return [[path, Array.isArray(value) ? value.join(', ') : String(value ?? '')] as const];
  });
}
