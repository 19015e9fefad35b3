import type { KeyObject } from 'node:crypto';
import type { FlagsOf } from '@berth/shell/console/command-flags';
import type { CommandUsage } from '@berth/shell/console/command-help';
import type { CloudStore } from '../store/cloud-store.ts';
import type { KeyRing, SigningKeys } from '../store/keys/key-ring.ts';

/** All flags by name. Each command's usage lists the ones it accepts. */
export const FLAGS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  json: { type: 'boolean' },
  data: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'trusted-proxies': { type: 'string' },
  'log-level': { type: 'string' },
  'log-format': { type: 'string' },
  name: { type: 'string' },
  authorization: { type: 'string' },
  product: { type: 'string' },
  key: { type: 'string' },
  type: { type: 'string' },
  slots: { type: 'string' },
  timeout: { type: 'string' },
  'borrow-hours': { type: 'string' },
  'valid-until': { type: 'string' },
  'starts-at': { type: 'string' },
  'grace-hours': { type: 'string' },
  activations: { type: 'string' },
  'unlimited-activations': { type: 'boolean' },
  consumptions: { type: 'string' },
  'unlimited-consumptions': { type: 'boolean' },
  overages: { type: 'string' },
  negative: { type: 'boolean' },
  'no-negative': { type: 'boolean' },
  period: { type: 'string' },
  feature: { type: 'string', multiple: true },
  'without-feature': { type: 'string', multiple: true },
  'max-offline-days': { type: 'string' },
  metadata: { type: 'string' },
  company: { type: 'string' },
  customer: { type: 'string' },
  'without-customer': { type: 'boolean' },
  user: { type: 'string' },
  until: { type: 'string' },
  state: { type: 'string' },
  'ends-before': { type: 'string' },
  license: { type: 'string' },
  limit: { type: 'string' },
  device: { type: 'string' },
  out: { type: 'string' },
  'hardware-id': { type: 'string' },
  'activation-code': { type: 'string' },
  'grant-key': { type: 'string' },
  'certificate-days': { type: 'string' },
  qr: { type: 'boolean' },
  'passphrase-file': { type: 'string' },
  replace: { type: 'boolean' },
} as const;

export type Flags = FlagsOf<typeof FLAGS>;

/** The input of a command. */
export interface Call {
  readonly store: CloudStore;
  readonly keyRing: KeyRing;
  readonly signingKeys: SigningKeys;
  readonly airgapKey: KeyObject;
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly now: number;
  readSecret(prompt: string): Promise<string>;
}

/** A command that works on the data and returns a result. */
export interface Command extends CommandUsage {
  /** It may create the data folder. */
  readonly mayCreate?: boolean;
  /** The result for `--json`, or a refusal. */
  run(call: Call): unknown;
  /** The result as text. */
  show(facts: never): string;
  /** Text for a QR code: drawn on a terminal, and elsewhere with --qr. */
  scan?(facts: never): string;
  /** Warnings for the vendor although the command succeeded. */
  warn?(facts: never, call: Call): readonly string[];
}
