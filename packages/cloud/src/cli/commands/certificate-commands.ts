import { isRefusal } from '../../core/refusal.ts';
import { certifyByFile } from '../../store/offline/certificate-files.ts';
import { writeCarriedFile } from '../carried-files.ts';
import type { Call, Command } from '../command.ts';
import { readCertificateDays } from './license-flags.ts';
import { presentDate } from './present.ts';

export const CERTIFICATE_COMMANDS: readonly Command[] = [
  {
    words: 'certificate issue',
    arguments: ['KEY'],
    usage: '[--device HARDWARE_ID] [--grant-key X] [--certificate-days N] [--out FILE]',
    about: 'certify the key with which the server that has a license signs grants',
    run: runIssue,
    show: ({ certificate, out, hardware_id: id, expires_at: until }: Issued) =>
      out === undefined
        ? certificate
        : `Saved a certificate for machine "${id}", valid until ${until}, in ${out}.`,
  },
];

interface Issued {
  readonly certificate: string;
  readonly hardware_id: string;
  readonly expires_at: string;
  readonly out?: string;
}

function runIssue({ store, signingKeys, words, flags, now }: Call): unknown {
  const { device, out } = flags;
  const wish = {
    key: words[0] as string,
    hardwareId: device ?? null,
    grantKey: flags['grant-key'] ?? null,
    days: readCertificateDays(flags),
  };
  const issued = certifyByFile(store, wish, signingKeys, now);
  if (isRefusal(issued)) return issued;
  const { certificates, licenseKey, hardwareId, kid, endsAt } = issued;
  const certificate = certificates.join('\n');
  if (out !== undefined) writeCarriedFile(out, certificate);
  return {
    license_key: licenseKey,
    hardware_id: hardwareId,
    kid,
    expires_at: presentDate(endsAt),
    certificate,
    ...(out === undefined ? {} : { out }),
  };
}
