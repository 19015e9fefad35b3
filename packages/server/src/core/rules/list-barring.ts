import type { Bar, BarKind, BarSource } from '../nouns/bar.ts';
import { type Asker, NO_RULES, type Rules, refuseByRules } from './rules.ts';

/** A rule or a bar, and where it comes from. */
export interface Barring extends Bar {
  readonly source: BarSource;
}

/** Everything that bars somebody, for administrators; a request is refused by the first. */
export function listBarring(rules: Rules, asker: Asker): readonly Barring[] {
  return listAll(rules).filter((bar) => refuseByRules({ ...NO_RULES, bars: [bar] }, asker) !== null);
}

function listAll({ deny: { users, hosts, addresses }, bars }: Rules): readonly Barring[] {
  const fromFile = (kind: BarKind, words: readonly string[]) =>
    words.map((pattern): Barring => ({ source: 'rules_file', kind, pattern, note: null }));
  return [
    ...fromFile('user', users),
    ...fromFile('host', hosts),
    ...fromFile('address', addresses),
    ...bars.map((bar): Barring => ({ source: 'bar', ...bar })),
  ];
}
