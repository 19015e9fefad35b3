import { readScannedText, writeScannedText } from '@berth/protocol/carried/scanned-text';
import { codeSymbols, groupCode } from '@berth/protocol/carried/typed-code';
import { formatFacts } from '@berth/shell/console/console-text';
import { ValueError } from '../../core/read-values.ts';
import { isRefusal } from '../../core/refusal.ts';
import { createFileWriter, judgeLicense } from '../../http/portal/write-files.ts';
import { type AirgapCodes, confirmAirgap, renewPolicy, startAirgap } from '../../store/offline/airgap.ts';
import { writeCarriedFile } from '../carried-files.ts';
import type { Call, Command } from '../command.ts';
import { readCertificateDays } from './license-flags.ts';
import { presentDate, sayCertificate } from './present.ts';

type Facts = Readonly<Record<string, unknown>>;

interface Started {
  readonly license_key: string;
  readonly initialization_code: string;
}

interface Confirmed {
  readonly license_key: string;
  readonly policy_id: string;
  readonly confirmation_code: string;
  readonly out?: string;
  readonly policy_file?: string;
  readonly certificate_expires_at: string | null;
  readonly grant_key: string | null;
}

export const AIRGAP_COMMANDS: readonly Command[] = [
  {
    words: 'airgap start',
    arguments: ['KEY'],
    usage: '[--qr]',
    about: 'create an initialization code for a server behind an air gap',
    run: runStart,
    show: ({ initialization_code: code }: Started) =>
      showCode(formatFacts({ 'initialization code': code }), 'Initialization code', code),
    scan: ({ license_key, initialization_code: code }: Started) =>
      writeScannedText({ license_key, initialization_code: codeSymbols(code) }),
  },
  {
    words: 'airgap confirm',
    arguments: ['KEY'],
    usage: '--activation-code C [--hardware-id H] [--certificate-days N] [--out FILE] [--qr]',
    about: "activate a license with a server's codes; the text of its QR code has both",
    run: runConfirm,
    show: showConfirmation,
    scan: ({ license_key, policy_id, confirmation_code: code }: Confirmed) =>
      writeScannedText({ license_key, policy_id, confirmation_code: codeSymbols(code) }),
  },
  {
    words: 'airgap policy',
    arguments: ['KEY'],
    usage: '[--certificate-days N] [--out FILE]',
    about: 'create a newer policy file',
    run: runPolicy,
    show: ({ out, policy_file: file, policy_id: id, certificate_expires_at: until }: Facts) =>
      out === undefined ? String(file) : `Saved policy ${id} in ${out}.\n${sayCertificate(until)}`,
  },
];

function runStart({ store, words, now }: Call): unknown {
  const started = startAirgap(store, words[0] as string, now, judgeLicense);
  if (isRefusal(started)) return started;
  return { license_key: started.licenseKey, initialization_code: started.initializationCode };
}

function readCodes({ words, flags }: Call): AirgapCodes & { readonly grantKey: string | null } {
  const { 'hardware-id': typedId, 'activation-code': typed = '' } = flags;
  const scanned = readScannedText(typed, 'activation_code');
  const hardwareId = typedId ?? scanned?.get('hardware_id');
  const activationCode = scanned?.get('activation_code') ?? typed;
  if (hardwareId === undefined) {
    throw new ValueError('Add --hardware-id H. Only the text of a QR code contains it.');
  }
  const key = words[0] as string;
  const named = scanned?.get('license_key') ?? key;
  const grantKey = scanned?.get('grant_key') ?? null;
  if (named === key) return { key, hardwareId, activationCode, grantKey };
  throw new ValueError('The QR code is for a different license key.');
}

function runConfirm(call: Call): unknown {
  const { store, signingKeys, airgapKey, now, flags } = call;
  const { out } = flags;
  const { grantKey, ...codes } = readCodes(call);
  const writer = createFileWriter(signingKeys, now, readCertificateDays(flags));
  const answer = confirmAirgap(store, codes, { airgapKey, writer }, now);
  if (isRefusal(answer)) return answer;
  return {
    license_key: answer.licenseKey,
    product: answer.product,
    hardware_id: answer.hardwareId,
    policy_id: answer.policyId,
    confirmation_code: answer.confirmationCode,
    certificate_expires_at: presentDate(answer.certificateEndsAt),
    grant_key: grantKey,
    ...deliverPolicy(answer.policyFile, out),
  };
}

function deliverPolicy(file: string, out: string | undefined) {
  if (out === undefined) return { policy_file: file };
  writeCarriedFile(out, file);
  return { out };
}

function showConfirmation(facts: Confirmed): string {
  const { confirmation_code: code } = facts;
  const all = formatFacts({
    'policy id': facts.policy_id,
    'confirmation code': code,
    'policy file': facts.out ?? facts.policy_file,
    certificate: sayWhere(facts),
  });
  return showCode(all, 'Confirmation code', code);
}

/** Codes prove no grant key, so the vendor has to answer for it. */
function sayWhere({ certificate_expires_at: until, license_key: key, grant_key: x }: Confirmed): string {
  if (until !== null) return `in the policy file, valid until ${until}`;
  return `none; make one with "cloud certificate issue ${key} --grant-key=${x ?? 'X'}"`;
}

function showCode(facts: string, name: string, code: string): string {
  const about =
    'The same in groups for typing. Each line ends with a check character that reveals typing mistakes:';
  return [facts, about, `${name}:\n${groupCode(code)}`].join('\n\n');
}

function runPolicy({ store, signingKeys, words, flags, now }: Call): unknown {
  const writer = createFileWriter(signingKeys, now, readCertificateDays(flags));
  const policy = renewPolicy(store, words[0] as string, writer, now);
  if (isRefusal(policy)) return policy;
  return {
    license_key: policy.licenseKey,
    policy_id: policy.policyId,
    date: presentDate(policy.dateAt),
    certificate_expires_at: presentDate(policy.certificateEndsAt),
    ...deliverPolicy(policy.file, flags.out),
  };
}
