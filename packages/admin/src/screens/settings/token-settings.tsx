import type { Token } from '@berth/protocol/admin/tokens';
import type { Role } from '@berth/protocol/admin/users';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { isAdmin } from '../../data/session.ts';
import { ask, Dialog } from '../../parts/dialog.tsx';
import { Choose, Field } from '../../parts/field.tsx';
import { Name } from '../../parts/name.tsx';
import { Empty, ErrorBox, Show } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { CreateButton, FormButtons, ShownOnce } from './create-parts.tsx';
import { ROLES } from './user-settings.tsx';

const KINDS = { auth: 'from /auth', session: 'browser', api: 'created' } as const;

interface TokenList {
  readonly tokens: readonly Token[];
}

/** Tokens of programs and sessions of browsers; their values are nowhere to be seen. */
export function TokenSettings() {
  const tokens = useResource('/api/admin/tokens', {}, { isLive: true });
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <CreateButton label="Create a token" onClick={() => setCreating(true)} />
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

function TokenTable({ tokens, onChange }: TokenList & { readonly onChange: () => void }) {
  if (tokens.length === 0) {
    return (
      <Empty title="There are no tokens">
        <p>Create one for a program that uses the API, such as a build server.</p>
      </Empty>
    );
  }
  return (
    <div class="items">
      <table class="table">
        <TableHead labels={['Name', 'Kind', 'Role', 'Last used', 'Ends']} />
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <td class="grow cut">
                <Name text={token.name ?? token.account ?? token.id} isStrong />
              </td>
              <td>{KINDS[token.kind]}</td>
              <td>{token.role}</td>
              <td>
                <Time at={token.used_at} none="never" />
              </td>
              <td>
                <Time at={token.expires_at} none="never" />
              </td>
              <td class="right">
                {isAdmin() && (
                  <button type="button" class="link" onClick={() => askToRevoke(token, onChange)}>
                    Revoke…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function askToRevoke(token: Token, onChange: () => void): void {
  const name = token.name ?? token.account ?? token.id;
  ask({
    title: token.kind === 'session' ? 'End this session?' : 'Revoke this token?',
    text: 'Whoever uses it is refused from now on.',
    facts: [
      ['Token', name],
      ['Role', token.role],
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
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('user');
  const [days, setDays] = useState('365');
  const [fault, setFault] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setFault(name.trim() === '' ? 'Say what it is for.' : null);
    if (name.trim() === '') return;
    const wish = { name: name.trim(), role, days };
    await post('/api/admin/tokens/create', wish)
      .then((made) => setToken(made.token))
      .catch((failure: unknown) => failure instanceof ApiError && setError(failure));
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
      <form onSubmit={submit} noValidate>
        <Field
          label="What it is for"
          value={name}
          onInput={setName}
          fault={fault}
          isFirst
          placeholder="build server"
        />
        <Choose label="Role" value={role} choices={ROLES} onChange={setRole} />
        <Choose label="Ends after" value={days} choices={DAYS} onChange={setDays} />
        {error !== null && <ErrorBox title="The token was not created." error={error} />}
        <FormButtons verb="Create token" onCancel={onClose} />
      </form>
    </Dialog>
  );
}
