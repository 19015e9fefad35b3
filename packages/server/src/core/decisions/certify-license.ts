import type { CertifyLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { certificateEvent, changeLicense, isSameCertificate } from '../lending/change-license.ts';

/** Keeps a certificate of the vendor that came by itself. The service has verified it. */
export const certifyLicense = {
  ...ON_LICENSE,
  changesLicense: true,

  decide({ certificate, by }, view, now) {
    const { license } = view;
    const changed = changeLicense(view, { ...license, tie: { ...license.tie, certificate } }, { by }, now);
    const isNews = !isSameCertificate(certificate, license.tie.certificate);
    return isNews ? { ...changed, events: [...changed.events, certificateEvent(certificate, by)] } : changed;
  },
} satisfies CommandModule<CertifyLicense>;
