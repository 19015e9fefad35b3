import type { BerthApi } from '../../support/berth-api.ts';
import { pickNumber, type Random } from '../../support/random.ts';

export const PRODUCT = 'office';
export const TIMEOUT_MINUTES = 60;

const HEARTBEAT_MINUTES = 20;
const DAY_MINUTES = 24 * 60;
/** Everything happens at multiples of it. */
const STEP_MINUTES = 5;
/** Nobody works earlier or later. */
const OPENS = 7 * 60;
const CLOSES = 19 * 60;

/** Who is on holiday, ill or elsewhere. */
const AWAY = 0.2;
/** Who leaves without returning the slot: it ends by its timeout. */
const FORGETFUL = 0.05;
/** Who takes a slot home over night. */
const BORROWS = 0.01;

const COUNT = { product: PRODUCT, consumptions: 1 };

interface Stay {
  readonly user: string;
  readonly from: number;
  readonly to: number;
  readonly ending: 'returns' | 'forgets' | 'borrows';
}

/** People who work on weekdays, by minutes of the day, and what they were answered. */
export class Office {
  readonly violations: string[] = [];
  requests = 0;
  refused = 0;
  counted = 0;
  readonly #api: BerthApi;
  readonly #random: Random;
  readonly #users: readonly string[];

  constructor(api: BerthApi, random: Random, users: number) {
    this.#api = api;
    this.#random = random;
    this.#users = Array.from({ length: users }, (_, index) => `user-${index}`);
  }

  /** A day, from midnight to midnight. `pass` lets so many minutes pass. */
  async live(isWorkday: boolean, pass: (minutes: number) => Promise<void>): Promise<void> {
    const stays = isWorkday
      ? this.#users.filter(() => this.#random() > AWAY).map((user) => this.#plan(user))
      : [];
    await passHours(pass, OPENS);
    for (let minute = OPENS; minute < CLOSES; minute += STEP_MINUTES) {
      if (stays.length === 0) {
        await passHours(pass, CLOSES - minute);
        break;
      }
      await Promise.all(stays.map((stay) => this.#act(stay, minute)));
      await pass(STEP_MINUTES);
    }
    await passHours(pass, DAY_MINUTES - CLOSES);
  }

  #plan(user: string): Stay {
    const dice = this.#random();
    return {
      user,
      from: toStep(pickNumber(this.#random, { from: OPENS, to: OPENS + 3 * 60 })),
      to: toStep(pickNumber(this.#random, { from: CLOSES - 4 * 60, to: CLOSES - 1 })),
      ending: dice < FORGETFUL ? 'forgets' : dice < FORGETFUL + BORROWS ? 'borrows' : 'returns',
    };
  }

  /** A heartbeat every twenty minutes, one count at noon of each, and the end. */
  async #act({ user, from, to, ending }: Stay, minute: number): Promise<void> {
    if (minute < from || minute > to) return;
    if (minute === to) return this.#leave(user, ending);
    if ((minute - from) % HEARTBEAT_MINUTES === 0) await this.#register(user);
    if (minute === toStep((from + to) / 2)) await this.#count();
  }

  async #register(user: string): Promise<void> {
    this.requests += 1;
    const headers = { prefer: 'return=minimal' };
    const { status, body } = await this.#api.post('/api/v4/register', { product: PRODUCT, user }, headers);
    if (status === 200) return;
    if (body.code === 'floating_not_available') this.refused += 1;
    else this.violations.push(`register of ${user} was answered with ${status}: ${JSON.stringify(body)}`);
  }

  async #count(): Promise<void> {
    this.requests += 1;
    const { status, text } = await this.#api.post('/api/v4/add_consumption', COUNT);
    if (status === 200) this.counted += 1;
    else this.violations.push(`a count was answered with ${status}: ${text}`);
  }

  async #leave(user: string, ending: Stay['ending']): Promise<void> {
    if (ending === 'forgets') return;
    this.requests += 1;
    const { status, text } =
      ending === 'borrows'
        ? await this.#api.borrow({ product: PRODUCT, user })
        : await this.#api.unregister({ product: PRODUCT, user });
    // Whoever was refused all day holds none.
    if (status !== 200 && status !== 400) this.violations.push(`${user} leaves: ${status} ${text}`);
  }
}

function toStep(minute: number): number {
  return minute - (minute % STEP_MINUTES);
}

async function passHours(pass: (minutes: number) => Promise<void>, minutes: number): Promise<void> {
  for (let left = minutes; left > 0; left -= 60) await pass(Math.min(60, left));
}
