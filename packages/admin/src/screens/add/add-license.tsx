import type { LicenseObject } from '@berth/protocol/api/license-object';
import { useState } from 'preact/hooks';
import { linkTo, setParams, usePlace } from '../../data/route.ts';
import { isAdmin } from '../../data/session.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Empty } from '../../parts/states.tsx';
import { ByCodes } from './by-codes.tsx';
import { ByFile } from './by-file.tsx';
import { Online } from './online.tsx';

type Way = 'online' | 'file' | 'codes';

const WAYS: readonly (readonly [Way, string, string])[] = [
  ['online', 'Online, by key', 'This server reaches the vendor’s cloud.'],
  ['file', 'By file', 'A request goes out, a license file comes back.'],
  ['codes', 'By codes', 'Nothing leaves but what people type.'],
];

/** Where am I on the way, what travels next? */
export function AddLicense() {
  const { params } = usePlace();
  const chosen = WAYS.find(([way]) => way === params.get('way'))?.[0] ?? 'online';
  const [added, setAdded] = useState<LicenseObject | null>(null);
  if (!isAdmin()) {
    return (
      <Empty title="Only administrators add licenses">
        <p>Your account can see licenses and release slots.</p>
      </Empty>
    );
  }
  const crumbs = (
    <>
      <a href={linkTo('licenses')}>Licenses</a> / Add a license
    </>
  );
  return (
    <div class="content">
      <PageHead title="Add a license" lead="How does it get to this server?" crumbs={crumbs}>
        <ButtonLink to="licenses">{added === null ? 'Cancel' : 'Close'}</ButtonLink>
      </PageHead>
      <fieldset class="choices">
        <legend class="hidden-text">How does it get to this server?</legend>
        {WAYS.map(([way, title, about]) => (
          <label key={way} class="choice">
            <input
              type="radio"
              name="way"
              value={way}
              checked={way === chosen}
              onChange={() => {
                setAdded(null);
                setParams({ way });
              }}
            />
            <b>{title}</b>
            <small>{about}</small>
          </label>
        ))}
      </fieldset>
      {chosen === 'online' && <Online added={added} onAdded={setAdded} />}
      {chosen === 'file' && <ByFile added={added} onAdded={setAdded} />}
      {chosen === 'codes' && <ByCodes added={added} onAdded={setAdded} />}
    </div>
  );
}
