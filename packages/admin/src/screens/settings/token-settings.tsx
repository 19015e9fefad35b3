import type { Token } from '@berth/protocol/admin/tokens';
import type { Role } from '@berth/protocol/admin/users';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { ask, Dialog } from '../../parts/dialog.tsx';
import { Choose, Field } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { Name } from '../../parts/name.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { readProducts, sayRole } from '../../words/role.ts';
import { CreateButton, ProductsField, ShownOnce } from './create-parts.tsx';
import { ROLE_CHOICES } from './user-settings.tsx';

const KINDS = { auth: 'from /auth', session: 'browser', api: 'created' } as const;

/** Tokens of programs and sessions of browsers; their values are nowhere to be seen. */
export function TokenSettings() {
  const tokens = useResource('/api/admin/tokens', {}, { isLive: true });
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <CreateButton
        label="Create a token"
        needs="POST /api/admin/tokens/create"
        onClick={() => setCreating(true)}
      />
      <Show of={tokens} what="The tokens">
        {(data) => (
          <TokenTable tokens={data.tokens.filter(({ is_alive }) => is_alive)} onChange={tokens.reload} />
        )}
      </Show>
      {isCreating && (
        <CreateToken
          onClose={() => {
            setCreating(false);
            tokens.reload();
          }}
        />
      )}
    </>
  );
}

interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly onChange: () => void;
}

function TokenTable({ tokens, onChange }: TokenTableProps) {
  if (tokens.length === 0) {
    return (
      <Empty title="There are no tokens">
        <p>Create one for a program that uses the API, such as a build server.</p>
      </Empty>
    );
  }
  return (
    <Table
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        ['Name', (token) => <Name text={nameOf(token)} isStrong />, 'grow cut'],
        ['Kind', ({ kind }) => KINDS[kind]],
        ['Role', sayRole, 'cut'],
        ['Last used', ({ used_at }) => <Time at={used_at} none="never" />],
        ['Ends', ({ expires_at }) => <Time at={expires_at} none="never" />],
      ]}
      actions={(token) => (
        <Button as="link" needs="POST /api/admin/tokens/revoke" onClick={() => askToRevoke(token, onChange)}>
          Revoke…
        </Button>
      )}
    />
  );
}

function nameOf({ name, account, id }: Token): string {
  return name ?? account ?? id;
}

function askToRevoke(token: Token, onChange: () => void): void {
  const name = nameOf(token);
  ask({
    title: token.kind === 'session' ? 'End this session?' : 'Revoke this token?',
    text: 'It stops working at once.',
    facts: [
      ['Token', name],
      ['Role', sayRole(token)],
    ],
    after: 'This cannot be undone.',
    verb: token.kind === 'session' ? 'End session' : 'Revoke token',
    act: async () => {
      await post('/api/admin/tokens/revoke', { id: token.id });
      onChange();
      showToast(`${name} was revoked.`);
    },
  });
}

const DAYS: readonly (readonly [string, string])[] = [
  ['90', '90 days'],
  ['365', '365 days'],
  ['never', 'never'],
];

function CreateToken({ onClose }: { readonly onClose: () => void }) {
  const { fields, typed, chosen } = useFields({ name: '', role: 'user' as Role, products: '', days: '365' });
  const [fault, setFault] = useState<string | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const send = async () => {
    const { role, days } = fields;
    const name = fields.name.trim();
    setFault(name === '' ? 'Say what it is for.' : null);
    if (name === '') return;
    const wish = { name, role, products: readProducts(role, fields.products), days };
    setToken((await post('/api/admin/tokens/create', wish)).token);
  };
  if (token !== null) {
    return (
      <ShownOnce
        title="The new token"
        about="It is shown only now. Programs send it as “Authorization: Bearer …”."
        secret={token}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <Form verb="Create token" failure="The token was not created." onSend={send} onCancel={onClose}>
        <Field label="What it is for" {...typed('name')} fault={fault} isFirst placeholder="build server" />
        <Choose label="Role" {...chosen('role')} choices={ROLE_CHOICES} />
        {fields.role === 'operator' && <ProductsField {...typed('products')} />}
        <Choose label="Ends after" {...chosen('days')} choices={DAYS} />
      </Form>
    </Dialog>
  );
}
