import { TermList } from '../../parts/facts.tsx';
import { Section } from '../../parts/head.tsx';
import { Show } from '../../parts/states.tsx';
import { type Draft, LiveTerm, SaveBar, useDraft } from './draft.tsx';

const LIMITS = [
  ['limits.newSlotsPerHour', 'New slots per hour'],
  ['http.clientRequestsPerMinute', 'Requests per minute'],
] as const;

const NOTICES = [
  ['notices.slotsPercent', 'Slots in use, %'],
  ['notices.consumptionPercent', 'Consumption, %'],
  ['notices.expiryDays', 'Days before an end'],
  ['notices.cloudMinutes', 'Cloud away, minutes'],
  ['notices.diskFreeMegabytes', 'Free disk, MB'],
] as const;

/** What one address may take, and when the audit log and the webhook report something. */
export function LimitSettings() {
  const draft = useDraft();
  return (
    <Show of={draft} what="The settings">
      {() => (
        <>
          <Section title="Limits" note="of one address">
            <Numbers draft={draft} list={LIMITS} />
          </Section>
          <Section title="Notices" note="in the audit log, and to the webhook">
            <Numbers draft={draft} list={NOTICES} />
          </Section>
          <SaveBar draft={draft} />
        </>
      )}
    </Show>
  );
}

interface NumbersProps {
  readonly draft: Draft;
  readonly list: readonly (readonly [name: string, label: string])[];
}

function Numbers({ draft, list }: NumbersProps) {
  return (
    <TermList>
      {list.map(([name, label]) => (
        <LiveTerm key={name} draft={draft} name={name} label={label} isShort note={draft.of(name)?.about} />
      ))}
    </TermList>
  );
}
