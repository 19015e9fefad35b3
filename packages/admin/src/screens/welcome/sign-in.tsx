import type { Welcome } from '@berth/protocol/admin/session';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../../data/api.ts';
import {
  beginSignIn,
  changePassword,
  hasEnded,
  loadSession,
  providerFault,
  signIn,
} from '../../data/session.ts';
import { useValue } from '../../data/value.ts';
import { Brand } from '../../parts/brand.tsx';
import { Button } from '../../parts/button.tsx';
import { CodeField, Field } from '../../parts/field.tsx';
import { useFields, useSend } from '../../parts/form.tsx';
import { leave } from '../../parts/frame.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Shape } from '../../parts/shape.tsx';
import { ErrorBox } from '../../parts/states.tsx';
import { isLoopback } from '../../words/reach.ts';
import { Harbor } from './harbor.tsx';
import { PasswordForm } from './password-form.tsx';
import { SecondFactorSetup } from './second-factor-setup.tsx';

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

interface SignInProps {
  readonly welcome: Welcome;
  /** The name of the screen that appears afterwards, if the address has one. */
  readonly screen: string | undefined;
}

/** Which server, and what appears afterwards. */
export function SignIn({ welcome, screen }: SignInProps) {
  const { fields, typed } = useFields({ name: '', password: '' });
  const { name, password } = fields;
  const [code, setCode] = useState<string | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    document.title = `Sign in – ${welcome.name || 'Berth'}`;
  }, [welcome.name]);
  const { isBusy, submit } = useSend(async () => {
    const gap = findGap(name, password, code);
    setFault(gap === null ? null : { at: gap, text: `The ${gap} is missing.` });
    if (gap !== null) return;
    const fail = ({ code: why, message }: ApiError) => {
      const isSecond = why === 'second_factor_required';
      // The password was right, and the next step is the code.
      if (isSecond && code === null) setCode('');
      else setFault({ at: code === null ? 'password' : 'code', text: message });
    };
    await signIn(name.trim(), password, code ?? undefined).catch(fail);
  });
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
        <EndedNote screen={screen} />
        <PlainNote isSecure={welcome.is_secure} />
        {code === null ? (
          <>
            <ProviderButton name={welcome.provider} />
            <Field
              label="Name"
              {...typed('name')}
              autoComplete="username"
              isFirst={welcome.provider === null}
              fault={faultAt('name', fault)}
            />
            <Field
              label="Password"
              type="password"
              {...typed('password')}
              autoComplete="current-password"
              fault={faultAt('password', fault)}
            />
          </>
        ) : (
          <CodeField value={code} onInput={setCode} fault={faultAt('code', fault)} isFirst />
        )}
        <Button
          {...(welcome.provider === null || code !== null ? { as: 'primary' } : {})}
          isSubmit
          isBusy={isBusy}
        >
          Sign in
        </Button>
        {!welcome.takes_accounts && <NotFromHere />}
        {welcome.takes_accounts && <Forgotten name={name.trim() || 'NAME'} hasCode={code !== null} />}
      </form>
    </WelcomeFrame>
  );
}

interface Fault {
  readonly at: 'name' | 'password' | 'code';
  readonly text: string;
}

function faultAt(place: Fault['at'], fault: Fault | null): string | null {
  return fault?.at === place ? fault.text : null;
}

function findGap(name: string, password: string, code: string | null): Fault['at'] | null {
  if (name.trim() === '') return 'name';
  if (password === '') return 'password';
  return code?.trim() === '' ? 'code' : null;
}

function NotFromHere() {
  return (
    <p class="small quiet forgotten">
      Accounts of this server sign in only on its own machine. From here, use your company’s sign-in.
    </p>
  );
}

function Forgotten({ name, hasCode }: { readonly name: string; readonly hasCode: boolean }) {
  return (
    <p class="small quiet forgotten">
      {hasCode
        ? 'Lost the device? An administrator can remove your second factor on the server itself:'
        : 'Forgotten? Set a new one on the server itself:'}
      <br />
      <code>
        berth user {hasCode ? 'remove-second-factor' : 'password'} {name}
      </code>
    </p>
  );
}

interface ProviderButtonProps {
  readonly name: string | null;
  /** Where the page will be afterwards: here, by default. */
  readonly place?: string;
}

/** Leaves for the provider of the company, if there is one. Says why, if it did not sign in who was there. */
export function ProviderButton({ name, place = location.hash }: ProviderButtonProps) {
  const fault = useValue(providerFault);
  const { error, isBusy, submit } = useSend(() => {
    providerFault.set(null);
    return beginSignIn(place);
  });
  const why = error ?? fault;
  if (name === null) return null;
  return (
    <div class="provider">
      {why !== null && <ErrorBox title={`You were not signed in with ${name}.`} error={why} />}
      <Button as="primary" isBusy={isBusy} onClick={submit}>
        Sign in with {name}
      </Button>
      <p class="small quiet">Or with an account of this server:</p>
    </div>
  );
}

function EndedNote({ screen }: Pick<SignInProps, 'screen'>) {
  const isEnded = useValue(hasEnded);
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
  if (isSecure || isLoopback(location.hostname)) return null;
  return (
    <div class="note-box warning-box">
      <Shape level="warning" />
      <span>
        This connection is plain HTTP: others on the network can read the password. Ask for an https address.
      </span>
    </div>
  );
}

/** After the one-time password was used twice, an account can do nothing else. */
export function MustSetPassword({ welcome }: { readonly welcome: Welcome }) {
  const send = async (...sent: Parameters<typeof changePassword>) => {
    await changePassword(...sent);
    await loadSession();
  };
  const old = { label: 'One-time password', type: 'password', isFirst: true } as const;
  return (
    <WelcomeFrame welcome={welcome} saying={<b>A one-time password is good for one sign-in.</b>}>
      <PasswordForm
        className="welcome-form slim"
        old={{ ...old, autoComplete: 'current-password' }}
        missing="The one-time password is missing."
        verb="Set the password"
        onSend={send}
      >
        <h1>Set your password</h1>
        <p class="lead">The one-time password has been used. Replace it to go on.</p>
      </PasswordForm>
    </WelcomeFrame>
  );
}

/** The server requires a second factor: without one, an account can do nothing else. */
export function MustSetSecondFactor({ welcome }: { readonly welcome: Welcome }) {
  const saying = <b>A stolen password alone opens nothing here.</b>;
  return (
    <WelcomeFrame welcome={welcome} saying={saying}>
      <div class="welcome-form">
        <h1>Set up a second factor</h1>
        <p class="lead">This server requires one. You need an authenticator app on your phone.</p>
        <SecondFactorSetup onDone={loadSession} onCancel={leave} cancel="Sign out" />
      </div>
    </WelcomeFrame>
  );
}
