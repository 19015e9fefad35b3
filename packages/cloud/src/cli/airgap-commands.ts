import { isRefusal } from '../core/refusal.ts';
import { createFileWriter, judgeLicense } from '../http/write-files.ts';
import { confirmAirgap, renewPolicy, startAirgap } from '../store/airgap.ts';
import { writeCarriedFile } from './carried-files.ts';
import type { Call, Command } from './command.ts';
import { presentDate } from './present.ts';
import { formatFacts } from './terminal.ts';

type Facts = Readonly<Record<string, unknown>>;

export const AIRGAP_COMMANDS: readonly Command[] = [
  {
    words: 'airgap start',
    arguments: ['KEY'],
    flags: [],
    usage: '',
    about: 'an initialization code for a server behind an air gap',
    run: runStart,
    show: (facts: Facts) => formatFacts({ 'initialization code': facts.initialization_code }),
  },
  {
    words: 'airgap confirm',
    arguments: ['KEY'],
    flags: ['hardware-id', 'activation-code', 'out'],
    usage: '--hardware-id H --activation-code C [--out FILE]',
    about: 'activate it for the server that shows these',
    run: runConfirm,
    show: showConfirmation,
  },
  {
    words: 'airgap policy',
    arguments: ['KEY'],
    flags: ['out'],
    usage: '[--out FILE]',
    about: 'a newer policy file',
    run: runPolicy,
    show: ({ out, policy_file: file, policy_id: id }: Facts) =>
      out === undefined ? String(file) : `${out} is the policy ${id}.`,
  },
];

function runStart({ shelf, words, now }: Call): unknown {
  const started = startAirgap(shelf, words[0] as string, now, judgeLicense);
  if (isRefusal(started)) return started;
  return { license_key: started.licenseKey, initialization_code: started.initializationCode };
}

function runConfirm({ shelf, signingKey, airgapKey, words, flags, now }: Call): unknown {
  const { out } = flags;
  const codes = {
    key: words[0] as string,
    hardwareId: flags['hardware-id'] as string,
    activationCode: flags['activation-code'] as string,
  };
  const answer = confirmAirgap(shelf, codes, { airgapKey, writer: createFileWriter(signingKey, now) }, now);
  if (isRefusal(answer)) return answer;
  return {
    license_key: answer.licenseKey,
    product: answer.product,
    hardware_id: answer.hardwareId,
    policy_id: answer.policyId,
    confirmation_code: answer.confirmationCode,
    ...deliverPolicy(answer.policyFile, out),
  };
}

function deliverPolicy(file: string, out: string | undefined) {
  if (out === undefined) return { policy_file: file };
  writeCarriedFile(out, file);
  return { out };
}

function showConfirmation(facts: Facts): string {
  return formatFacts({
    'policy id': facts.policy_id,
    'confirmation code': facts.confirmation_code,
    'policy file': facts.out ?? facts.policy_file,
  });
}

function runPolicy({ shelf, signingKey, words, flags, now }: Call): unknown {
  const policy = renewPolicy(shelf, words[0] as string, createFileWriter(signingKey, now), now);
  if (isRefusal(policy)) return policy;
  return {
    license_key: policy.licenseKey,
    policy_id: policy.policyId,
    date: presentDate(policy.dateAt),
    ...deliverPolicy(policy.file, flags.out),
  };
}
