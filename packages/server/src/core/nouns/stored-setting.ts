import type { Instant } from './instant.ts';

/** The value of a setting. */
export type SettingValue = string | number | boolean | readonly string[];

/** Settings whose values are secrets: the store seals them. */
export const SEALED_SETTINGS: readonly string[] = ['webhooks.url'];

/** A setting that was changed while the server runs. */
export interface StoredSetting {
  readonly name: string;
  readonly value: SettingValue;
  readonly changedBy: string;
  readonly changedAt: Instant;
}
