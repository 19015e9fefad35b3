/** Texts of rules that cost a server much more than they cost whoever sends them. */

const count = (many: number, write: (index: number) => string) =>
  Array.from({ length: many }, (_, n) => write(n));

function chain(names: number, groups: number, expectations: number): string {
  const outer = count(groups - 1, (n) => `  g${n + 1}: { groups: [g${n}] }\n`).join('');
  const expect = count(
    expectations,
    (n) => `  - { user: u${n}, product: cad, groups: [g0], answer: served }\n`,
  );
  return `groups:
  g0: { users: [${count(names, (n) => `u${n}`).join(',')}] }
${outer}products: { cad: { allow: [g${groups - 1}] } }
expect:
${expect.join('')}`;
}

function patterns(many: number, write: (index: number) => string, expectations = 0): string {
  const perGroup = 10_000;
  const groups = count(Math.ceil(many / perGroup), (group) => {
    const size = Math.min(perGroup, many - group * perGroup);
    return `  g${group}: { users: [${count(size, (n) => `"${write(group * perGroup + n)}"`).join(',')}] }\n`;
  });
  const longName = 'u'.repeat(200);
  const expect = count(expectations, (n) => `  - { user: ${longName}${n}, product: cad, answer: served }\n`);
  return `groups:
${groups.join('')}products: { cad: { deny: { groups: [g0] } } }
${expectations === 0 ? '' : `expect:\n${expect.join('')}`}`;
}

export const HOSTILE_RULES = {
  'a chain of 900 groups over 10,000 names, with 100 expectations': chain(10_000, 900, 100),
  'the same with 300 expectations': chain(10_000, 900, 300),
  '90,000 times the same pattern': patterns(90_000, () => '*x*'),
  '90,000 patterns': patterns(90_000, (n) => `*${n.toString(36)}*`),
  '490,000 entries': patterns(490_000, () => 'a').replaceAll('"', ''),
} as const;

/** As long as anything that is not refused at once: nearly as many patterns as there may be. */
export const WORST_ACCEPTED = patterns(19_600, (n) => `*q${n.toString(36)}*`, 1000);

/** What a large company writes: it has to stay valid. */
export const LARGE_AND_SENSIBLE = `groups:
${count(60, (group) => {
  const users = count(150, (n) => `user-${group}-${n}`).join(', ');
  const inner = group === 0 ? '' : `, groups: [team-${group - 1}]`;
  const others = `addresses: [10.${group}.0.0/16]${inner}`;
  return `  team-${group}: { users: [${users}, "ext-${group}-*"], ${others} }\n`;
}).join('')}times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }
products:
${count(50, (n) => {
  const reserve = `{ slots: 1, for: team-${n}, during: office }, { slots: 2, for: team-${n + 1} }`;
  return `  p${n}: { allow: [team-59], reserve: [${reserve}], limit: [{ slots: 5, for: team-${n} }] }\n`;
}).join('')}expect:
${count(60, (n) => `  - { user: user-${n}-1, product: p3, answer: served }\n`).join('')}`;
