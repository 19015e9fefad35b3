import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { RequestError } from '@berth/protocol/request-error';
import { type Cloud, type CloudRefusal, type CloudReply, UNPROVEN } from '../../cloud/cloud.ts';
import type { LinkState, Subject } from './link-state.ts';
import type { NonceRequirement } from './nonce-requirement.ts';

/** The cloud with the configured keys, if there are any. */
export interface CloudSession {
  /** Sends a request and records the result. Throws if no cloud or no keys are configured. */
  ask<T>(
    subject: Subject,
    question: (cloud: Cloud, keys: CloudKeys) => Promise<CloudReply<T>>,
  ): Promise<CloudReply<T>>;
  /** Throws if a request could not be sent. */
  requireUsable(): Promise<void>;
  /** Why no request can be sent; `null` if one can. */
  findObstacle(): Promise<'not_configured' | 'no_keys' | null>;
}

/** The two keys; `null` if not set. */
export type ReadKeys = () => Promise<{ readonly apiKey: string | null; readonly sharedKey: string | null }>;

interface SessionOptions {
  readonly cloud: Cloud | null;
  readonly readKeys: ReadKeys;
  readonly state: LinkState;
  readonly hold: Pick<NonceRequirement, 'admit'>;
  /** Throws if this process must not act for the server. */
  readonly requireHome: () => Promise<void>;
}

export function createCloudSession(options: SessionOptions): CloudSession {
  const { cloud, readKeys, state, hold, requireHome } = options;

  async function requireUsable() {
    await requireHome();
    return requireKeys(cloud, readKeys);
  }

  return {
    async ask(subject, question) {
      const usable = await requireUsable();
      try {
        const asked = isSendable(usable.keys) ? await question(usable.cloud, usable.keys) : NOT_SENDABLE;
        if (asked !== NOT_SENDABLE) await hold.admit(asked);
        const reply = withoutKeys(asked, usable.keys);
        if (reply.kind === 'refused') state.noteRefusal(subject, reply);
        else state.noteReached(subject);
        return reply;
      } catch (error) {
        state.noteFault(subject, error);
        throw error;
      }
    },
    async requireUsable() {
      await requireUsable();
    },
    async findObstacle() {
      if (cloud === null) return 'not_configured';
      const { apiKey, sharedKey } = await readKeys();
      return apiKey === null || sharedKey === null ? 'no_keys' : null;
    },
  };
}

async function requireKeys(cloud: Cloud | null, readKeys: ReadKeys) {
  if (cloud === null) {
    throw new RequestError(
      'cloud_not_configured',
      'No licensing cloud is configured. Set cloud.url and cloud.publicKey, and restart the server.',
    );
  }
  const { apiKey, sharedKey } = await readKeys();
  if (apiKey === null || sharedKey === null) {
    const missing = apiKey === null ? 'API key' : 'shared key';
    throw new RequestError(
      'cloud_keys_missing',
      `The ${missing} for the licensing cloud is not set. Set it with "berth key set" or setKeys.`,
    );
  }
  return { cloud, keys: { apiKey, sharedKey } };
}

/** Every request has the API key in quotes in a header. */
function isSendable({ apiKey }: CloudKeys): boolean {
  return /^[ !#-~]*$/.test(apiKey);
}

const NOT_SENDABLE: CloudRefusal = {
  kind: 'refused',
  code: 'invalid_api_key',
  message: 'The API key contains characters that cannot be sent. Set the correct key.',
  ...UNPROVEN,
};

/** Refusals are shown and logged, so remove keys that the cloud repeats in them. */
function withoutKeys<T>(reply: CloudReply<T>, { apiKey, sharedKey }: CloudKeys): CloudReply<T> {
  if (reply.kind !== 'refused') return reply;
  return { ...reply, message: reply.message.replaceAll(apiKey, '…').replaceAll(sharedKey, '…') };
}
