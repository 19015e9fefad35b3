import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Bar, BarKind } from '../../core/nouns/bar.ts';
import { explainUnfit } from '../../core/nouns/user-name.ts';
import { type Asker, type Barring, listBarring } from '../../core/rules/rules.ts';
import type { BarRecord } from '../../store/rules-record.ts';
import type { Executed, Store } from '../../store/store.ts';
import { refuseEntry } from './refuse-entry.ts';

/** Who is barred by a command, besides the rules file. */
export interface Bars {
  list(): Promise<readonly BarRecord[]>;
  add(bar: Bar, by: Actor): Promise<Executed>;
  remove(bar: Omit<Bar, 'note'>, by: Actor): Promise<Executed>;
  /** All bars that match, and entries of `deny` for all products. */
  explain(names: BarredNames): Promise<readonly Barring[]>;
}

type BarredNames = { readonly [K in BarKind]?: string | undefined };

export function createBars(store: Store): Bars {
  return {
    list: () => store.read({ kind: 'list_bars' }),
    async add(bar, by) {
      const problem = refuseEntry(bar.kind, bar.pattern) ?? explainUnfit(bar.pattern);
      if (problem !== null) {
        throw new RequestError('validation_error', `"pattern" ${problem}.`, { field: 'pattern' });
      }
      return store.execute({ kind: 'add_bar', bar: { ...bar, pattern: bar.pattern.trim() }, by });
    },
    remove: (bar, by) => store.execute({ kind: 'remove_bar', bar, by }),
    async explain(names) {
      const { rules } = await store.read({ kind: 'find_rules' });
      return listBarring(rules, askerOf(names));
    },
  };
}

function askerOf({ user, host, address }: BarredNames): Asker {
  return { user: user ?? null, host: { hostname: host ?? null, address: address ?? null, info: null } };
}
