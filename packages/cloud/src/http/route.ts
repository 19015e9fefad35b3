import type { KeyObject } from 'node:crypto';
import type { CloudStore } from '../store/cloud-store.ts';
import type { Asked } from './bind-reply.ts';
import type { Problem } from './problem.ts';
import type { Reply } from './reply.ts';

/** What a route works with, and the one time of its request. */
export interface Context {
  readonly store: CloudStore;
  readonly signingKey: KeyObject;
  readonly airgapKey: KeyObject;
  readonly now: number;
  /** Where the caller is: an address of IPv4, or a network of IPv6. */
  readonly place: string;
  /**
   * Does the work, unless whoever asks has guessed wrong too often. It is around every route that needs keys;
   * a form asks for it itself, once it is read.
   */
  limitGuesses(work: () => Reply | Promise<Reply>): Promise<Reply>;
  /** What the answer repeats of the request. */
  readonly asked: Asked;
}

/** One operation: how it is called, who may, and what it does. */
export interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Whether the caller has to prove itself with the two keys. */
  readonly needsKeys: boolean;
  handle(request: Request, context: Context): Promise<Reply> | Reply;
  /** How it tells what went wrong; as JSON when nothing is said. */
  explain?(problem: Problem): Reply;
}
