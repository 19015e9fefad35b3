import type { LicenseObject } from '@berth/protocol/api/license-object';
import { useState } from 'preact/hooks';
import { linkTo, setParams, usePlace } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Empty } from '../../parts/states.tsx';
import { ByCodes } from './by-codes.tsx';
import { ByFile } from './by-file.tsx';
import { Online } from './online.tsx';

const WAYS = [
  { way: 'online', title: 'Online, by key', about: 'This server reaches the vendor’s cloud.', Steps: Online },
  { way: 'file', title: 'By file', about: 'A request goes out, a license file comes back.', Steps: ByFile },
  { way: 'codes', title: 'By codes', about: 'Nothing leaves but what people type.', Steps: ByCodes },
] as const;

/** Where am I on the way, what travels next? */
export function AddLicense() {
  const { params } = usePlace();
  const { way: chosen, Steps } = WAYS.find(({ way }) => way === params.get('way')) ?? WAYS[0];
  const [added, setAdded] = useState<LicenseObject | null>(null);
  const [turn, setTurn] = useState(0);
  if (!may('POST /api/v4/addProduct')) {
    return (
      <Empty title="Only administrators add licenses">
        <p>Your account can see them.</p>
      </Empty>
    );
  }
  const again = () => {
    setAdded(null);
    setTurn(turn + 1);
  };
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
        {WAYS.map(({ way, title, about }) => (
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
      <Steps key={`${chosen} ${turn}`} added={added} onAdded={setAdded} onAgain={again} />
    </div>
  );
}
