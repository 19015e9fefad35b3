import { changePassword, may } from '../../data/session.ts';
import { showToast } from '../../parts/toasts.tsx';
import { PasswordForm } from '../welcome/password-form.tsx';
import { SecondFactorSettings } from './second-factor-settings.tsx';

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
