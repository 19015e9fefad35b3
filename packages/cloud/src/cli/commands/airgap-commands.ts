import { readScannedText, writeScannedText } from '@berth/protocol/carried/scanned-text';
import { codeSymbols, groupCode } from '@berth/protocol/carried/typed-code';
import { formatFacts } from '@berth/protocol/console/console-text';
import { ValueError } from '../../core/read-values.ts';
import { isRefusal } from '../../core/refusal.ts';
import { createFileWriter, judgeLicense } from '../../http/portal/write-files.ts';
import { type AirgapCodes, confirmAirgap, renewPolicy, startAirgap } from '../../store/offline/airgap.ts';
import { writeCarriedFile } from '../carried-files.ts';
import type { Call, Command } from '../command.ts';
import { presentDate } from './present.ts';

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
  readonly certificate: string | null;
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
    usage: '--activation-code C [--hardware-id H] [--grant-key X] [--out FILE] [--qr]',
    about: "activate a license with a server's codes; the text of its QR code has all three",
    run: runConfirm,
    show: showConfirmation,
    scan: ({ license_key, policy_id, confirmation_code: code }: Confirmed) =>
      writeScannedText({ license_key, policy_id, confirmation_code: codeSymbols(code) }),
  },
  {
    words: 'airgap policy',
    arguments: ['KEY'],
    usage: '[--out FILE]',
    about: 'create a newer policy file',
    run: runPolicy,
    show: ({ out, policy_file: file, policy_id: id }: Facts) =>
      out === undefined ? String(file) : `Saved policy ${id} in ${out}.`,
  },
];

function runStart({ store, words, now }: Call): unknown {
  const started = startAirgap(store, words[0] as string, now, judgeLicense);
  if (isRefusal(started)) return started;
  return { license_key: started.licenseKey, initialization_code: started.initializationCode };
}

function readCodes({ words, flags }: Call): AirgapCodes {
  const { 'hardware-id': typedId, 'activation-code': typed = '' } = flags;
  const scanned = readScannedText(typed, 'activation_code');
  const hardwareId = typedId ?? scanned?.get('hardware_id');
  const activationCode = scanned?.get('activation_code') ?? typed;
  if (hardwareId === undefined) {
    throw new ValueError('Add --hardware-id H. Only the text of a QR code contains it.');
  }
  const key = words[0] as string;
  const named = scanned?.get('license_key') ?? key;
  const grantKey = flags['grant-key'] ?? scanned?.get('grant_key') ?? '';
  if (named === key) return { key, hardwareId, activationCode, grantKey };
  throw new ValueError('The QR code is for a different license key.');
}

function runConfirm(call: Call): unknown {
  const { store, signingKeys, airgapKey, now, flags } = call;
  const { out } = flags;
  const codes = readCodes(call);
  const answer = confirmAirgap(store, codes, { airgapKey, writer: createFileWriter(signingKeys, now) }, now);
  if (isRefusal(answer)) return answer;
  return {
    license_key: answer.licenseKey,
    product: answer.product,
    hardware_id: answer.hardwareId,
    policy_id: answer.policyId,
    confirmation_code: answer.confirmationCode,
    certificate: answer.certificates.length === 0 ? null : answer.certificates.join('\n'),
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
    certificate: facts.certificate === null ? 'none; add --grant-key X for one' : 'in the policy file',
  });
  return showCode(all, 'Confirmation code', code);
}

function showCode(facts: string, name: string, code: string): string {
  const about =
    'The same in groups for typing. Each line ends with a check character that reveals typing mistakes:';
  return [facts, about, `${name}:\n${groupCode(code)}`].join('\n\n');
}

function runPolicy({ store, signingKeys, words, flags, now }: Call): unknown {
  const policy = renewPolicy(store, words[0] as string, createFileWriter(signingKeys, now), now);
  if (isRefusal(policy)) return policy;
  return {
    license_key: policy.licenseKey,
    policy_id: policy.policyId,
    date: presentDate(policy.dateAt),
    ...deliverPolicy(policy.file, flags.out),
  };
}
