import type { KeyObject } from 'node:crypto';
import type { HttpRequest } from '@berth/web/http-request';
import type { RoutePlace } from '@berth/web/router';
import type { CloudStore } from '../store/cloud-store.ts';
import type { SigningKeys } from '../store/keys/key-ring.ts';
import type { CallerKey } from '../store/keys/keys.ts';
import type { RequestBinding } from './bind-reply.ts';
import type { Problem } from './problem.ts';
import type { Reply } from './reply.ts';

/** The input of a route, including the time of its request. */
export interface Context {
  readonly store: CloudStore;
  readonly signingKeys: SigningKeys;
  readonly airgapKey: KeyObject;
  readonly now: number;
  /** Who calls a route that needs keys. */
  readonly caller?: CallerKey;
  /** The network of the caller: an IPv4 address or an IPv6 prefix. */
  readonly address: string;
  /**
   * Does the work unless the client has guessed wrong too often. Wraps every route that needs keys; forms
   * call it themselves after reading the input.
   */
  limitGuesses(work: () => Reply | Promise<Reply>): Promise<Reply>;
  /** What the response repeats from the request. */
  readonly binding: RequestBinding;
}

/** One operation: where it is, who may call it, and what it does. */
export interface Route extends RoutePlace {
  readonly name: string;
  /** Whether the caller must authenticate with the two keys. */
  readonly needsKeys: boolean;
  handle(request: HttpRequest, context: Context): Promise<Reply> | Reply;
  /** How it reports errors; JSON by default. */
  explain?(problem: Problem): Reply;
}
