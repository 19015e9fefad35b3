import { placeOf } from '@berth/protocol/address-range';
import { HTTP_LIMITS } from './limits.ts';

/** What the server keeps of one request that has not arrived completely. */
export interface Unfinished {
  /** It has so many bytes now. Returns whether they may be kept; if not, none of them count any longer. */
  keep(bytes: number): boolean;
  /** Nothing of it is kept any longer. */
  end(): void;
}

/**
 * Bounds what unfinished requests take in memory, for each address and for all together. The first part of a
 * request is always kept: those of applications are smaller, and nobody can keep them out.
 */
export class BodyBudget {
  readonly #kept = new Map<string, number>();
  #all = 0;

  open(readAddress: () => string): Unfinished {
    let place = '';
    let counted = 0;
    const end = () => {
      if (counted > 0) this.#add(place, -counted);
      counted = 0;
    };
    return {
      keep: (bytes) => {
        const beyond = bytes - HTTP_LIMITS.ordinaryBytes;
        if (beyond <= 0) return true;
        if (place === '') place = placeOf(readAddress());
        const added = beyond - counted;
        const isTooMuch = this.#at(place) + added > HTTP_LIMITS.unfinishedBytesPerAddress;
        if (isTooMuch || this.#all + added > HTTP_LIMITS.unfinishedBytes) {
          end();
          return false;
        }
        this.#add(place, added);
        counted = beyond;
        return true;
      },
      end,
    };
  }

  #at(place: string): number {
    return this.#kept.get(place) ?? 0;
  }

  #add(place: string, bytes: number): void {
    this.#all += bytes;
    const kept = this.#at(place) + bytes;
    if (kept === 0) this.#kept.delete(place);
    else this.#kept.set(place, kept);
  }
}
