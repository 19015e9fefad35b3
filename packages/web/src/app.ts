import type { ErrorCode } from '@berth/protocol/errors';
import type { HttpRequest, Peer } from './http-request.ts';
import type { Reply, TextReply } from './reply.ts';

/** Answers requests of one route. It never fails. */
export type AnswerRoute = (request: HttpRequest, peer: Peer) => Promise<Reply>;

/** An HTTP API as a function from request to reply, without a socket. */
export interface App {
  answer: AnswerRoute;
  /** The route of a path, if the fast lane may read its requests. */
  findPlain(path: string): AnswerRoute | undefined;
  /** The reply to what is not a valid HTTP request. */
  refuse(code: ErrorCode, message: string): TextReply;
}
