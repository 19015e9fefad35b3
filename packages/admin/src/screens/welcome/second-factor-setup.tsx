import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, post, toApiError } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Field, OwnPasswordField } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Command, CopyButton, ErrorBox, Loading } from '../../parts/states.tsx';
import { QrCode } from '../add/code-sheet.tsx';

type Offer = PostAnswer<'/api/admin/second-factor/offer'>;

interface SetupProps {
  /** The recovery codes are saved. */
  readonly onDone: () => unknown;
  readonly onCancel: () => unknown;
  readonly cancel?: string;
}

/** A secret for the app, a code that proves that it is there, and recovery codes. */
export function SecondFactorSetup(props: SetupProps) {
  const [offer, setOffer] = useState<Offer | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const load = () => {
    setError(null);
    post('/api/admin/second-factor/offer').then(setOffer, (failure) => setError(toApiError(failure)));
  };
  useEffect(load, []);
  if (error !== null) return <ErrorBox title="It could not be begun." error={error} onRetry={load} />;
  if (offer === null) return <Loading rows={4} />;
  if (codes !== null) return <RecoveryCodes codes={codes} onDone={props.onDone} />;
  const { onDone, ...buttons } = props;
  return <Confirm offer={offer} onCodes={setCodes} {...buttons} />;
}

interface ConfirmProps extends Omit<SetupProps, 'onDone'> {
  readonly offer: Offer;
  readonly onCodes: (codes: readonly string[]) => void;
}

function Confirm({ offer: { secret, url }, onCodes, ...buttons }: ConfirmProps) {
  const { fields, typed } = useFields({ code: '', password: '' });
  const send = async () => {
    const answer = await post('/api/admin/second-factor/confirm', { secret, ...fields });
    onCodes(answer.recovery_codes);
  };
  return (
    <Form verb="Set up" failure="The second factor was not set up." onSend={send} {...buttons}>
      <p class="second">Scan this with your authenticator app, or type the secret into it.</p>
      <p class="gap">
        <QrCode text={url} label="QR code with the secret" />
      </p>
      <Command text={secret} />
      <p class="gap small">
        <a href={url}>Open it in an app on this device</a>
      </p>
      <div class="gap">
        <Field label="Code that the app shows" {...typed('code')} autoComplete="one-time-code" isMono />
        <OwnPasswordField {...typed('password')} />
      </div>
    </Form>
  );
}

interface RecoveryCodesProps extends Pick<SetupProps, 'onDone'> {
  readonly codes: readonly string[];
}

function RecoveryCodes({ codes, onDone }: RecoveryCodesProps) {
  const text = `${codes.join('\n')}\n`;
  const save = () => saveFile('berth-recovery-codes.txt', text, 'text/plain;charset=utf-8');
  return (
    <>
      <p class="second">
        From now on, signing in takes a code of the app. Each of these recovery codes replaces one, once, if
        you lose the device. They are shown only now: keep them in a safe place, not on that device.
      </p>
      <div class="code-box gap" role="group" aria-label="Recovery codes" tabIndex={0}>
        <pre>{codes.join('\n')}</pre>
      </div>
      <div class="buttons">
        <CopyButton text={text} label="Copy" />
        <Button icon="download" onClick={save}>
          Save
        </Button>
        <Button as="primary" onClick={() => void onDone()}>
          I have saved them
        </Button>
      </div>
    </>
  );
}
