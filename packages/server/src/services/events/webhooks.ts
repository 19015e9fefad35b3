import { randomBytes } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import { DAY_MS } from '../../core/nouns/instant.ts';
import { TOPICS, type Topic } from '../../core/nouns/topics.ts';
import { secretFingerprint } from '../../secrets/seal.ts';
import { Deliveries, type DeliveryOptions, type DeliveryTarget, type TestResult } from './deliveries.ts';

export interface WebhookTarget extends Omit<DeliveryTarget, 'kinds'> {
  readonly topics: readonly Topic[];
}

export interface WebhookOptions extends Pick<DeliveryOptions, 'store' | 'log' | 'readMonotonicMs'> {
  /** Where to send events, by the settings in force now. */
  readonly findTarget: () => Promise<WebhookTarget>;
}

const SECRET_BYTES = 32;

/** When an event is dropped after it happened. */
const GIVE_UP_MS = DAY_MS;

/** Some events, sent to a URL and signed. */
export class Webhooks {
  readonly deliveries: Deliveries;
  readonly #options: WebhookOptions;

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.deliveries = new Deliveries({
      ...options,
      follower: 'webhook',
      called: 'the webhook receiver',
      giveUpMs: GIVE_UP_MS,
      findTarget: async () => {
        const { topics, ...target } = await options.findTarget();
        return {
          ...target,
          kinds: new Set(topics.flatMap((topic): readonly string[] => TOPICS[topic])),
        };
      },
    });
  }

  /** Sends an event to see whether it arrives, which the status tells. Events that wait are not affected. */
  async test(by: Actor): Promise<TestResult> {
    const { isOn, receiver, problem } = await this.#options.findTarget();
    if (receiver === null) throw new RequestError('webhook_not_set', problem ?? (isOn ? UNKNOWN : NOT_SET));
    return this.deliveries.test(receiver, by);
  }

  /** A secret from the environment or a file counts before this one. */
  async makeSecret(by: Actor): Promise<string> {
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const fingerprint = secretFingerprint('webhook secret', secret);
    await this.#options.store.execute({ kind: 'set_webhook_secret', secret, fingerprint, by });
    return secret;
  }
}

const NOT_SET = 'No webhook is set. Set "webhooks.url" first.';
const UNKNOWN = 'This command does not know the secret of the webhook. Start the server first.';
