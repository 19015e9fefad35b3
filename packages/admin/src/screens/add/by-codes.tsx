import type { LicenseObject } from '@berth/protocol/api/license-object';
import { readScannedText } from '@berth/protocol/carried/scanned-text';
import { readTypedCode } from '@berth/protocol/carried/typed-code';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { FileField } from '../../parts/file-field.tsx';
import { Form } from '../../parts/form.tsx';
import { Step } from '../../parts/step.tsx';
import { type Activation, CodeSheet } from './code-sheet.tsx';
import { VendorKeysForm } from './vendor-keys.tsx';
import { Done, placeOf, type Ready, Waiting, WayColumns, type WayProps, WhenReady } from './way.tsx';

/** How many bytes the vendor's codes have. */
const INITIALIZATION_BYTES = 32;
const CONFIRMATION_BYTES = 64;

/** Nothing leaves but what people type. */
export function ByCodes(props: WayProps) {
  return <WhenReady kind="airgap">{(ready) => <CodeSteps {...props} {...ready} />}</WhenReady>;
}

function CodeSteps({ added, onAdded, onAgain, missing, onKeys, waiting: known }: WayProps & Ready) {
  const [activation, setActivation] = useState<Activation | null>(null);
  const [waiting, setWaiting] = useState(known);
  const [hasAnswer, setHasAnswer] = useState(false);
  const isMade = activation !== null || waiting !== null;
  const step = added !== null ? 5 : missing.length > 0 ? 1 : !isMade ? 2 : hasAnswer ? 4 : 3;
  const is = (number: number) => placeOf(number, step);
  const restart = () => {
    setActivation(null);
    setWaiting(null);
    setHasAnswer(false);
  };
  return (
    <WayColumns
      travels={[
        { what: 'Keys of the vendor', way: 'in', is: is(1) },
        { what: 'License key, initialization code', way: 'in', is: is(2) },
        { what: 'Hardware id, activation code', way: 'out', is: is(3) },
        { what: 'Policy id, confirmation code, policy file', way: 'in', is: is(4) },
      ]}
    >
      <Step number={1} title="Let this server know the vendor’s keys" is={is(1)}>
        {step === 1 ? <VendorKeysForm missing={missing} onSet={onKeys} /> : <p class="done-line">Known.</p>}
      </Step>
      <Step number={2} title="Type what the vendor gave you" is={is(2)}>
        {step === 2 && <FirstForm onMade={setActivation} />}
        {step > 2 && <TypedLine activation={activation} onChange={step < 5 ? restart : null} />}
      </Step>
      <Step number={3} title="Give these codes to the vendor" is={is(3)}>
        {step === 3 && activation !== null && (
          <CodeSheet activation={activation} onDone={() => setHasAnswer(true)} />
        )}
        {step === 3 && activation === null && waiting !== null && (
          <Waiting
            request={waiting}
            what="The activation code"
            answer="the vendor’s answer"
            onDone={() => setHasAnswer(true)}
            another={['Make another code', restart]}
          >
            It is not kept here: to see one, type the initialization code again.
          </Waiting>
        )}
        {step === 4 && activation !== null && (
          <p class="done-line">
            Activation code and hardware id
            <Button as="link" onClick={() => setHasAnswer(false)}>
              Show again
            </Button>
          </p>
        )}
      </Step>
      <Step number={4} title="Take the vendor’s answer: policy id, confirmation code, policy file" is={is(4)}>
        {step === 4 && <AnswerForm activation={activation} onAdded={onAdded} />}
      </Step>
      <Step number={5} title="Done: the license is here, and slots can be lent" is={is(5)}>
        {added !== null && <Done license={added} onAgain={onAgain} />}
      </Step>
    </WayColumns>
  );
}

interface TypedLineProps {
  readonly activation: Activation | null;
  readonly onChange: (() => void) | null;
}

function TypedLine({ activation, onChange }: TypedLineProps) {
  return (
    <p class="done-line">
      {activation !== null && (
        <span>
          License key <code>{activation.license_key}</code>
        </span>
      )}
      <span>Initialization code, accepted</span>
      {onChange !== null && (
        <Button as="link" onClick={onChange}>
          Change
        </Button>
      )}
    </p>
  );
}

/** What a field says about a code while it is typed; `null` if there is nothing to say yet. */
function judgeCode(
  typed: string,
  bytes: number,
): { readonly fault: string | null; readonly isWhole: boolean } {
  const text = typed.trim();
  if (text === '') return { fault: null, isWhole: false };
  const read = readTypedCode(text, bytes);
  if ('fault' in read) return { fault: read.fault, isWhole: false };
  const wanted = 4 * Math.ceil(bytes / 3);
  const { length } = read.code;
  if (length === wanted) return { fault: null, isWhole: true };
  const how = length < wanted ? `${wanted - length} are missing` : `${length - wanted} are too many`;
  return {
    fault: `${length} of ${wanted} characters: ${how}. Compare it with the vendor’s.`,
    isWhole: false,
  };
}

