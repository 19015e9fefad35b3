import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { makeQrCode, outlineQrCode } from '@berth/protocol/carried/qr-code';
import { writeScannedText } from '@berth/protocol/carried/scanned-text';
import { codeSymbols, groupCode, groupGrantKey, groupHardwareId } from '@berth/protocol/carried/typed-code';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/states.tsx';

/** What the server makes of the vendor's initialization code. */
export type Activation = PostAnswer<'/api/v4/airgap/generate'>;

interface CodeSheetProps {
  readonly activation: Activation;
  readonly onDone: () => void;
}

/** What the vendor needs: to read out, to type, to copy, to scan or to print. */
export function CodeSheet({ activation, onDone }: CodeSheetProps) {
  const { license_key, hardware_id, activation_code, grant_key } = activation;
  const scanned = writeScannedText({
    license_key,
    hardware_id,
    activation_code: codeSymbols(activation_code),
    grant_key,
  });
  return (
    <>
      <p class="step-lead">
        Type them at the vendor’s portal, or read them out on the phone. Capital and small letters are the
        same, digits are blue, and the last sign of each line checks the line. The portal does not take the
        grant key: send it to the vendor if applications verify what they are lent, for a certificate.
      </p>
      <p class="print-only">License key {license_key}</p>
      <CodeBox title="Activation code" lines={groupCode(activation_code)} copy={activation_code} />
      <CodeBox title="Hardware id" lines={groupHardwareId(hardware_id) ?? hardware_id} copy={hardware_id} />
      <CodeBox title="Grant key" lines={groupGrantKey(grant_key)} copy={grant_key} />
      <div class="code-head">
        <h3>All of it, to scan</h3>
      </div>
      <QrCode text={scanned} label="QR code with all codes" />
      <p class="gap done-line no-print">
        <Button as="primary" onClick={onDone}>
          I have the vendor’s answer
        </Button>
        <Button icon="print" onClick={() => print()}>
          Print a sheet
        </Button>
      </p>
    </>
  );
}

interface CodeBoxProps {
  readonly title: string;
  readonly lines: string;
  readonly copy: string;
}

function CodeBox({ title, lines, copy }: CodeBoxProps) {
  const rows = lines.split('\n');
  const { length } = lines.replace(/\s/g, '');
  return (
    <>
      <div class="code-head">
        <h3>{title}</h3>
        <span class="quiet small">
          {length} characters in {rows.length} {rows.length === 1 ? 'line' : 'lines'}
        </span>
        <span class="end no-print">
          <CopyButton text={copy} label="Copy" />
        </span>
      </div>
      <div class="code-box" role="group" aria-label={title} tabIndex={0}>
        <pre>
          {rows.map((row, index) => (
            <div key={row}>
              <span class="row-number" aria-hidden="true">
                {index + 1}
              </span>
              <Digits text={row} />
            </div>
          ))}
        </pre>
      </div>
    </>
  );
}

/** Digits in another colour, so that 0 is no O and 1 no I. */
function Digits({ text }: { readonly text: string }) {
  const parts = text.split(/(\d+)/);
  return <>{parts.map((part) => (/^\d/.test(part) ? <span class="digit">{part}</span> : part))}</>;
}

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const code = makeQrCode(text);
  return (
    <svg class="qr" viewBox={`0 0 ${code.length} ${code.length}`} role="img" aria-label={label}>
      <path d={outlineQrCode(code)} shape-rendering="crispEdges" />
    </svg>
  );
}
