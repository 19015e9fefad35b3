import { useEffect, useState } from 'preact/hooks';
import { type SendConfirmed, toApiError, whenUnconfirmed } from '../../data/api.ts';
import { beginSignIn, session, signIn } from '../../data/session.ts';
import { createValue, useValue } from '../../data/value.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { CodeField, Field } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';

/** A request that waits for its confirmation. */
interface Waiting {
  readonly sendWith: SendConfirmed;
  readonly resolve: (response: Response) => void;
  readonly reject: (failure: unknown) => void;
  readonly cancel: () => void;
}

const waiting = createValue<Waiting | null>(null);

whenUnconfirmed((sendWith, refusal) => {
  const { promise, ...settle } = Promise.withResolvers<Response>();
  waiting.set({ sendWith, ...settle, cancel: () => settle.reject(refusal) });
  return promise.finally(() => waiting.set(null));
});

export function Confirming({ provider }: { readonly provider: string | null }) {
  const asked = useValue(waiting);
  // Whoever has made the request does not wait for ever.
  useEffect(() => () => waiting.get()?.cancel(), []);
  return asked === null ? null : <ConfirmDialog asked={asked} provider={provider} />;
}

/** What is wrong with the confirmation itself; then it can be corrected. */
const WRONG = /^(?:confirmation_required|invalid_credentials|second_factor_required|unauthorized|too_many)/;

/** Asks who it is, in the way in which they have signed in. */
function ConfirmDialog({ asked, provider }: { readonly asked: Waiting; readonly provider: string | null }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [, from, name = ''] = /^(oidc|ldap):(.*)$/.exec(session.get()?.name ?? '') ?? [];
  const send = async () => {
    if (from === 'oidc') return beginSignIn(location.hash, true);
    const second = code === '' ? {} : { code };
    try {
      if (from === 'ldap') await signIn(name, password);
      asked.resolve(await asked.sendWith(from === 'ldap' ? {} : { own_password: password, ...second }));
    } catch (failure) {
      if (WRONG.test(toApiError(failure).code)) throw failure;
      asked.reject(failure);
    }
  };
  const atProvider = 'Sign in again; you come back to where you are. Then do it again, within five minutes.';
  const verb = from === 'oidc' ? `Sign in with ${provider ?? 'the provider'}` : 'Confirm';
  return (
    <Dialog title="Confirm that it is you" onClose={asked.cancel}>
      <Form verb={verb} failure="It was not confirmed." onSend={send} onCancel={asked.cancel}>
        <p class="second">A stolen session is not enough for this. {from === 'oidc' && atProvider}</p>
        <div class="gap">
          {from !== 'oidc' && (
            <Field
              label="Your password"
              type="password"
              value={password}
              onInput={setPassword}
              autoComplete="current-password"
              isFirst
            />
          )}
          {session.get()?.recovery_codes_left != null && <CodeField value={code} onInput={setCode} />}
        </div>
      </Form>
    </Dialog>
  );
}
