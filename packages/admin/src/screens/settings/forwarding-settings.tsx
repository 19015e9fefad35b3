import { useStatus } from '../../data/overview.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { Section } from '../../parts/head.tsx';
import { Show } from '../../parts/states.tsx';
import { DeliveryCounts, DeliveryState } from './delivery.tsx';
import { FixedValue, LiveTerm, SaveBar, useDraft } from './draft.tsx';

/** Where every event of the audit log goes, and whether it arrives. */
export function ForwardingSettings() {
  const status = useStatus();
  const draft = useDraft(status.reload);
  const file = draft.of('eventsFile.path');
  return (
    <Show of={status} what="The state of forwarding">
      {({ syslog, events_file }) => (
        <>
          <p class="second">Every event of the audit log, in order and at least once, for your SIEM.</p>
          <Section title="Syslog">
            <TermList>
              <DeliveryState delivery={syslog} />
              <LiveTerm
                draft={draft}
                name="syslog.url"
                label="Receiver"
                placeholder="tls://siem.example:6514"
                note="RFC 5424 over tls://, tcp:// or udp://"
              />
              <DeliveryCounts delivery={syslog} />
            </TermList>
          </Section>
          <Section title="File">
            <TermList>
              <DeliveryState delivery={events_file} />
              <Term name="Path" note="eventsFile.path in berth.yaml: an event as JSON in each line">
                {file?.value ? <FixedValue setting={file} /> : <span class="quiet">none</span>}
              </Term>
              <DeliveryCounts delivery={events_file} />
            </TermList>
          </Section>
          <SaveBar draft={draft} />
        </>
      )}
    </Show>
  );
}
