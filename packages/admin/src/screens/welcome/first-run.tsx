import type { Welcome } from '@berth/protocol/admin/session';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../data/api.ts';
import { useLicenses, useStatus } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { goTo, linkTo } from '../../data/route.ts';
import { changePassword, session, signIn } from '../../data/session.ts';
import { useValue } from '../../data/value.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { leave } from '../../parts/frame.tsx';
import { Name } from '../../parts/name.tsx';
import { Command } from '../../parts/states.tsx';
import { Step } from '../../parts/step.tsx';
import { registerCommand } from '../../words/commands.ts';
import { nameOf } from '../../words/judge-license.ts';
import { describeReach } from '../../words/reach.ts';
import { PasswordForm } from './password-form.tsx';
import { PlainNote, ProviderButton, WelcomeFrame } from './sign-in.tsx';

const ADMINISTRATOR = 'admin';

interface FirstRunProps {
  readonly welcome: Welcome;
  /** The first password was set. */
  readonly onPassword: () => void;
}

/** Password, first license, first slot. */
export function FirstRun({ welcome, onPassword }: FirstRunProps) {
  const who = useValue(session);
  const isSignedIn = who != null && welcome.is_set_up;
  const licenses = useLicenses().data?.licenses ?? [];
  const hasLicense = isSignedIn && licenses.length > 0;
  const saying = (
    <>
      <b>A license has slots, as a harbor has berths.</b> An application takes one when it starts and gives it
      back when it stops. For a trip without network, a slot can be borrowed.
    </>
  );
  return (
    <WelcomeFrame welcome={welcome} saying={saying}>
      <div class="welcome-form">
        <h1>Set up this server</h1>
        <p class="lead">Three steps, about two minutes.</p>
        <ol class="steps">
          <Step number={1} title="Set the administrator’s password" is={isSignedIn ? 'done' : 'now'}>
            {isSignedIn ? <PasswordDone name={who.name} /> : <PasswordStep {...{ welcome, onPassword }} />}
          </Step>
          <Step
            number={2}
            title="Add the first license"
            is={hasLicense ? 'done' : isSignedIn ? 'now' : 'later'}
          >
            {hasLicense ? (
              <p class="done-line">
                <Name text={nameOf(licenses[0] as never)} />
              </p>
            ) : (
              <LicenseStep isNow={isSignedIn} />
            )}
          </Step>
          <Step number={3} title="Point an application here" is={hasLicense ? 'now' : 'later'}>
            {hasLicense ? (
              <ApplicationStep product={(licenses[0] as { product: string }).product} />
            ) : (
              <p class="step-lead">You get one address to copy, and see its first slot appear.</p>
            )}
          </Step>
        </ol>
        {isSignedIn && (
          <p>
            <ButtonLink to="overview" {...(hasLicense ? { as: 'primary' } : {})}>
              Go to the Overview
            </ButtonLink>
          </p>
        )}
      </div>
    </WelcomeFrame>
  );
}

/** Whoever comes from a provider has ended the setup without a password. */
function PasswordDone({ name }: { readonly name: string }) {
  if (!name.includes(':')) return <p class="done-line">Done.</p>;
  return (
    <>
      <p class="step-lead">
        Not needed: you are signed in as <Name text={name} />. But if nobody has replaced the one-time
        password of <b>{ADMINISTRATOR}</b> that the server printed, it is still valid. Replace it on the
        server itself:
      </p>
      <Command text={`berth user password ${ADMINISTRATOR}`} />
    </>
  );
}

/** Whoever comes from a provider may not be an administrator. */
function OtherSession() {
  const who = useValue(session);
  if (who == null || who.name === ADMINISTRATOR) return null;
  return (
    <p class="step-lead">
      You are signed in as <Name text={who.name} />, who is no administrator. An administrator has to set up
      the server. <Button onClick={leave}>Sign out</Button>
    </p>
  );
}

function PasswordStep({ welcome, onPassword }: FirstRunProps) {
  const send = async (old: string, fresh: string, code?: string) => {
    // From here on, the steps stay where they are, whatever is known of the session.
    goTo(linkTo('welcome'));
    // The first of the two uses that a one-time password has; a second try finds the session there.
    if (session.get()?.name !== ADMINISTRATOR) await signIn(ADMINISTRATOR, old.trim()).catch(nameOneTime);
    await changePassword(old.trim(), fresh, code);
    await signIn(ADMINISTRATOR, fresh);
    onPassword();
  };
  const hint = 'The server printed it when it started for the first time.';
  return (
    <PasswordForm
      old={{ label: 'One-time password', isMono: true, isFirst: true, hint }}
      missing="The one-time password is missing."
      verb="Set the password"
      onSend={send}
    >
      <OtherSession />
      <ProviderButton name={welcome.provider} place={linkTo('welcome')} />
      <p class="step-lead">
        The account is called <b>{ADMINISTRATOR}</b>. You can add colleagues later.
      </p>
      <PlainNote isSecure={welcome.is_secure} />
    </PasswordForm>
  );
}

/** Nobody has typed a name. */
function nameOneTime(error: ApiError): never {
  if (error.code !== 'unauthorized') throw error;
  throw new ApiError(error.status, error.code, 'This is not the one-time password that the server printed.');
}

function LicenseStep({ isNow }: { readonly isNow: boolean }) {
  const [fault, setFault] = useState<string | null>(null);
  const addDemo = () =>
    post('/api/admin/licenses/add-demo').catch((error: ApiError) => setFault(error.message));
  return (
    <>
      <p class="step-lead">
        By key, by file or by codes. Or take the demo license with five slots, and remove it when you like.
      </p>
      {isNow && (
        <p class="done-line">
          <ButtonLink to="licenses/add" as="primary">
            Add a license
          </ButtonLink>
          <Button onClick={addDemo}>Use the demo license</Button>
        </p>
      )}
      {fault !== null && <p class="critical">{fault}</p>}
    </>
  );
}

function ApplicationStep({ product }: { readonly product: string }) {
  const slots = useResource('/api/admin/registrations', { limit: 1 }, { isLive: true });
  const first = slots.data?.registrations[0];
  const { where, elsewhere } = describeReach(location.hostname, useStatus().data?.url ?? null);
  return (
    <>
      <p class="step-lead">
        Applications need this address: <b class="nowrap">{location.origin}</b>
      </p>
      {elsewhere !== null && <p class="second">{elsewhere}</p>}
      <p class="gap second">Or take a slot by hand, {where}:</p>
      <Command text={registerCommand(product)} />
      <p class="gap" role="status">
        {first === undefined ? (
          <span class="quiet">Waiting for the first slot…</span>
        ) : (
          <span class="good strong">
            <Name text={first.user} /> holds the first slot.
          </span>
        )}
      </p>
    </>
  );
}
