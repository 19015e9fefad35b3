import type { LicenseObject } from '@berth/protocol/api/license-object';
import type { ComponentChildren } from 'preact';
import { ButtonLink } from '../../parts/button.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';

export interface WayProps {
  readonly added: LicenseObject | null;
  readonly onAdded: (license: LicenseObject | null) => void;
}

interface TwoColumnsProps {
  readonly travels: readonly Travel[];
  readonly children: ComponentChildren;
}

/** Something that goes one way between this server and the vendor. */
export interface Travel {
  readonly what: string;
  readonly way: 'in' | 'out';
  readonly is: 'done' | 'now' | 'later';
}

/** The steps, and beside them what travels and which way. */
export function WayColumns({ travels, children }: TwoColumnsProps) {
  return (
    <div class="columns">
      <ol class="steps">{children}</ol>
      <aside class="travel" aria-label="What travels, and which way">
        <h3>What travels, and which way</h3>
        <ol>
          {travels.map(({ what, way, is }) => (
            <li key={what} class={is}>
              <b>{what}</b>
              {way === 'out' ? 'This server → the vendor' : 'The vendor → this server'}
              {is === 'done' ? ', done' : is === 'now' ? ', you are here' : ''}
            </li>
          ))}
        </ol>
      </aside>
    </div>
  );
}

/** The last step of every way. */
export function Done({ license }: { readonly license: LicenseObject }) {
  return (
    <>
      <p class="step-lead">
        <b>
          <bdi>{nameOf(license)}</bdi>
        </b>{' '}
        has {formatNumber(license.floating_users)} slots. Applications can take them now.
      </p>
      <p class="done-line">
        <ButtonLink as="primary" to={`licenses/${license.license_id}`}>
          See the license
        </ButtonLink>
        <ButtonLink to="licenses/add" onClick={() => location.reload()}>
          Add another one
        </ButtonLink>
      </p>
    </>
  );
}
