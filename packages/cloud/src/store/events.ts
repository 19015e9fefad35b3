import type { CloudStore } from './cloud-store.ts';

export interface ListedEvent {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly licenseKey: string | null;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Newest first. */
export function listEvents(
  { sql }: CloudStore,
  license: number | null,
  limit: number,
): readonly ListedEvent[] {
  return sql.listEvents.all({ license, limit }).map((row) => ({
    seq: row.seq as number,
    at: row.at as number,
    kind: row.kind as string,
    licenseKey: row.license_key as string | null,
    facts: JSON.parse(row.facts as string),
  }));
}
