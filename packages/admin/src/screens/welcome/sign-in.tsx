import type { Welcome } from '@berth/protocol/admin/session';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../../data/api.ts';
import { usePlace } from '../../data/route.ts';
import { changePassword, hasEnded, session, signIn } from '../../data/session.ts';
import { useValue } from '../../data/value.ts';
import { Brand } from '../../parts/brand.tsx';
import { Field } from '../../parts/field.tsx';
import { SCREENS } from '../../parts/frame.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Shape } from '../../parts/shape.tsx';
import { Harbor } from './harbor.tsx';

interface WelcomeProps {
  readonly welcome: Welcome;
  readonly saying: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Form on the left, harbor on the right. */
export function WelcomeFrame({ welcome, saying, children }: WelcomeProps) {
  return (
    <div class="welcome">
      <main class="welcome-main">
        <div class="brand">
          <Brand welcome={welcome} />
        </div>
        {children}
        <p class="welcome-foot">
          {location.hostname}, Berth {welcome.version}. Nothing on this page leaves your network.
        </p>
      </main>
      <aside class="welcome-side" aria-label="What Berth does">
        <Harbor />
        <p>{saying}</p>
      </aside>
    </div>
  );
}

/** Which server, and where somebody will be afterwards. */
export function SignIn({ welcome }: { readonly welcome: Welcome }) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in – Berth';
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (name.trim() === '' || password === '') {
      setFault(name.trim() === '' ? 'The name is missing.' : 'The password is missing.');
      return;
    }
    setBusy(true);
    setFault(null);
    await signIn(name.trim(), password).catch((error: ApiError) => setFault(error.message));
    setBusy(false);
  };
  const saying = (
    <>
      <b>Lending goes on while nobody is signed in.</b> This page is only for looking after it.
    </>
  );
  return (
    <WelcomeFrame welcome={welcome} saying={saying}>
      <form class="welcome-form slim" onSubmit={submit} noValidate>
        <h1>Sign in</h1>
        <p class="lead">{location.hostname}</p>
        <EndedNote />
        <PlainNote isSecure={welcome.is_secure} />
        <Field label="Name" value={name} onInput={setName} autoComplete="username" isFirst />
        <Field
          label="Password"
          type="password"
          value={password}
          onInput={setPassword}
          autoComplete="current-password"
          fault={fault}
        />
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Sign in
        </button>
        <p class="small quiet forgotten">
          Forgotten? Set a new one on the server itself:
          <br />
          <code>berth user password {name.trim() || 'NAME'}</code>
        </p>
      </form>
    </WelcomeFrame>
  );
}

function EndedNote() {
  const isEnded = useValue(hasEnded);
  const { path } = usePlace();
  const screen = SCREENS.find((one) => one.path === path[0])?.label;
  if (!isEnded && screen === undefined) return null;
  return (
    <div class="note-box" role="status">
      <Icon name="clock" />
      <span>
        {isEnded && 'Your session has ended. '}
        {screen !== undefined && (
          <>
            You will be {isEnded ? 'back ' : ''}at <b>{screen}</b>.
          </>
        )}
      </span>
    </div>
  );
}

/** A password over plain HTTP can be read on the network; on the machine itself it never gets there. */
export function PlainNote({ isSecure }: { readonly isSecure: boolean }) {
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
  if (isSecure || isHere) return null;
  return (
    <div class="note-box warning-box">
      <Shape level="warning" />
      <span>
        This connection is plain HTTP: others on the network can read the password. Ask for an https address.
      </span>
    </div>
  );
}

const LEAST = 12;

/** How long a new password is, while it is typed. */
export function NewPassword({
  value,
  onInput,
  fault,
}: {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly fault: string | null;
}) {
  const { length } = Array.from(value);
  const isEnough = length >= LEAST;
  const count = `${length} of ${LEAST} characters. Nothing else is needed, but common passwords are refused.`;
  return (
    <>
      <Field
        label="New password"
        type="password"
        value={value}
        onInput={onInput}
        autoComplete="new-password"
        hint={length === 0 ? `At least ${LEAST} characters, and nothing else.` : count}
        fault={fault}
        fine={
          isEnough && fault === null
            ? `${length} characters. At least ${LEAST} are needed, and nothing else.`
            : null
        }
      />
      <div class={`strength${isEnough ? ' enough' : ''}`} aria-hidden="true">
        <span style={{ width: `${Math.min(100, (length / LEAST) * 100)}%` }} />
      </div>
    </>
  );
}

/** After the one-time password was used twice, an account can do nothing else. */
export function MustSetPassword({ welcome }: { readonly welcome: Welcome }) {
  const [old, setOld] = useState('');
  const [fresh, setFresh] = useState('');
  const [fault, setFault] = useState<{ readonly field: 'old' | 'new'; readonly text: string } | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const name = session.get()?.name ?? 'admin';
    try {
      await changePassword(old, fresh);
      await signIn(name, fresh);
    } catch (error) {
      setFault(faultOf(error as ApiError));
    }
  };
  return (
    <WelcomeFrame welcome={welcome} saying={<b>A one-time password is good for one sign-in.</b>}>
      <form class="welcome-form slim" onSubmit={submit} noValidate>
        <h1>Set your password</h1>
        <p class="lead">The one-time password has been used. Replace it to go on.</p>
        <Field
          label="One-time password"
          type="password"
          value={old}
          onInput={setOld}
          autoComplete="current-password"
          fault={fault?.field === 'old' ? fault.text : null}
          isFirst
        />
        <NewPassword value={fresh} onInput={setFresh} fault={fault?.field === 'new' ? fault.text : null} />
        <p class="gap">
          <button type="submit" class="button primary">
            Set the password
          </button>
        </p>
      </form>
    </WelcomeFrame>
  );
}

/** Which field an answer is about. */
export function faultOf({ code, message }: ApiError): {
  readonly field: 'old' | 'new';
  readonly text: string;
} {
  const isOld = code === 'invalid_credentials' || code === 'unauthorized';
  return { field: isOld ? 'old' : 'new', text: message };
}
