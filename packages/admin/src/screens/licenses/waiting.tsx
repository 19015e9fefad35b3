import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { useLicenses, useLine } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { Show } from '../../parts/states.tsx';
import { Table, TwoLines } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { groupLine, type Line, sayLineNote, sayWait, sayWhy, type WaitingUser } from '../../words/line.ts';
import { formatNumber } from '../../words/numbers.ts';

const FEW = 10;
/** Who waits for a slot of the license or of its features. */
export function Waiting({ license }: { readonly license: License }) {
  const line = useLine();
  const own = line.data?.line.filter(({ product }) => product === license.product) ?? [];
  const waits = useResource('/api/admin/history/waits', { license: license.id, since: '30d' }).data?.waits;
  const note = own.length === 0 ? undefined : sayLineNote(own.length, waits ?? []);
  return (
    <Section title="Waiting" note={note}>
      <Show of={line} what="The line" rows={1}>
        {(all) => <LineOf license={license} line={own} all={all} />}
      </Show>
    </Section>
  );
}

interface LineOfProps {
  readonly license: License;
  readonly line: readonly WaitingUser[];
  readonly all: Line;
}

function LineOf({ license, line, all }: LineOfProps) {
  const licenses = useLicenses().data?.licenses ?? [];
  const lenders = licenses.filter(({ product }) => product === license.product).length;
  if (line.length === 0) return <p class="quiet">Nobody is waiting.</p>;
  return (
    <>
      {groupLine(line).map((group) => (
        <Group key={group.title} {...group} licenses={licenses} name={nameOf(license)} />
      ))}
      {lenders > 1 && (
        <p class="small quiet gap">The {formatNumber(lenders)} licenses of this product have one line.</p>
      )}
      {all.waiting > all.line.length && (
        <p class="small quiet gap">
          {formatNumber(all.waiting)} wait for all products together. The first{' '}
          {formatNumber(all.line.length)} are listed.
        </p>
      )}
    </>
  );
}

interface GroupProps {
  readonly title: string | null;
  readonly line: readonly WaitingUser[];
  readonly licenses: readonly License[];
  readonly name: string;
}

/** The first of them, and more if asked for. */
function Group({ title, line, licenses, name }: GroupProps) {
  const [shown, setShown] = useState(FEW);
  const hasFeatures = line.some(({ feature }) => feature !== null);
  return (
    <>
      {title !== null && (
        <h3 class="gap">
          {title}, {formatNumber(line.length)}
        </h3>
      )}
      <Table
        rows={line.slice(0, shown)}
        keyOf={({ feature, user }) => `${feature} ${user}`}
        rowClass="line-row"
        isTall
        columns={[
          ['Place', ({ position }) => formatNumber(position), 'line-place'],
          ['User', drawUser, 'grow cut'],
          hasFeatures && ['Waits for', ({ feature }) => <Name text={feature ?? name} />, 'cut'],
          ['Why', (one) => drawWhy(one, licenses), 'wide line-why'],
          ['Since', drawSince, 'number'],
        ]}
      />
      {line.length > shown && (
        <p class="gap">
          <Button as="link" onClick={() => setShown(shown * 5)}>
            Show more
          </Button>
        </p>
      )}
    </>
  );
}

function drawUser({ user, os_hostname, address, is_connected }: WaitingUser) {
  const where = [os_hostname ?? address ?? [], is_connected ? [] : 'left a moment ago'].flat().join(', ');
  return <TwoLines first={<UserName user={user} />} second={where} />;
}

function drawSince({ since, waited_seconds }: WaitingUser) {
  return <TwoLines first={<Moment at={since} />} second={sayWait(waited_seconds)} />;
}

function drawWhy(one: WaitingUser, licenses: readonly License[]) {
  const [word, clause] = sayWhy(one, licenses);
  return <TwoLines first={<b>{word}</b>} second={<bdi>{clause}</bdi>} />;
}
