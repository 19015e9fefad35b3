import type { Held, Site } from './site.ts';
import { findStop, METERS, type MeterName, type Snapshot, type Terms, type Vendor } from './vendor.ts';

/** What the servers held before a step, and how far the vendor was. */
interface Before {
  readonly held: ReadonlyMap<Site, ReadonlyMap<string, Held>>;
  readonly marks: ReadonlyMap<string, number>;
}

/** The model: what the vendor has granted, and the exact sum of everything that servers have acknowledged. */
export class Book {
  readonly violations: string[] = [];
  readonly #vendor: Vendor;
  readonly #sites: readonly Site[];
  readonly #sums = new Map<string, number>();
  readonly #cloudTotals = new Map<string, number>();
  #before: Before = { held: new Map(), marks: new Map() };

  constructor(vendor: Vendor, sites: readonly Site[]) {
    this.#vendor = vendor;
    this.#sites = sites;
  }

  /** A server has answered 200 to a count. */
  acknowledge(key: string, meter: MeterName, amount: number): void {
    this.#sums.set(nameMeter(key, meter), this.sumOf(key, meter) + amount);
  }

  sumOf(key: string, meter: MeterName): number {
    return this.#sums.get(nameMeter(key, meter)) ?? 0;
  }

  heldBefore(site: Site, key: string): Held | undefined {
    return this.#before.held.get(site)?.get(key);
  }

  /** From here on everything that changes needs a reason from here on. */
  async begin(): Promise<void> {
    this.#vendor.look();
    const held = await Promise.all(this.#sites.map(async (site) => [site, await site.look()] as const));
    const marks = this.#vendor.keys.map((key) => [key, this.#vendor.mark(key)] as const);
    this.#before = { held: new Map(held), marks: new Map(marks) };
  }

  /** Compares what the servers hold now with what they held, and with what was true in between. */
  async compare(what: string): Promise<void> {
    this.#vendor.look();
    for (const site of this.#sites) {
      const held = await site.look();
      for (const key of site.keys) await this.#compareLicense(what, site, key, held.get(key));
    }
    for (const key of this.#vendor.keys) for (const meter of METERS) this.#compareCloud(what, key, meter);
  }

  async #compareLicense(what: string, site: Site, key: string, now: Held | undefined): Promise<void> {
    const name = `${site.hardwareId} ${key}`;
    const before = this.heldBefore(site, key);
    const truth = this.#vendor.since(key, this.#before.marks.get(key) ?? 1);
    if (!isExplained(before, now, truth, site.hardwareId)) {
      this.violations.push(
        `${what}: ${name} went from ${say(before)} to ${say(now)}; the vendor had ${truth
          .map((one) => sayTruth(one, site.hardwareId))
          .join(', ')}`,
      );
    }
    if (now === undefined) return;
    for (const meter of METERS) await this.#compareTotal(what, site, key, meter, now);
  }

  /** Who counts alone knows the exact total at any time; of two, each knows no more than all have counted. */
  async #compareTotal(what: string, site: Site, key: string, meter: MeterName, now: Held): Promise<void> {
    const total = totalOf(now, meter);
    const sum = this.sumOf(key, meter);
    const { uncertain } = await site.readBacklog(this.#vendor.idOf(key), meter);
    const isShared = this.#sites.filter(({ keys }) => keys.includes(key)).length > 1;
    const before = this.heldBefore(site, key);
    const lowest = isShared ? (before === undefined ? 0 : totalOf(before, meter)) : sum;
    if (total <= sum && total >= lowest - uncertain) return;
    this.violations.push(
      `${what}: ${site.hardwareId} ${nameMeter(key, meter)} is ${total}, not ${lowest} to ${sum}`,
    );
  }

  /** Nothing is counted twice, and nothing is taken back. */
  #compareCloud(what: string, key: string, meter: MeterName): void {
    const name = nameMeter(key, meter);
    const total = this.#vendor.total(key, meter);
    const before = this.#cloudTotals.get(name) ?? 0;
    this.#cloudTotals.set(name, total);
    if (total >= before && total <= this.sumOf(key, meter)) return;
    const sum = this.sumOf(key, meter);
    this.violations.push(`${what}: the cloud has ${total} of ${name}, not ${before} to ${sum}`);
  }

