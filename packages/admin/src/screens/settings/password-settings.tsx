import { useState } from 'preact/hooks';
import type { ApiError } from '../../data/api.ts';
import { changePassword } from '../../data/session.ts';
import { Field } from '../../parts/field.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { faultOf, NewPassword } from '../welcome/sign-in.tsx';

/** Changing one's own password needs the old one. */
export function PasswordSettings() {
  const [old, setOld] = useState('');
  const [fresh, setFresh] = useState('');
  const [fault, setFault] = useState<{ readonly field: 'old' | 'new'; readonly text: string } | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setFault(null);
    if (old === '') return setFault({ field: 'old', text: 'The password is missing.' });
    if (fresh === '') return setFault({ field: 'new', text: 'The new password is missing.' });
    try {
      await changePassword(old, fresh);
      setOld('');
      setFresh('');
      showToast('Your password was changed. Your other sessions have ended.');
    } catch (error) {
      setFault(faultOf(error as ApiError));
    }
  };
  return (
    <form class="form" onSubmit={submit} noValidate>
      <Field
        label="Password now"
        type="password"
        value={old}
        onInput={setOld}
        autoComplete="current-password"
        fault={fault?.field === 'old' ? fault.text : null}
      />
      <NewPassword value={fresh} onInput={setFresh} fault={fault?.field === 'new' ? fault.text : null} />
      <p class="gap">
        <button type="submit" class="button primary">
          Change the password
        </button>
      </p>
    </form>
  );
}
