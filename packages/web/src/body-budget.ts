import { placeOf } from '@berth/protocol/address-range';
import { HTTP_LIMITS } from './limits.ts';

/** The memory of one request that has not arrived completely. */
export interface Unfinished {
  /** Sets its size. Returns false if there is no room: its bytes must be dropped, and no longer count. */
  keep(bytes: number): boolean;
  /** Releases its memory. */
  end(): void;
}

/**
 * Limits the memory of unfinished requests, for each address and in total. The first part of a request is
 * always kept: requests of applications are smaller, so other clients cannot crowd them out.
 */
export class BodyBudget {
  readonly #kept = new Map<string, number>();
  #all = 0;

  open(readAddress: () => string): Unfinished {
    let address = '';
    let counted = 0;
    const end = () => {
      if (counted > 0) this.#add(address, -counted);
      counted = 0;
    };
    return {
      keep: (bytes) => {
        const beyond = bytes - HTTP_LIMITS.ordinaryBytes;
        if (beyond <= 0) return true;
        if (address === '') address = placeOf(readAddress());
        const added = beyond - counted;
        const isTooMuch = this.#at(address) + added > HTTP_LIMITS.unfinishedBytesPerAddress;
        if (isTooMuch || this.#all + added > HTTP_LIMITS.unfinishedBytes) {
          end();
          return false;
        }
        this.#add(address, added);
        counted = beyond;
        return true;
      },
      end,
    };
  }

  #at(address: string): number {
    return this.#kept.get(address) ?? 0;
  }

  #add(address: string, bytes: number): void {
    this.#all += bytes;
    const kept = this.#at(address) + bytes;
    if (kept === 0) this.#kept.delete(address);
    else this.#kept.set(address, kept);
  }
}
