import type { WireAnswer, WireRequest } from '../../../packages/client/src/environment.ts';
import { WaitingPace } from '../../../packages/server/src/http/reply/waiting-pace.ts';
import type { World } from './world.ts';

/** When the world begins, by the server's clock. */
const START_MS = Date.UTC(2030, 0, 15, 12);

interface ServerOptions {
  readonly slots: number;
  readonly timeoutMs: number;
  /** Whether its answers say when the slot ends. Older servers tell only the timeout. */
  readonly tellsEnd?: boolean;
}

/** Lends slots by the rules of `docs/leases.md`, and nothing else. */
export class LendingServer {
  isDown = false;
  readonly requests: { readonly path: string; readonly atMs: number }[] = [];
  readonly #world: World;
  readonly #options: ServerOptions;
  readonly #endsAtMs = new Map<string, number>();
  readonly #pace = new WaitingPace();

  constructor(world: World, options: ServerOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Live slots get a full timeout, because their users could not renew them. */
  restart(): void {
    this.isDown = false;
    this.#dropEnded();
    for (const user of this.#endsAtMs.keys()) this.#renew(user);
  }

  /** What an operator does. */
  free(user: string): void {
    this.#endsAtMs.delete(user);
  }

  answer({ url, body }: WireRequest): WireAnswer {
    const path = url.slice(url.lastIndexOf('/') + 1);
    this.requests.push({ path, atMs: this.#world.nowMs });
    const { user } = JSON.parse(body) as { user: string };
    this.#dropEnded();
    if (path === 'register') return this.#register(user);
    if (path === 'unregister') return this.#unregister(user);
    return this.#reply(404, { status: 404, code: 'not_found', message: path });
  }

  #register(user: string): WireAnswer {
    const { slots } = this.#options;
    if (!this.#endsAtMs.has(user) && this.#endsAtMs.size >= slots) {
      const next_free_at = toText(Math.min(...this.#endsAtMs.values()));
      const code = 'floating_not_available';
      const facts = { status: 400, code, slots, in_use: this.#endsAtMs.size, next_free_at };
      return this.#reply(400, facts, String(this.#pace.takeTurn('', this.#world.nowMs)));
    }
    this.#renew(user);
    const { timeoutMs, tellsEnd = true } = this.#options;
    const slot_ends_in_seconds = timeoutMs / 1000;
    const told = tellsEnd ? { slot_ends_in_seconds, renew_in_seconds: slot_ends_in_seconds / 3 } : {};
    const license = { license_id: 1, license_type: 'perpetual', floating_timeout: timeoutMs / 60_000 };
    return this.#reply(200, { ...license, ...told });
  }

  #unregister(user: string): WireAnswer {
    if (this.#endsAtMs.delete(user)) return this.#reply(200, 'user_unregistered');
    return this.#reply(400, { status: 400, code: 'device_not_found', message: user });
  }

  #renew(user: string): void {
    this.#endsAtMs.set(user, this.#world.nowMs + this.#options.timeoutMs);
  }

  #dropEnded(): void {
    for (const [user, endsAtMs] of this.#endsAtMs) {
      if (endsAtMs <= this.#world.nowMs) this.#endsAtMs.delete(user);
    }
  }

  #reply(status: number, fields: unknown, retryAfter: string | null = null): WireAnswer {
    // More precise than the header of a real server, so that others ask for the slot as early as possible.
    const date = toText(this.#world.nowMs);
    return { status, text: JSON.stringify(fields), date, retryAfter };
  }
}

function toText(atMs: number): string {
  return new Date(START_MS + atMs).toISOString();
}
