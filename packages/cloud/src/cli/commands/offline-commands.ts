import { type ReadRequest, readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { readUsageFile } from '@berth/protocol/carried/usage-file';
import { formatTable } from '@berth/shell/console/console-text';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { createFileWriter } from '../../http/portal/write-files.ts';
import { type IssuedFile, refreshFile } from '../../store/offline/license-files.ts';
import { answerActivation, answerDeactivation } from '../../store/offline/offline-requests.ts';
import { refuseFile } from '../../store/offline/refuse-unreadable.ts';
import { type CountedUsage, takeUsage } from '../../store/offline/usage.ts';
import { readCarriedFile, writeCarriedFile } from '../carried-files.ts';
import type { Call, Command } from '../command.ts';
import { readCertificateDays } from './license-flags.ts';
import { presentDate, sayCertificate } from './present.ts';

type Facts = Readonly<Record<string, unknown>>;

export const OFFLINE_COMMANDS: readonly Command[] = [
  {
    words: 'offline activate',
    arguments: ['REQUEST-FILE'],
    usage: '[--key KEY] [--certificate-days N] [--out FILE]',
    about: 'answer a request with a license file',
    run: runActivate,
    show: showFile,
  },
  {
    words: 'offline refresh',
    arguments: ['KEY'],
    usage: '[--device HARDWARE_ID] [--certificate-days N] [--out FILE]',
    about: 'create a newer license file for a device that has the license',
    run: runRefresh,
    show: showFile,
  },
  {
    words: 'offline deactivate',
    arguments: ['REQUEST-FILE'],
    usage: '[--key KEY]',
    about: 'count the consumption of a device and deactivate the license there',
    run: runDeactivate,
    show: showDeactivation,
  },
  {
    words: 'offline usage',
    arguments: ['USAGE-FILE'],
    about: 'count new consumption from a usage file',
    run: runUsage,
    show: showUsage,
  },
];

const REQUEST_AGAIN = 'On the server, "berth offline request" makes a new one.';
const USAGE_AGAIN = 'On the server, "berth offline usage" makes a new one.';

function runActivate({ store, signingKeys, words, flags, now }: Call): unknown {
  const request = readRequest(words[0] as string, 'activation');
  if (isRefusal(request)) return request;
  const carried = { request, key: flags.key ?? null, from: null };
  const writer = createFileWriter(signingKeys, now, readCertificateDays(flags));
  const answer = answerActivation(store, carried, writer, now);
  if (isRefusal(answer)) return answer;
  const { requestId: request_id, username } = answer;
  return { request_id, ...(username === undefined ? {} : { username }), ...deliver(answer, flags.out) };
}

function readRequest(path: string, wanted: ReadRequest['fields']['request']): ReadRequest | Refusal {
  const file = readCarriedFile(path);
  const request = readOfflineRequest(file);
  if (request === null) {
    const otherwise = `${path} is not a request of a server, or it is damaged. ${REQUEST_AGAIN}`;
    return refuseFile('offline_file_invalid', file, otherwise);
  }
  const { request: kind } = request.fields;
  if (kind === wanted) return request;
  const right = kind === 'activation' ? 'activate' : 'deactivate';
  return refuse('offline_file_invalid', `${path} asks for ${kind}. Use "cloud offline ${right}".`);
}

function runRefresh({ store, signingKeys, words, flags, now }: Call): unknown {
  const wish = { key: words[0] as string, hardwareId: flags.device ?? null };
  const writer = createFileWriter(signingKeys, now, readCertificateDays(flags));
  const issued = refreshFile(store, wish, writer, now);
  return isRefusal(issued) ? issued : deliver(issued, flags.out);
}

/** The text of the file, or the path it was written to. */
function deliver(issued: IssuedFile, out?: string) {
  const { file, licenseKey, product, hardwareId, dateAt, certificateEndsAt } = issued;
  if (out !== undefined) writeCarriedFile(out, file);
  return {
    license_key: licenseKey,
    product,
    hardware_id: hardwareId,
    date: presentDate(dateAt),
    certificate_expires_at: presentDate(certificateEndsAt),
    ...(out === undefined ? { file } : { out }),
  };
}

function showFile(facts: Facts): string {
  const { file, out, license_key: key, hardware_id: id, username, certificate_expires_at: until } = facts;
  if (out === undefined) return String(file);
  const whose = username === undefined ? '' : ` of the user "${username}"`;
  return `Saved license ${key}${whose} for machine "${id}" in ${out}.\n${sayCertificate(until)}`;
}

function runDeactivate({ store, words, flags, now }: Call): unknown {
  const request = readRequest(words[0] as string, 'deactivation');
  if (isRefusal(request)) return request;
  const answer = answerDeactivation(store, { request, key: flags.key ?? null, from: null }, now);
  if (isRefusal(answer)) return answer;
  return {
    request_id: answer.requestId,
    license_key: answer.licenseKey,
    product: answer.product,
    hardware_id: answer.hardwareId,
    usage: answer.usage === null ? null : presentUsage(answer.usage),
  };
}

type UsageFacts = ReturnType<typeof presentUsage>;

function showDeactivation(facts: { license_key: string; hardware_id: string; usage: UsageFacts | null }) {
  const { license_key: key, hardware_id: id, usage } = facts;
  const done = `Deactivated license ${key} on machine "${id}".`;
  return usage === null ? done : [done, ...showAdded(usage)].join('\n\n');
}

function runUsage({ store, words, now }: Call): unknown {
  const path = words[0] as string;
  const file = readCarriedFile(path);
  const read = readUsageFile(file);
  if (read === null) {
    const otherwise = `${path} is not a usage file, or it is damaged. ${USAGE_AGAIN}`;
    return refuseFile('usage_file_invalid', file, otherwise);
  }
  const counted = takeUsage(store, { ...read, from: null }, now);
  return isRefusal(counted) ? counted : presentUsage(counted);
}

function presentUsage({ hardwareId, sequence, isRepeat, added }: CountedUsage) {
  return {
    hardware_id: hardwareId,
    sequence,
    is_repeat: isRepeat,
    added: added.map(({ licenseKey, feature, amount, total }) => ({
      license_key: licenseKey,
      feature,
      added: amount,
      total_consumptions: total,
    })),
  };
}

function showUsage(usage: UsageFacts): string {
  const { hardware_id: id, sequence, is_repeat: isRepeat } = usage;
  if (isRepeat) return `Usage file ${sequence} of machine "${id}" has already been counted.`;
  return [`Counted usage file ${sequence} of machine "${id}".`, ...showAdded(usage)].join('\n\n');
}

function showAdded({ added }: UsageFacts): readonly string[] {
  if (added.length === 0) return [];
  const rows = added.map((one) => [one.license_key, one.feature, one.added, one.total_consumptions]);
  return [formatTable(['license', 'feature', 'added', 'total'], rows)];
}
