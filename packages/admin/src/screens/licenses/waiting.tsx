import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { useLicenses, useLine } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name, UserName } from '../../parts/name.tsx';
import { Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
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
        columns={[
          ['Place', 'line-place'],
          'User',
          hasFeatures && 'Waits for',
          ['Why', 'line-why'],
          ['Since', 'number'],
        ]}
        isTall
      >
        {line.slice(0, shown).map((one) => (
          <tr key={`${one.feature} ${one.user}`} class="line-row">
            <td>{formatNumber(one.position)}</td>
            <td class="grow cut">
              <span class="two">
                <UserName user={one.user} />
                <span>{sayWhere(one)}</span>
              </span>
            </td>
            {hasFeatures && (
              <td class="cut">
                <Name text={one.feature ?? name} />
              </td>
            )}
            <td class="wide">
              <Why one={one} licenses={licenses} />
            </td>
            <td class="number">
              <span class="two">
                <Moment at={one.since} />
                <span>{sayWait(one.waited_seconds)}</span>
              </span>
            </td>
          </tr>
        ))}
      </Table>
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

function sayWhere({ os_hostname, address, is_connected }: WaitingUser): string {
  return [os_hostname ?? address ?? [], is_connected ? [] : 'left a moment ago'].flat().join(', ');
}

function Why({ one, licenses }: { readonly one: WaitingUser; readonly licenses: readonly License[] }) {
  const [word, clause] = sayWhy(one, licenses);
  return (
    <span class="two">
      <b>{word}</b>
      <span dir="auto">{clause}</span>
    </span>
  );
}
