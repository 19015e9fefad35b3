import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { type Cloud, type CloudRefusal, type CloudReply, UNPROVEN } from '../../cloud/cloud.ts';
import { RequestError } from '../request-error.ts';
import type { CloudHold } from './cloud-hold.ts';
import type { LinkState, Subject } from './link-state.ts';

/** The cloud with the keys that are set, as far as there are any. */
export interface CloudSession {
  /** Asks, and remembers how it went. Throws where there is no cloud, or there are no keys for it. */
  ask<T>(
    subject: Subject,
    question: (cloud: Cloud, keys: CloudKeys) => Promise<CloudReply<T>>,
  ): Promise<CloudReply<T>>;
  /** Throws as asking would, without asking. */
  requireUsable(): Promise<void>;
  /** Why nothing can be asked; `null`: something can. */
  findObstacle(): Promise<'not_configured' | 'no_keys' | null>;
}

/** Each of the two keys, as far as it is set. */
export type ReadKeys = () => Promise<{ readonly apiKey: string | null; readonly sharedKey: string | null }>;

interface SessionOptions {
  readonly cloud: Cloud | null;
  readonly readKeys: ReadKeys;
  readonly state: LinkState;
  readonly hold: Pick<CloudHold, 'admit'>;
  /** Throws where this process must not speak for the server. */
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
      'No licensing cloud is configured. Set cloud.url and cloud.publicKey, and start again.',
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

/** The API key stands between quotes in a header of every request. */
function isSendable({ apiKey }: CloudKeys): boolean {
  return /^[ !#-~]*$/.test(apiKey);
}

const NOT_SENDABLE: CloudRefusal = {
  kind: 'refused',
  code: 'invalid_api_key',
  message: 'The API key has letters or quotes that no cloud could be sent. Set the right one.',
  ...UNPROVEN,
};

/** A refusal is shown and logged; a cloud that repeats a key in it must not make us do so. */
function withoutKeys<T>(reply: CloudReply<T>, { apiKey, sharedKey }: CloudKeys): CloudReply<T> {
  if (reply.kind !== 'refused') return reply;
  return { ...reply, message: reply.message.replaceAll(apiKey, '…').replaceAll(sharedKey, '…') };
}
