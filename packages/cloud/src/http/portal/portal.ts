import { readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { readScannedText } from '@berth/protocol/carried/scanned-text';
import { readUsageFile } from '@berth/protocol/carried/usage-file';
import type { ErrorCode } from '@berth/protocol/errors';
import { fileReply } from '@berth/web/reply';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { type AirgapAnswer, confirmAirgap } from '../../store/offline/airgap.ts';
import {
  answerActivation,
  answerDeactivation,
  type CarriedRequest,
} from '../../store/offline/offline-requests.ts';
import { refuseFile } from '../../store/offline/refuse-unreadable.ts';
import { takeUsage } from '../../store/offline/usage.ts';
import { limitConcurrency } from '../limits/limit-concurrency.ts';
import { LIMITS } from '../limits/limits.ts';
import type { Reply } from '../reply.ts';
import type { Context, Route } from '../route.ts';
import {
  type FormName,
  NOTHING_TYPED,
  PORTAL,
  showConfirmation,
  showDeactivation,
  showForms,
  showProblem,
  showUsage,
  type Typed,
} from './portal-page.ts';
import { PORTAL_STYLE } from './portal-style.ts';
import { type Form, readForm } from './read-form.ts';
import { createFileWriter } from './write-files.ts';

/**
 * The portal for users whose servers have no internet access. It needs no account and no API keys. A license
 * key suffices for a free activation; everything about an activated machine needs the signature of that
 * machine, and codes must match.
 */
export const PORTAL_ROUTES: readonly Route[] = [
  { name: 'portal', methods: ['GET'], paths: [PORTAL], needsKeys: false, handle: showForms },
  {
    name: 'portal_style',
    methods: ['GET'],
    paths: [`${PORTAL}/style.css`],
    needsKeys: false,
    handle: sendStyle,
  },
  ...formRoutes('offline', 'offline', handInFile),
  ...formRoutes('airgap', 'airgap', confirmCodes),
  ...formRoutes('airgap/policy', 'airgap', downloadPolicy),
];

type Handle = (form: Form, context: Context) => Promise<Reply> | Reply;

/** A form, and the page for a GET of the form's address. */
function formRoutes(path: string, form: FormName, handle: Handle): readonly Route[] {
  const where = {
    name: `portal_${path.replace('/', '_')}`,
    paths: [`${PORTAL}/${path}`],
    needsKeys: false,
  } as const;
  return [
    { ...where, methods: ['GET'], handle: showForms },
    {
      ...where,
      methods: ['POST'],
      handle: (request, context) =>
        limitForms(context.address, async () => {
          const form = await readForm(request);
          return context.limitGuesses(() => handle(form, context));
        }),
      explain: (problem) => showProblem(problem, form, NOTHING_TYPED),
    },
  ];
}

function sendStyle(): Reply {
  return { status: 200, body: PORTAL_STYLE, type: 'css' };
}

const limitForms = limitConcurrency({ inTotal: LIMITS.forms, perAddress: LIMITS.formsPerAddress });

/** The text of a server's QR code fills all fields that are empty. Its grant key is for the vendor alone. */
function readTyped({ text }: Form): Typed {
  const activationCode = text('activation_code');
  const scanned = readScannedText(activationCode, 'activation_code');
  const read = (name: string) => text(name) || (scanned?.get(name) ?? '');
  return {
    licenseKey: read('license_key'),
    hardwareId: read('hardware_id'),
    activationCode: scanned?.get('activation_code') ?? activationCode,
  };
}

/** Errors that users need to see although they reveal that a license exists. They count as guesses. */
const REVEALING: Partial<Record<ErrorCode, string>> = {
  license_activated_max_times:
    'The license has reached its limit of activations. Return it on one machine, or ask the vendor.',
  license_not_enabled: 'The vendor has disabled the license.',
  license_expired: 'The license has expired. Ask the vendor to extend it.',
  blacklisted: 'This machine is barred from all licenses. Ask the vendor.',
  license_not_floating: 'The license has no slots to lend. Ask the vendor.',
  license_not_readable: 'The license is larger than servers can read. Ask the vendor for a smaller one.',
};

/** Anyone may ask here, so responses contain no ids, dates or numbers of licenses. */
function explainToStranger(refusal: Refusal, form: FormName, typed: Typed): Reply {
  const message = REVEALING[refusal.code];
  if (message === undefined) return showProblem(refusal, form, typed);
  return { ...showProblem({ ...refusal, message }, form, typed), isGuess: true };
}

/** The file contains its type. */
async function handInFile(form: Form, context: Context): Promise<Reply> {
  const typed = readTyped(form);
  const reply = await takeFile(form.file, typed, context);
  return isRefusal(reply) ? explainToStranger(reply, 'offline', typed) : reply;
}

async function takeFile(
  file: File | null,
  { licenseKey }: Typed,
  context: Context,
): Promise<Reply | Refusal> {
  if (file === null) {
    return refuse('missing_parameters', 'Choose the file from the server first.');
  }
  const text = await file.text();
  const request = readOfflineRequest(text);
  const { address: from } = context;
  if (request !== null)
    return answerRequest({ request, key: licenseKey === '' ? null : licenseKey, from }, context);
  const read = readUsageFile(text);
  if (read === null) {
    const otherwise = 'The file is not a request or a usage file of a server, or it is damaged.';
    return refuseFile('offline_file_invalid', text, otherwise);
  }
  const counted = takeUsage(context.store, { ...read, from }, context.now);
  return isRefusal(counted) ? counted : showUsage(counted);
}

function answerRequest(carried: CarriedRequest, { store, signingKeys, now }: Context): Reply | Refusal {
  if (carried.request.fields.request === 'deactivation') {
    const given = answerDeactivation(store, carried, now);
    return isRefusal(given) ? given : showDeactivation(given);
  }
  const answer = answerActivation(store, carried, createFileWriter(signingKeys, now), now);
  return isRefusal(answer) ? answer : fileReply(answer.file, `${answer.product}.lic`);
}

function confirmCodes(form: Form, context: Context): Reply {
  return confirm(form, context, showConfirmation);
}

/** Downloads the policy file. The same codes always give the same file. */
function downloadPolicy(form: Form, context: Context): Reply {
  return confirm(form, context, ({ policyFile, product }) => fileReply(policyFile, `${product}-policy.lic`));
}

function confirm(
  form: Form,
  { store, signingKeys, airgapKey, now }: Context,
  show: (answer: AirgapAnswer, typed: Typed) => Reply,
): Reply {
  const typed = readTyped(form);
  const { licenseKey: key, ...codes } = typed;
  const tools = { airgapKey, writer: createFileWriter(signingKeys, now) };
  const answer = confirmAirgap(store, { key, ...codes }, tools, now);
  return isRefusal(answer) ? explainToStranger(answer, 'airgap', typed) : show(answer, typed);
}
