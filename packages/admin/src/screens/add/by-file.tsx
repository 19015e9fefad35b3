import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import type { LicenseObject } from '@berth/protocol/api/license-object';
import { useState } from 'preact/hooks';
import { post, upload } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { FileField } from '../../parts/file-field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Step } from '../../parts/step.tsx';
import { VendorKeysForm } from './vendor-keys.tsx';
import {
  Done,
  placeOf,
  type Ready,
  type Travel,
  Waiting,
  WayColumns,
  type WayProps,
  WhenReady,
} from './way.tsx';

type RequestFile = PostAnswer<'/api/v4/license/generate'>;

/** A request goes out, a license file comes back. */
export function ByFile(props: WayProps) {
  return <WhenReady kind="activation">{(ready) => <FileSteps {...props} {...ready} />}</WhenReady>;
}

function FileSteps({ added, onAdded, onAgain, missing, onKeys, waiting: known }: WayProps & Ready) {
  const [request, setRequest] = useState<RequestFile | null>(null);
  const [waiting, setWaiting] = useState(known);
  const [hasFile, setHasFile] = useState(false);
  const isMade = request !== null || waiting !== null;
  const step = added !== null ? 5 : missing.length > 0 ? 1 : hasFile ? 4 : isMade ? 3 : 2;
  const is = (number: number) => placeOf(number, step);
  const travels: readonly Travel[] = [
    { what: 'Public key', way: 'in', is: is(1) },
    { what: 'Request file', way: 'out', is: step === 2 ? 'now' : is(3) },
    { what: 'License file', way: 'in', is: is(4) },
  ];
  const fileName = request?.file_name ?? waiting?.file_name;
  const another = () => {
    setRequest(null);
    setWaiting(null);
  };
  const have = () => setHasFile(true);
  return (
    <WayColumns travels={travels}>
      <Step number={1} title="Let this server know the vendor’s public key" is={is(1)}>
        {step === 1 && <VendorKeysForm missing={missing} onSet={onKeys} />}
        {step > 1 && <p class="done-line">Known.</p>}
      </Step>
      <Step number={2} title="Make a request" is={is(2)}>
        {step === 2 && <RequestForm onMade={setRequest} onSkip={have} />}
        {step > 2 && <p class="done-line">{fileName ?? 'Not needed.'}</p>}
      </Step>
      <Step number={3} title="Give the file to the vendor" is={is(3)}>
        {step === 3 && request !== null && <Carry request={request} onDone={have} />}
        {step === 3 && request === null && waiting !== null && (
          <Waiting
            request={waiting}
            what="The request"
            answer="the license file"
            onDone={have}
            another={['Make another request', another]}
          >
            The browser saved it as <b>{waiting.file_name}</b>: take it to the vendor’s portal, and get a
            license file for it. If it is lost, make another one.
          </Waiting>
        )}
      </Step>
      <Step number={4} title="Take the vendor’s license file" is={is(4)}>
        {step === 4 && <UploadForm onAdded={onAdded} />}
      </Step>
      <Step number={5} title="Done: the license is here, and slots can be lent" is={is(5)}>
        {added !== null && <Done license={added} onAgain={onAgain} />}
      </Step>
    </WayColumns>
  );
}

interface RequestFormProps {
  readonly onMade: (made: RequestFile) => void;
  readonly onSkip: () => void;
}

function RequestForm({ onMade, onSkip }: RequestFormProps) {
  const { fields, typed } = useFields({ product: '', license_key: '' });
  const send = async () => {
    const wish = { product: fields.product.trim(), license_key: fields.license_key.trim() };
    const made = await post('/api/v4/license/generate', wish);
    saveFile(made.file_name, made.request_data, 'text/plain');
    onMade(made);
  };
  return (
    <Form
      className="form"
      verb="Make the request file"
      failure="The request was not made."
      onSend={send}
      beside={
        <Button as="link" onClick={onSkip}>
          I have a license file already
        </Button>
      }
    >
      <Field
        label="License key"
        {...typed('license_key')}
        isMono
        hint="If the vendor gave you one. It can also be typed at the portal."
        isFirst
      />
      <Field label="Product code" {...typed('product')} hint="If you know it." />
    </Form>
  );
}

function Carry({ request, onDone }: { readonly request: RequestFile; readonly onDone: () => void }) {
  const again = () => saveFile(request.file_name, request.request_data, 'text/plain');
  return (
    <>
      <p class="step-lead">
        Your browser has saved <b>{request.file_name}</b>. Take it to the vendor’s portal, on a stick or by
        mail, and get a license file for it.
      </p>
      {request.signed_by === 'server' && (
        <p class="second">
          The vendor may ask for the fingerprint of this server’s key: <code>{request.identity_key}</code>
        </p>
      )}
      <p class="gap done-line">
        <Button as="primary" onClick={onDone}>
          I have the license file
        </Button>
        <Button onClick={again}>Save the request again</Button>
      </p>
    </>
  );
}

function UploadForm({ onAdded }: { readonly onAdded: (license: LicenseObject) => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const send = async () => {
    setFault(file === null ? 'Choose the license file.' : null);
    if (file !== null) onAdded(await upload('/api/v4/license/upload', file));
  };
  return (
    <Form verb="Add the license" failure="The license was not added." onSend={send}>
      <p class="step-lead">The file that the vendor’s portal gave you for the request, or a newer one.</p>
      <FileField label="License file" file={file} onFile={setFile} fault={fault} />
    </Form>
  );
}