function FirstForm({ onMade }: { readonly onMade: (made: Activation) => void }) {
  const [licenseKey, setLicenseKey] = useState('');
  const [code, setCode] = useState('');
  const [missing, setMissing] = useState<string | null>(null);
  const verdict = judgeCode(code, INITIALIZATION_BYTES);
  /** A scanned text brings both. */
  const take = (text: string) => {
    const scanned = readScannedText(text, 'initialization_code');
    setCode(scanned?.get('initialization_code') ?? text);
    const key = scanned?.get('license_key');
    if (key !== undefined) setLicenseKey(key);
  };
  const send = async () => {
    setMissing(licenseKey.trim() === '' ? 'key' : code.trim() === '' ? 'code' : null);
    if (licenseKey.trim() === '' || code.trim() === '' || verdict.fault !== null) return;
    const wish = { license_key: licenseKey.trim(), signing_key: readable(code, INITIALIZATION_BYTES) };
    onMade(await post('/api/v4/airgap/generate', wish));
  };
  return (
    <Form verb="Make the activation code" failure="The code was not accepted." onSend={send}>
      <p class="step-lead">You can also scan the vendor’s QR code into the second field.</p>
      <Field
        label="License key"
        value={licenseKey}
        onInput={setLicenseKey}
        isMono
        isFirst
        fault={missing === 'key' ? 'This is missing.' : null}
      />
      <Field
        label="Initialization code"
        value={code}
        onInput={take}
        isMono
        lines={3}
        fault={missing === 'code' ? 'This is missing.' : verdict.fault}
        fine={verdict.isWhole ? 'The code is whole.' : null}
        hint="In groups or in one piece. Spaces do not matter."
      />
    </Form>
  );
}

/** As the server reads it: groups were checked here, so only the code itself is sent. */
function readable(typed: string, bytes: number): string {
  const read = readTypedCode(typed.trim(), bytes);
  return 'code' in read ? read.code : typed.trim();
}

interface AnswerProps {
  /** `null`: it was made before, and its license key has to be typed again. */
  readonly activation: Activation | null;
  readonly onAdded: (license: LicenseObject) => void;
}

function AnswerForm({ activation, onAdded }: AnswerProps) {
  const [licenseKey, setLicenseKey] = useState(activation?.license_key ?? '');
  const [policyId, setPolicyId] = useState('');
  const [code, setCode] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [hasTried, setTried] = useState(false);
  const verdict = judgeCode(code, CONFIRMATION_BYTES);
  const take = (text: string) => {
    const scanned = readScannedText(text, 'confirmation_code');
    setCode(scanned?.get('confirmation_code') ?? text);
    const id = scanned?.get('policy_id');
    if (id !== undefined) setPolicyId(id);
    const key = scanned?.get('license_key');
    if (key !== undefined && activation === null) setLicenseKey(key);
  };
  const send = async () => {
    setTried(true);
    const isGap = [licenseKey, policyId].some((text) => text.trim() === '');
    if (isGap || !verdict.isWhole || file === null) return;
    const wish = {
      license_key: licenseKey.trim(),
      policy_id: policyId.trim(),
      confirmation_code: readable(code, CONFIRMATION_BYTES),
      license_policy: (await file.text()).trim(),
    };
    onAdded(await post('/api/v4/airgap/license', wish));
  };
  const gap = (isMissing: boolean) => (hasTried && isMissing ? 'This is missing.' : null);
  return (
    <Form verb="Add the license" failure="The license was not added." onSend={send}>
      <p class="step-lead">
        The fields check themselves while you type. Spaces do not matter. You can scan the vendor’s QR code as
        the confirmation code.
      </p>
      {activation === null && (
        <Field
          label="License key"
          value={licenseKey}
          onInput={setLicenseKey}
          isMono
          isFirst
          fault={gap(licenseKey.trim() === '')}
        />
      )}
      <Field
        label="Policy id"
        value={policyId}
        onInput={setPolicyId}
        isMono
        isFirst={activation !== null}
        fault={gap(policyId.trim() === '')}
      />
      <Field
        label="Confirmation code"
        value={code}
        onInput={take}
        isMono
        lines={5}
        fault={verdict.fault ?? gap(code.trim() === '')}
        fine={verdict.isWhole ? 'The code is whole.' : null}
      />
      <FileField label="Policy file" file={file} onFile={setFile} fault={gap(file === null)} />
    </Form>
  );
}
