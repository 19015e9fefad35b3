import type { Instant } from '../../core/nouns/instant.ts';
import { isCertificateEnding, judgeDisk } from '../../core/system/note.ts';
import type { Store } from '../../store/store.ts';
import { findDiskSpace } from '../backups/disk-space.ts';
import type { CertificateFacts } from '../certificates/certificates.ts';
import { note } from './notices.ts';

/** Notices about this server and its machine. With a shared database, every server looks for itself. */
interface ServerNotices {
  /** Records new notices, each once, and returns how many. */
  look(): Promise<number>;
}

interface ServerNoticeOptions {
  readonly store: Store;
  readonly hostname: string;
  /** The data folder. */
  readonly folder: string;
  readonly readWall: () => Instant;
  readonly readCertificate: () => CertificateFacts | null;
  /** How much space the disk should have; 0: it is not looked at. */
  readonly diskFreeMegabytes: number;
  /** How long before its end the certificate is reported; 0: never. */
  readonly certificateDays: number;
}

export function createServerNotices(options: ServerNoticeOptions): ServerNotices {
  return { look: async () => (await lookAtDisk(options)) + (await lookAtCertificate(options)) };
}

async function lookAtDisk(options: ServerNoticeOptions): Promise<number> {
  const { store, hostname, folder, diskFreeMegabytes } = options;
  if (diskFreeMegabytes === 0) return 0;
  const space = await findDiskSpace(folder);
  if (space === null) return 0;
  const { freeMegabytes } = space;
  const level = judgeDisk(freeMegabytes, diskFreeMegabytes);
  if (level === 'between') return 0;
  const kind = level === 'reached' ? 'disk_space_low' : 'disk_space_recovered';
  return note(store, { kind, hostname, folder, freeMegabytes });
}

async function lookAtCertificate(options: ServerNoticeOptions): Promise<number> {
  const { store, hostname, readWall, readCertificate, certificateDays } = options;
  const certificate = readCertificate();
  if (certificate === null) return 0;
  const { fingerprint256: fingerprint, validUntil } = certificate;
  if (!isCertificateEnding(validUntil, readWall(), certificateDays)) return 0;
  return note(store, { kind: 'certificate_expiring', hostname, fingerprint, validUntil });
}