  /** With nobody in between and everything told, both sides have the same, which is what happened. */
  async compareExactly(what: string): Promise<void> {
    await this.compare(what);
    for (const site of this.#sites) {
      const held = await site.look();
      for (const key of site.keys) await this.#compareQuiet(what, site, key, held.get(key));
    }
  }

  async #compareQuiet(what: string, site: Site, key: string, held: Held | undefined): Promise<void> {
    const truth = this.#vendor.now(key);
    const stop = findStop(truth, site.hardwareId);
    const isSame = stop === null ? isGranted(held, truth.terms) : held?.stops.includes(stop) === true;
    if (!isSame) {
      const granted = sayTruth(truth, site.hardwareId);
      this.violations.push(
        `${what}: ${site.hardwareId} has ${key} as ${say(held)}, the vendor as ${granted}`,
      );
    }
    for (const meter of METERS) {
      const sum = this.sumOf(key, meter);
      const { open, uncertain } = await site.readBacklog(this.#vendor.idOf(key), meter);
      const atCloud = this.#vendor.total(key, meter);
      // A stopped license is not told what others have counted.
      const here = held !== undefined && stop === null ? totalOf(held, meter) : sum;
      if (atCloud === sum && here === sum && open === 0 && uncertain === 0) continue;
      this.violations.push(
        `${what}: ${nameMeter(key, meter)} is ${atCloud} at the cloud and ${here} at ${site.hardwareId}, ` +
          `where ${open} are open and ${uncertain} uncertain; ${sum} were counted`,
      );
    }
  }
}

/**
 * A server's word about a license changes only to what the vendor's was at some moment since the step began:
 * to terms that ran then, or to a stop that was one then. A license goes only once it is given back.
 */
function isExplained(
  before: Held | undefined,
  now: Held | undefined,
  truth: readonly Snapshot[],
  hardwareId: string,
): boolean {
  if (now === undefined) {
    return before === undefined || truth.some(({ devices }) => !devices.includes(hardwareId));
  }
  const isStopped = (stop: string) => truth.some((moment) => findStop(moment, hardwareId) === stop);
  const running = truth.filter((moment) => findStop(moment, hardwareId) === null);
  const bases = running.map(({ terms }): Pick<Held, 'terms' | 'stops'> => ({ terms, stops: [] }));
  if (before !== undefined) bases.push(before);
  return bases.some(({ terms, stops }) => {
    const isKept = stops.every((stop) => now.stops.includes(stop));
    const added = now.stops.filter((stop) => !stops.includes(stop));
    return isKept && isSameTerms(terms, now.terms) && added.every(isStopped);
  });
}

function isGranted(held: Held | undefined, terms: Terms): boolean {
  return held !== undefined && held.stops.length === 0 && isSameTerms(held.terms, terms);
}

function isSameTerms(a: Terms, b: Terms): boolean {
  return a.version === b.version && a.slots === b.slots && a.max === b.max;
}

function totalOf({ total, featureTotal }: Held, meter: MeterName): number {
  return meter === null ? total : featureTotal;
}

function nameMeter(key: string, meter: MeterName): string {
  return meter === null ? key : `${key} ${meter}`;
}

function sayTerms({ version, slots, max }: Terms): string {
  return `version ${version} (${slots} slots, ${max})`;
}

function say(held: Held | undefined): string {
  return held === undefined ? 'nothing' : [sayTerms(held.terms), ...held.stops].join(' ');
}

function sayTruth(moment: Snapshot, hardwareId: string): string {
  return [sayTerms(moment.terms), findStop(moment, hardwareId) ?? 'running'].join(' ');
}
