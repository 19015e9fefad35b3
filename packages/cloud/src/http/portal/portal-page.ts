import { makeQrCode, outlineQrCode } from '@berth/protocol/carried/qr-code';
import { writeScannedText } from '@berth/protocol/carried/scanned-text';
import { codeSymbols, groupCode } from '@berth/protocol/carried/typed-code';
import { ERRORS } from '@berth/protocol/errors';
import { withRetryAfter } from '@berth/web/reply';
import type { AirgapAnswer } from '../../store/offline/airgap.ts';
import type { AnsweredDeactivation } from '../../store/offline/offline-requests.ts';
import type { CountedUsage } from '../../store/offline/usage.ts';
import type { Problem } from '../problem.ts';
import type { Reply } from '../reply.ts';
import { type Html, html } from './html.ts';

export const PORTAL = '/portal';

function page(title: string, content: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="${PORTAL}/style.css">
</head>
<body>
<header>
<h1><a href="${PORTAL}">License portal</a></h1>
<p>Licenses for servers that cannot reach the internet.</p>
</header>
<main>
${content}
</main>
</body>
</html>
`.markup;
}

function reply(title: string, content: Html): Reply {
  return { status: 200, body: page(title, content), type: 'html' };
}

/** The user's input, shown again after an error. */
export interface Typed {
  readonly licenseKey: string;
  readonly hardwareId: string;
  readonly activationCode: string;
}

export const NOTHING_TYPED: Typed = { licenseKey: '', hardwareId: '', activationCode: '' };

export type FormName = 'offline' | 'airgap';

export function showForms(): Reply {
  return reply('License portal', html`${offlineForm(NOTHING_TYPED)}${airgapForm(NOTHING_TYPED)}`);
}

/** Shows the message first, followed by its form. */
export function showProblem({ code, message }: Problem, form: FormName, typed: Typed): Reply {
  const note = html`<div class="note bad" role="alert"><p>${message}</p></div>`;
  const forms =
    form === 'offline'
      ? html`${offlineForm(typed)}${airgapForm(NOTHING_TYPED)}`
      : html`${airgapForm(typed)}${offlineForm(NOTHING_TYPED)}`;
  const { status } = ERRORS[code];
  return withRetryAfter({ ...reply('Error · License portal', html`${note}${forms}`), status, code });
}

function offlineForm({ licenseKey }: Typed): Html {
  return html`<section>
<h2>With a file</h2>
<p>On the server, create a request with <code>berth offline request</code> and submit it here. The answer is
the license file: take it back to the server. Submit files that return a license, and usage files, here
too.</p>
<form method="post" action="${PORTAL}/offline" enctype="multipart/form-data">
<label for="file">File from the server</label>
<input type="file" id="file" name="file" required>
<label for="offline-key">License key</label>
<input type="text" id="offline-key" name="license_key" value="${licenseKey}" maxlength="256"
  autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="offline-key-hint">
<small id="offline-key-hint">Only needed if the request does not contain it.</small>
<button>Submit the file</button>
</form>
</section>
`;
}

function airgapForm({ licenseKey, hardwareId, activationCode }: Typed): Html {
  return html`<section>
<h2>With codes (air gap)</h2>
<p>Your vendor gave you an initialization code. On the server, <code>berth airgap activate</code> creates an
activation code from it, and shows the hardware id. Type both here, or scan the QR code that the server
shows and paste its text. The answer is a policy id and a confirmation code to type on the server, and a
policy file to carry there.</p>
<form method="post" action="${PORTAL}/airgap">
${codeField('license_key', 'License key', licenseKey)}
${codeField('hardware_id', 'Hardware id', hardwareId)}
<label for="activation_code">Activation code</label>
<textarea id="activation_code" name="activation_code" rows="5" maxlength="2000" required autocomplete="off"
  autocapitalize="off" spellcheck="false" aria-describedby="activation-hint">${activationCode}</textarea>
<small id="activation-hint">In groups or in one line; blanks, dashes and line breaks do not matter. You can
also paste the text of the QR code: it contains the other fields, which may then stay empty.</small>
<button>Confirm</button>
</form>
</section>
`;
}

function codeField(name: string, label: string, value: string): Html {
  return html`<label for="${name}">${label}</label>
<input type="text" id="${name}" name="${name}" value="${value}" maxlength="256" autocomplete="off"
  autocapitalize="off" spellcheck="false">`;
}

const BACK = html`<p class="back"><a href="${PORTAL}">Back to the portal</a></p>
`;

/** The code in groups for reading aloud, and as a QR code. */
function codePictures({ licenseKey, policyId, confirmationCode }: AirgapAnswer): Html {
  const confirmation_code = codeSymbols(confirmationCode);
  const scanned = writeScannedText({ license_key: licenseKey, policy_id: policyId, confirmation_code });
  const code = makeQrCode(scanned);
  return html`<label for="grouped-code">Or type it in groups</label>
<textarea id="grouped-code" class="groups" rows="5" readonly
  aria-describedby="grouped-hint">${groupCode(confirmationCode)}</textarea>
<small id="grouped-hint">Upper or lower case. Each line ends with a check character, so the server
can say which line has a mistake.</small>
<figure>
<svg class="qr" viewBox="0 0 ${code.length} ${code.length}" role="img" aria-labelledby="qr-title"
  shape-rendering="crispEdges"><title id="qr-title">QR code for a scanner at the server</title>
<rect width="100%" height="100%" fill="#fff"/><path fill="#000" d="${outlineQrCode(code)}"/></svg>
<figcaption>License key, policy id and confirmation code, for a scanner at the server:
<code>berth airgap install</code> accepts its text in place of the code. The policy file is too large for
this.</figcaption>
</figure>
`;
}

export function showConfirmation(answer: AirgapAnswer, typed: Typed): Reply {
  const { policyId, confirmationCode } = answer;
  return reply(
    'Confirmed · License portal',
    html`<div class="note good" role="status">
<p>The license is confirmed. The server needs all three:</p></div>
<section class="wide">
<label for="policy-id">1. Policy id</label>
<input type="text" id="policy-id" value="${policyId}" readonly>
<label for="confirmation-code">2. Confirmation code</label>
<textarea id="confirmation-code" rows="4" readonly>${confirmationCode}</textarea>
${codePictures(answer)}
<form method="post" action="${PORTAL}/airgap/policy">
${hiddenCodes(typed)}
<button>3. Download the policy file</button>
</form>
<p>Enter them on the server with <code>berth airgap install</code>.</p>
</section>
${certificateNote(answer)}
${BACK}`,
  );
}

/** The codes again, for forms that need the same answer. */
function hiddenCodes({ licenseKey, hardwareId, activationCode }: Typed): Html {
  return html`<input type="hidden" name="license_key" value="${licenseKey}">
<input type="hidden" name="hardware_id" value="${hardwareId}">
<input type="hidden" name="activation_code" value="${activationCode}">`;
}

/** A key that is typed here proves nothing: only the vendor certifies it. */
function certificateNote({ certificateEndsAt }: AirgapAnswer): Html {
  if (certificateEndsAt !== null) return html``;
  return html`<section class="wide">
<h2>Certificate of the server</h2>
<p>The policy file contains none. If applications verify what they are lent, send the grant key, which the
server shows below its codes, to the vendor, who issues the certificate as a file.</p>
</section>`;
}

export function showDeactivation({ product, hardwareId, usage }: AnsweredDeactivation): Reply {
  return reply(
    'Returned · License portal',
    html`<div class="note good" role="status">
<p>Returned the license for “${product}”. It is no longer activated on machine “${hardwareId}”.</p></div>
${usage === null ? [] : [usageTable(usage)]}${BACK}`,
  );
}

export function showUsage(usage: CountedUsage): Reply {
  const { sequence, hardwareId, isRepeat } = usage;
  const done = isRepeat
    ? 'has already been counted. Nothing was counted again.'
    : usage.added.length === 0
      ? 'was counted. It contained nothing new.'
      : 'was counted.';
  return reply(
    'Usage · License portal',
    html`<div class="note good" role="status">
<p>Usage file ${sequence} of machine “${hardwareId}” ${done}</p></div>
${usageTable(usage)}${BACK}`,
  );
}

function usageTable({ added }: CountedUsage): Html {
  if (added.length === 0) return html``;
  const rows = added.map(
    ({ licenseKey, feature, amount, total }) => html`<tr><td>${licenseKey}</td><td>${feature ?? '–'}</td>
<td class="amount">${amount}</td><td class="amount">${total}</td></tr>
`,
  );
  return html`<section class="wide"><table>
<tr><th>License</th><th>Feature</th><th class="amount">New</th><th class="amount">Total</th></tr>
${rows}</table></section>
`;
}
