import type { Status } from '@berth/protocol/admin/status';
import type { LicenseObject } from '@berth/protocol/api/license-object';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { Command, Show } from '../../parts/states.tsx';
import { Step } from '../../parts/step.tsx';
import { Done, placeOf, type Travel, WayColumns, type WayProps } from './way.tsx';

/** By its key, or by the account it was issued to. */
export function Online(props: WayProps) {
  const status = useStatus();
  return (
    <Show of={status} what="The state of the server">
      {(data) => <OnlineSteps {...props} status={data} onKeys={status.reload} />}
    </Show>
  );
}

interface OnlineProps extends WayProps {
  readonly status: Status;
  readonly onKeys: () => void;
}

function OnlineSteps({ status, added, onAdded, onAgain, onKeys }: OnlineProps) {
  const { state } = status.cloud;
  const isReady = state !== 'not_configured' && state !== 'no_keys';
  const step = added !== null ? 3 : isReady ? 2 : 1;
  const is = (number: number) => placeOf(number, step);
  const travels: readonly Travel[] = [
    { what: 'License key, hardware id', way: 'out', is: step === 3 ? 'done' : step === 2 ? 'now' : 'later' },
    { what: 'The license, signed', way: 'in', is: step === 3 ? 'done' : 'later' },
  ];
  return (
    <WayColumns travels={travels}>
      <Step number={1} title="Connect to the vendor’s cloud" is={is(1)}>
        {step === 1 ? <Connect status={status} onKeys={onKeys} /> : <p class="done-line">Ready.</p>}
      </Step>
      <Step number={2} title="Type the license key" is={is(2)}>
        {step === 2 && <KeyForm onAdded={onAdded} />}
        {added !== null && <p class="done-line">Activated.</p>}
      </Step>
      <Step number={3} title="Done: the license is here, and slots can be lent" is={is(3)}>
        {added !== null && <Done license={added} onAgain={onAgain} />}
      </Step>
    </WayColumns>
  );
}

const SETTINGS = `cloud:
  url: https://VENDOR
  publicKey: vendor.pem`;

function Connect({ status, onKeys }: { readonly status: Status; readonly onKeys: () => void }) {
  if (status.cloud.state === 'no_keys') return <CloudKeysForm onSet={onKeys} />;
  return (
    <>
      <p class="step-lead">
        No licensing cloud is configured. Put the address and the public key that the vendor gave you into
        berth.yaml, and start the server again:
      </p>
      <Command text={SETTINGS} />
      <p class="gap second">Without a connection to the vendor, choose “By file” or “By codes” above.</p>
    </>
  );
}

/** The two keys that the vendor gave; they are kept sealed, and only fingerprints are shown. */
export function CloudKeysForm({ onSet }: { readonly onSet: () => void }) {
  const { fields, setFields, typed } = useFields({ api_key: '', shared_key: '' });
  const [fault, setFault] = useState<string | null>(null);
  const send = async () => {
    const { api_key, shared_key } = fields;
    const isEmpty = api_key === '' && shared_key === '';
    setFault(isEmpty ? 'Type at least one of the keys.' : null);
    if (isEmpty) return;
    await post('/api/v4/setKeys', { api_key: api_key || undefined, shared_key: shared_key || undefined });
    setFields({ api_key: '', shared_key: '' });
    onSet();
  };
  return (
    <Form className="form" verb="Set the keys" failure="The keys were not set." onSend={send}>
      <p class="step-lead">
        The vendor gave you two keys. They are kept sealed, and nobody can read them here again.
      </p>
      <Field label="API key" type="password" {...typed('api_key')} fault={fault} />
      <Field label="Shared key" type="password" {...typed('shared_key')} />
    </Form>
  );
}

const BY_KEY = ['product', 'license_key'] as const;
const BY_USER = ['product', 'username', 'password'] as const;

function KeyForm({ onAdded }: { readonly onAdded: (license: LicenseObject) => void }) {
  const [byUser, setByUser] = useState(false);
  const { fields, typed } = useFields({ product: '', license_key: '', username: '', password: '' });
  const [missing, setMissing] = useState<string | null>(null);
  const needed = byUser ? BY_USER : BY_KEY;
  const send = async () => {
    const gap = needed.find((name) => fields[name].trim() === '') ?? null;
    setMissing(gap);
    if (gap !== null) return;
    const { password, ...named } = fields;
    const product = named.product.trim();
    const holder = byUser
      ? { username: named.username.trim(), password }
      : { license_key: named.license_key.trim() };
    onAdded(await post('/api/v4/addProduct', { product, ...holder }));
  };
  const of = (name: keyof typeof fields) => ({
    ...typed(name),
    fault: missing === name ? 'This is missing.' : null,
  });
  const hint = 'The short name of the product, such as cad. The vendor gave it to you with the license.';
  return (
    <Form
      className="form"
      verb="Add the license"
      busyVerb="Asking the vendor…"
      failure="The license was not added."
      onSend={send}
      beside={
        <Button as="link" onClick={() => setByUser(!byUser)}>
          {byUser ? 'Use a license key instead' : 'It was issued to a user, without a key'}
        </Button>
      }
    >
      <Field label="Product code" {...of('product')} hint={hint} isFirst />
      {byUser && <Field label="User at the vendor" {...of('username')} />}
      {byUser && <Field label="Password at the vendor" type="password" {...of('password')} />}
      {!byUser && (
        <Field label="License key" {...of('license_key')} isMono placeholder="AAAA-BBBB-CCCC-DDDD" />
      )}
    </Form>
  );
}
