import { readFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { type Config, ConfigError } from '../config.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { createHttpWebhooks, type HttpWebhookOptions } from './http-webhooks.ts';
import type { WebhookReceiver } from './webhooks.ts';

interface OpenOptions extends Omit<HttpWebhookOptions, 'url' | 'secret' | 'timeoutMs'> {
  /** The secret itself; empty if it is in a file. */
  readonly givenSecret: string;
}

const TIMEOUT_MS = 10 * SECOND_MS;

/** The configured receiver, or `null`. Invalid settings prevent a start. */
export function openWebhooks(
  { url, secretFile }: Config['webhooks'],
  { givenSecret, ...rest }: OpenOptions,
): WebhookReceiver | null {
  if (url === '') return null;
  return createHttpWebhooks({
    url: checkUrl(url),
    secret: readSecret(givenSecret, secretFile),
    timeoutMs: TIMEOUT_MS,
    ...rest,
  });
}

function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new ConfigError('"webhooks.url" must be a URL that begins with https:// or http://.');
}

/** Shorter secrets could be guessed from a signature. */
const MIN_SECRET_LENGTH = 32;

function readSecret(value: string, file: string): string {
  if (value === '' && file === '') {
    throw new ConfigError(
      '"webhooks.url" needs a secret to sign events, so that the receiver can detect forged ones. ' +
        'Generate one (openssl rand -hex 32), and set BERTH_WEBHOOKS_SECRET or ' +
        '"webhooks.secretFile".',
    );
  }
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
