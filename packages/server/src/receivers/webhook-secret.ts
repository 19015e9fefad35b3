import { readFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { ConfigError } from '../config.ts';

/** Shorter secrets could be guessed from a signature. */
const MIN_SECRET_LENGTH = 32;

/** The secret from the environment or from a file; `null` if neither is given. */
export function readWebhookSecret(value: string, file: string): string | null {
  if (value === '' && file === '') return null;
  const secret = value === '' ? readSecretFile(file) : value.trim();
  if (secret.length >= MIN_SECRET_LENGTH) return secret;
  throw new ConfigError(
    `The webhook secret is shorter than ${MIN_SECRET_LENGTH} characters. Generate one: openssl rand -hex 32.`,
  );
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`"webhooks.secretFile" cannot be read. ${explainFileError(file, error, 'read')}`);
  }
}
