import type { Setting } from '@berth/protocol/admin/settings';
import { useStatus } from '../../data/overview.ts';
import { sayValue, useSettings } from '../../data/settings.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
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

function AllSettings() {
  const settings = useSettings();
  return (
    <Section title="All settings" note="flags count before the environment, berth.yaml and what is set here">
      <Show of={settings} what="The settings">
        {(data) => (
          <Table
            rows={data.settings}
            keyOf={({ name }) => name}
            columns={[
              ['Name', drawName, 'whole'],
              ['Value', ({ value }) => sayValue(value) || <span class="quiet">none</span>, 'sentence-cell'],
              ['From', drawOrigin, 'sentence-cell'],
            ]}
          />
        )}
      </Show>
    </Section>
  );
}

/** Pointing anywhere at it says what it is about. */
function drawName({ name, about }: Setting) {
  return (
    <div title={about}>
      <code>{name}</code>
    </div>
  );
}

/** Where a value comes from, and who changed it. */
function drawOrigin({ source, place, changed_by, changed_at }: Setting) {
  if (source === 'default') return <span class="quiet">default</span>;
  if (source !== 'stored') return <code>{place}</code>;
  return (
    <>
      set by <Name text={changed_by ?? ''} />, <Time at={changed_at} />
    </>
  );
}
