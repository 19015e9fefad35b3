import { RIGHTS, ROLES } from '@berth/protocol/admin/choices';
import type { Account, AccountPassword, Role } from '@berth/protocol/admin/users';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { may, session } from '../../data/session.ts';
import { ask, Dialog } from '../../parts/dialog.tsx';
import { Choose, Field } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { ActionsMenu } from '../../parts/menu.tsx';
import { Name } from '../../parts/name.tsx';
import { Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { readProducts, sayRole } from '../../words/role.ts';
import { CreateButton, ProductsField, ShownOnce } from './create-parts.tsx';

/** The highest first. */
export const ROLE_CHOICES = ROLES.map((role) => [role, `${role}: ${RIGHTS[role]}`] as const).reverse();

/** The accounts and what they may do. */
export function UserSettings() {
  const users = useResource('/api/admin/users', {}, { isLive: true });
  const [isAdding, setAdding] = useState(false);
  const [limited, setLimited] = useState<Account | null>(null);
  const [secret, setSecret] = useState<AccountPassword | null>(null);
  return (
    <>
      <CreateButton label="Add a user" needs="POST /api/admin/users/add" onClick={() => setAdding(true)} />
      <Show of={users} what="The users">
        {(data) => (
          <UserTable users={data.users} onSecret={setSecret} onChange={users.reload} onLimit={setLimited} />
        )}
      </Show>
      {isAdding && (
        <AddUser
          onClose={() => setAdding(false)}
          onAdded={(made) => {
            setAdding(false);
            setSecret(made);
            users.reload();
          }}
        />
      )}
      {limited !== null && (
        <LimitUser
          account={limited}
          onClose={() => {
            setLimited(null);
            users.reload();
          }}
        />
      )}
      {secret?.password != null && (
        <ShownOnce
          title={`The one-time password of ${secret.name}`}
          about="It is shown only now, is good for one sign-in and ends after 7 days."
          secret={secret.password}
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

interface UserTableProps {
  readonly users: readonly Account[];
  readonly onSecret: (secret: AccountPassword) => void;
  readonly onChange: () => void;
  readonly onLimit: (account: Account) => void;
}

function UserTable({ users, onSecret, onChange, onLimit }: UserTableProps) {
  return (
    <Table
      rows={users}
      keyOf={({ name }) => name}
      columns={[
        ['Name', drawName, 'grow cut'],
        ['Role', sayRole, 'cut'],
        ['Password', drawPassword],
        ['Second factor', (account) => (account.second_factor ? 'yes' : <span class="quiet">no</span>)],
        ['Added', ({ created_at }) => <Time at={created_at} as="day" />],
      ]}
      actions={(account) =>
        may('POST /api/admin/users/role') &&
        !isSelf(account) && <UserMenu {...{ account, onSecret, onChange }} onLimit={() => onLimit(account)} />
      }
    />
  );
}

function isSelf({ name }: Account): boolean {
  return name === session.get()?.name;
}

function drawName(account: Account) {
  return (
    <>
      <Name text={account.name} isStrong />
      {isSelf(account) && <span class="quiet"> (you)</span>}
    </>
  );
}

function drawPassword({ one_time_password, one_time_until }: Account) {
  if (!one_time_password) return 'own';
  return (
    <>
      one-time, until <Time at={one_time_until} />
    </>
  );
}

interface UserMenuProps extends Omit<UserTableProps, 'users' | 'onLimit'> {
  readonly account: Account;
  readonly onLimit: () => void;
}

function UserMenu({ account, onSecret, onChange, onLimit }: UserMenuProps) {
  const { name, role, products } = account;
  const setRole = async (chosen: Role, limit?: readonly string[]) => {
    await post('/api/admin/users/role', { name, role: chosen, products: limit && [...limit] });
    onChange();
  };
  const roles = ROLE_CHOICES.filter(([other]) => other !== role).map(([other]) => ({
    label: `Make ${other}…`,
    act: () =>
      ask({
        title: `Make ${name} ${other}?`,
        text: 'It counts at once, also for sessions that are open.',
        facts: [
          ['Account', name],
          ['Role', `${sayRole(account)}, then ${other}`],
        ],
        verb: `Make ${other}`,
        isDangerous: false,
        act: async () => {
          await setRole(other);
          showToast(`${name} is ${other} now.`, () => void setRole(role, products ?? undefined));
        },
      }),
  }));
  const reset = {
    label: 'New one-time password…',
    act: () =>
      ask({
        title: 'Give this user a one-time password?',
        text: 'Their password no longer works, and their sessions end. They set a new one when they sign in.',
        facts: [['Account', name]],
        verb: 'Give a one-time password',
        act: async () => {
          onSecret(await post('/api/admin/users/password', { name }));
          onChange();
        },
      }),
  };
  const remove = {
    label: 'Remove user…',
    icon: 'trash' as const,
    act: () =>
      ask({
        title: 'Remove this user?',
        text: 'Their sessions and tokens end. Slots that are held under this name are not touched.',
        facts: [
          ['Account', name],
          ['Role', role],
        ],
        verb: 'Remove user',
        act: async () => {
          await post('/api/admin/users/remove', { name });
          onChange();
          showToast(`${name} was removed.`);
        },
      }),
  };
  const second = account.second_factor ? [removeFactor(name, onChange)] : [];
  const limit = role === 'operator' ? [{ label: 'Limit to products…', act: onLimit }] : [];
  return <ActionsMenu of={name} items={[...roles, ...limit, reset, ...second, null, remove]} />;
}

function removeFactor(name: string, onChange: () => void) {
  const question = {
    title: 'Remove the second factor of this user?',
    text: 'For somebody who has lost the device. Their sessions end; then their password is enough.',
    facts: [['Account', name]] as const,
    verb: 'Remove second factor',
    act: async () => {
      await post('/api/admin/users/remove-second-factor', { name });
      onChange();
      showToast(`${name} has no second factor any more.`);
    },
  };
  return { label: 'Remove second factor…', act: () => ask(question) };
}

interface AddUserProps {
  readonly onClose: () => void;
  readonly onAdded: (made: AccountPassword) => void;
}

function AddUser({ onClose, onAdded }: AddUserProps) {
  const { fields, typed, chosen } = useFields({ name: '', role: 'operator' as Role, products: '' });
  const [fault, setFault] = useState<string | null>(null);
  const send = async () => {
    const { role } = fields;
    const name = fields.name.trim();
    setFault(name === '' ? 'The name is missing.' : null);
    if (name === '') return;
    const products = readProducts(role, fields.products);
    onAdded(await post('/api/admin/users/add', { name, role, products }));
  };
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <Form verb="Add user" failure="The user was not added." onSend={send} onCancel={onClose}>
        <p>You get a one-time password to hand over.</p>
        <Field label="Name" {...typed('name')} fault={fault} isFirst />
        <Choose label="Role" {...chosen('role')} choices={ROLE_CHOICES} />
        {fields.role === 'operator' && <ProductsField {...typed('products')} />}
      </Form>
    </Dialog>
  );
}

/** Limits an operator, or lifts the limit. */
function LimitUser({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const { name, role } = account;
  const [products, setProducts] = useState(account.products?.join(', ') ?? '');
  const send = async () => {
    await post('/api/admin/users/role', { name, role, products: readProducts(role, products) });
    onClose();
  };
  return (
    <Dialog title={`Limit ${name} to products`} onClose={onClose}>
      <Form verb="Save" failure="The limit was not changed." onSend={send} onCancel={onClose}>
        <p>It counts at once, also for sessions that are open.</p>
        <ProductsField value={products} onInput={setProducts} isFirst />
      </Form>
    </Dialog>
  );
}
