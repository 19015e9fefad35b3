import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { changePassword, loadSession, may, session } from '../../data/session.ts';
import { useValue } from '../../data/value.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { CodeField, OwnPasswordField } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { PasswordForm } from '../welcome/password-form.tsx';
import { SecondFactorSetup } from '../welcome/second-factor-setup.tsx';

/** How one signs in. Changing one's own password needs the old one. */
export function PasswordSettings() {
  const send = async (...sent: Parameters<typeof changePassword>) => {
    await changePassword(...sent);
    showToast('Your password was changed. Your other sessions have ended.');
  };
  if (!may('POST /api/v4/setPassword')) {
    return <p>You have no password here: you change the one that you sign in with at its provider.</p>;
  }
  return (
    <>
      <PasswordForm
        className="form"
        old={{ label: 'Password now', type: 'password', autoComplete: 'current-password' }}
        missing="The password is missing."
        verb="Change the password"
        onSend={send}
      />
      <SecondFactorSettings />
    </>
  );
}

/** Setting up one's own second factor, and turning it off. */
function SecondFactorSettings() {
  const left = useValue(session)?.recovery_codes_left ?? null;
  const [open, setOpen] = useState<'on' | 'off' | null>(null);
  const close = () => {
    setOpen(null);
    void loadSession();
  };
  if (!may('POST /api/admin/second-factor/offer')) return null;
  const isOn = left !== null;
  return (
    <section class="form gap">
      <h2>Second factor</h2>
      <p class="second">
        {isOn
          ? `It is on: signing in takes a code of your authenticator app. ${left} of 10 recovery codes are ` +
            'left; to get new ones, turn it off and on again.'
          : 'It is off. When it is on, signing in also takes a code of an authenticator app, so a stolen ' +
            'password is not enough.'}
      </p>
      {/* Not in a dialog: Esc would lose the recovery codes. */}
      {open === 'on' ? (
        <SecondFactorSetup onDone={close} onCancel={close} />
      ) : (
        <p class="gap">
          <Button onClick={() => setOpen(isOn ? 'off' : 'on')}>{isOn ? 'Turn off…' : 'Turn on…'}</Button>
        </p>
      )}
      {open === 'off' && (
        <Dialog title="Turn off the second factor" onClose={close}>
          <TurnOff onClose={close} />
        </Dialog>
      )}
    </section>
  );
}

function TurnOff({ onClose }: { readonly onClose: () => void }) {
  const { fields, typed } = useFields({ password: '', code: '' });
  const send = async () => {
    await post('/api/admin/second-factor/remove', fields);
    showToast('Your second factor is off.');
    onClose();
  };
  return (
    <Form verb="Turn off" failure="It was not turned off." onSend={send} onCancel={onClose}>
      <OwnPasswordField {...typed('password')} isFirst />
      <CodeField {...typed('code')} />
    </Form>
  );
}
