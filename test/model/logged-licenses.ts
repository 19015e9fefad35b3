import type { RecordedEvent } from '@berth/server/core/nouns/audit-event';
import type { Instant } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import type { AuditLink } from '@berth/server/store/query';

/** An event, and when it took effect. `borrowedUntil`: its slot was lent by a borrow. */
interface Happened {
  readonly at: Instant;
  readonly chain: number;
  readonly event: RecordedEvent;
  readonly borrowedUntil: Instant | null;
}

/** By when they took effect: a slot is free from its end on. */
export function putInOrder(links: readonly AuditLink[]): readonly Happened[] {
  const happened = links.flatMap(({ chain, at, events }) =>
    events.flatMap((event, index): Happened[] => {
      const before = events[index - 1];
      const after = events[index + 1];
      // A slot may be handed on in the commit in which somebody else borrows.
      const isLent = before?.kind === 'slot_lent' && 'user' in event && before.user === event.user;
      if (event.kind === 'slot_borrowed' && isLent) return [];
      const isBorrow =
        event.kind === 'slot_lent' && after?.kind === 'slot_borrowed' && after.user === event.user;
      const effect = 'endedAt' in event ? (event.endedAt as Instant) : at;
      return [{ at: effect, chain, event, borrowedUntil: isBorrow ? after.borrowedUntil : null }];
    }),
  );
  const rankOf = ({ event }: Happened) => ('endedAt' in event ? 0 : 1);
  return happened.sort((a, b) => a.at - b.at || rankOf(a) - rankOf(b));
}

/** Who holds slots of which license in the log. From this it can be told which license a request named. */
export class LoggedLicenses {
  readonly #slots: Map<number, number>;
  readonly #holders: ReadonlyMap<number, Set<string>>;

  /** `slots`: of each license, in the order in which they were added. */
  constructor(slots: readonly number[]) {
    this.#slots = new Map(slots.map((count, index) => [index + 1, count]));
    this.#holders = new Map(slots.map((_, index) => [index + 1, new Set()]));
  }

  /** A request that names none goes to the newest license with a free slot, and is refused on the newest. */
  findNamed(chain: number, isServed: boolean): LicenseId | null {
    const ids = [...this.#slots.keys()];
    const hasRoom = (id: number) => this.#holdersOf(id).size < (this.#slots.get(id) as number);
    const open = isServed ? ids.filter(hasRoom) : ids;
    return (open.at(-1) ?? chain) === chain ? null : licenseId(chain);
  }

  take(chain: number, event: RecordedEvent): void {
    if (event.kind === 'license_changed') this.#slots.set(chain, event.slots);
    else if (event.kind === 'all_slots_returned') this.#holdersOf(chain).clear();
    else if (event.kind === 'slot_lent') this.#holdersOf(chain).add(event.user);
    else if (/^slot_(returned|recalled|expired)$/.test(event.kind)) {
      this.#holdersOf(chain).delete((event as { readonly user: string }).user);
    }
  }

  #holdersOf(id: number): Set<string> {
    return this.#holders.get(id) as Set<string>;
  }
}
