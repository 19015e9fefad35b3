import type { Savepoint } from '../../engine/batch.ts';
import { MissingRows } from '../../engine/execute-command.ts';
import type { Row, RowValue } from '../../engine/rows.ts';
import {
  STATEMENT_NAMES,
  type Statement,
  type StatementName,
  type Statements,
} from '../../engine/statements.ts';
import type { Parameter } from '../wire/encode-parameter.ts';
import { readGroups, readSoonest, type Sql, writeChanges } from './bulk-writes.ts';
import { listFromTable, type TableCall, writeToTable } from './row-statements.ts';
import { RowTable } from './row-table.ts';
import { STATEMENTS, valuesOf } from './statements.ts';
import { TABLES, type TableName } from './tables.ts';

/** Who sends statements; those that are sent together travel together. */
export interface Sender {
  query(text: string, values: readonly Parameter[]): Promise<readonly Row[]>;
}

type RowRequest =
  | { readonly kind: 'group'; readonly table: TableName; readonly group: readonly RowValue[] }
  | { readonly kind: 'soonest'; readonly table: TableName; readonly license: number; readonly limit: number };

/** What a command has asked for and the working set does not hold. */
type Request =
  | RowRequest
  | { readonly kind: 'statement'; readonly name: StatementName; readonly values: readonly RowValue[] };

class Missing extends MissingRows {
  readonly request: Request;
  /** What the command had written before it asked, in its order. */
  readonly writes: readonly Sql[];

  constructor(request: Request, writes: readonly Sql[]) {
    super('Rows that were not read yet.');
    this.request = request;
    this.writes = writes;
  }
}

/** As many as one command collects, and one more to see that there are more. */
const SOONEST_LIMIT = 1001;

/**
 * What the commands of one transaction read and write, while the database waits. The engine runs on it
 * without waiting for anything: rows that are most likely asked for were read with one question; when
 * something is missing, the command is undone, the rows are read, and it is tried again. Everything is
 * written at the end, at once.
 */
export class WorkingSet {
  readonly statements: Statements;
  readonly savepoint: Savepoint;
  readonly tables: Readonly<Record<TableName, RowTable>>;
  /** Written and not yet sent, besides the changes that the tables hold. */
  #pending: Sql[] = [];
  #undo: (() => void)[] = [];
  /** Of the running command. */
  #writes: Sql[] = [];
  /**
   * Answers to the running command, in the order in which it asks: it asks the same when it is tried again.
   */
  #answers: (readonly Row[])[] = [];
  #asked = 0;
  /** Tables of which only the database knows what the running command has made of them. */
  #blind = new Set<string>();
  /** Answers to statements, as long as no table that they come from is written. */
  readonly #kept = new Map<string, { readonly rows: readonly Row[]; readonly tables: readonly string[] }>();
  readonly #expected = new Map<TableName, () => readonly (readonly RowValue[])[]>();
  /** Every table that a command has written to. */
  readonly written = new Set<string>();
  readonly #touched = new Set<string>();

  constructor() {
    const journal = (undo: () => void) => this.#undo.push(undo);
    this.tables = Object.fromEntries(
      Object.entries(TABLES).map(([name, spec]) => [name, new RowTable(spec, journal)]),
    ) as Record<TableName, RowTable>;
    this.statements = Object.fromEntries(
      STATEMENT_NAMES.map((name) => [name, this.#makeStatement(name)]),
    ) as unknown as Statements;
    this.savepoint = {
      set: () => this.#startOver(),
      release: () => this.#release(),
      rollBack: () => this.#rollBack(),
      concernsAll: () => false,
    };
  }

  /** Before another command: what the last one has asked means nothing to it. */
  beginCommand(): void {
    this.#answers = [];
  }

  /** Groups of which none may be asked for, but if one is, then most likely others too. */
  expect(table: TableName, listGroups: () => readonly (readonly RowValue[])[]): void {
    this.#expected.set(table, listGroups);
  }

  /** Takes in the answer to a statement that will be asked. */
  know(name: StatementName, values: readonly RowValue[], rows: readonly Row[]): void {
    this.#kept.set(keyOf(name, values), { rows, tables: STATEMENTS[name].reads });
  }

  /** Reads what was missing. What earlier commands have written is sent before. */
  async fetch(sender: Sender, missing: unknown): Promise<void> {
    if (!(missing instanceof Missing)) throw missing;
    const sent = this.takeWrites().map(({ text, values }) => sender.query(text, values));
    const { request, writes } = missing;
    if (request.kind !== 'statement') {
      const [rows] = await Promise.all([this.#readRows(sender, request), ...sent]);
      this.#learn(request, rows);
      return;
    }
    const { text } = STATEMENTS[request.name];
    const read = () => sender.query(text, request.values);
    const [rows] = await Promise.all([writes.length === 0 ? read() : aside(sender, writes, read), ...sent]);
    this.#answers.push(rows);
    if (writes.length === 0) this.know(request.name, request.values, rows);
  }

  /** Everything that is to be written, in an order that leaves the same. */
  takeWrites(): readonly Sql[] {
    const writes = [...this.#pending, ...this.#spill()];
    this.#pending = [];
    return writes;
  }

  #spill(): readonly Sql[] {
    const changed = Object.values(this.tables).filter((table) => table.isChanged);
    return changed.flatMap((table) => writeChanges(table.spec, table.takeChanges()));
  }

  #release(): void {
    for (const table of this.#touched) this.written.add(table);
    this.#startOver();
  }

  #startOver(): void {
    this.#touched.clear();
    this.#undo = [];
    this.#writes = [];
    this.#asked = 0;
    this.#blind.clear();
  }

  #rollBack(): void {
    for (const step of this.#undo.reverse()) step();
    this.#startOver();
  }

  #makeStatement(name: StatementName): Statement {
    const compiled = STATEMENTS[name];
    const list = (args: Parameters<typeof valuesOf>[1]) => this.#list(name, valuesOf(compiled, args));
    return {
      get: (...args: Parameters<typeof valuesOf>[1]) => list(args)[0],
      all: (...args: Parameters<typeof valuesOf>[1]) => [...list(args)],
      run: (...args: Parameters<typeof valuesOf>[1]) => this.#run(name, valuesOf(compiled, args)),
    } as Statement;
  }

  #list(name: StatementName, values: readonly RowValue[]): readonly Row[] {
    const { reads } = STATEMENTS[name];
    if (!reads.some((table) => this.#blind.has(table))) {
      const found = listFromTable(this.tables, name, values);
      if (found !== null) return this.#require(found);
    }
    const position = this.#asked++;
    const known = this.#answers[position] ?? this.#kept.get(keyOf(name, values))?.rows;
    if (known === undefined) throw this.#miss({ kind: 'statement', name, values });
    // What is kept may be given up before the command is tried again, and must be the same to it then.
    this.#answers[position] = known;
    return known;
  }

  #require({ table, rows, group, license }: TableCall): readonly Row[] {
    if (rows !== undefined) return rows;
    if (group !== undefined) throw this.#miss({ kind: 'group', table, group });
    const asked = this.tables[table].soonestLimit(license as number);
    const limit = Math.max(SOONEST_LIMIT, 2 * asked);
    throw this.#miss({ kind: 'soonest', table, license: license as number, limit });
  }

  #miss(request: Request): Missing {
    return new Missing(request, [...this.#writes]);
  }

  #run(name: StatementName, values: readonly RowValue[]): { readonly changes: number } {
    const { text, writes } = STATEMENTS[name];
    const [table = ''] = writes;
    this.#writes.push({ text, values });
    this.#touched.add(table);
    for (const [key, { tables }] of this.#kept) {
      if (tables.includes(table)) this.#kept.delete(key);
    }
    if (this.#blind.has(table) || !writeToTable(this.tables, name, values))
      this.#runAside(table, text, values);
    return { changes: 0 };
  }

  /** A statement that the tables here cannot follow: it is left to the database, in its place. */
  #runAside(table: string, text: string, values: readonly RowValue[]): void {
    const pendingBefore = this.#pending;
    this.#undo.push(() => {
      this.#pending = pendingBefore;
    });
    const followed = this.tables[table as TableName];
    const earlier = followed === undefined ? [] : writeChanges(followed.spec, followed.takeChanges());
    this.#pending = [...pendingBefore, ...earlier, { text, values }];
    if (followed === undefined) return;
    followed.forget();
    this.#blind.add(table);
  }

  #readRows(sender: Sender, request: RowRequest): Promise<readonly Row[]> {
    const { spec } = this.tables[request.table];
    const { text, values } =
      request.kind === 'group'
        ? readGroups(
            spec,
            this.#listWanted(request).map((group) => groupRow(spec.group, group)),
          )
        : readSoonest(spec, [request.license], request.limit);
    return sender.query(text, values);
  }

  /** Who asks for the feature slots of one user whose slot has ended will ask for those of the others. */
  #listWanted({ table, group }: RowRequest & { kind: 'group' }): readonly (readonly RowValue[])[] {
    if (table !== 'feature_slot') return [group, ...(this.#expected.get(table)?.() ?? [])];
    return [group, ...this.tables.registration.listGroups(group[0] as number)];
  }

  #learn(request: RowRequest, rows: readonly Row[]): void {
    const table = this.tables[request.table];
    if (request.kind === 'group') {
      table.learn(rows);
      for (const group of this.#listWanted(request)) table.complete(group);
    } else {
      table.learnSoonest(request.license, rows, request.limit);
    }
  }
}

export function groupRow(columns: readonly string[], values: readonly RowValue[]): Row {
  return Object.fromEntries(columns.map((column, index) => [column, values[index] as RowValue]));
}

function keyOf(name: StatementName, values: readonly RowValue[]): string {
  return JSON.stringify([name, ...values.map((value) => (value instanceof Uint8Array ? [...value] : value))]);
}

/** Asks as if the running command had been carried out so far. */
async function aside(
  sender: Sender,
  writes: readonly Sql[],
  read: () => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const results = [
    sender.query('SAVEPOINT command', []),
    ...writes.map(({ text, values }) => sender.query(text, values)),
    read(),
    sender.query('ROLLBACK TO command', []),
    sender.query('RELEASE command', []),
  ];
  return (await Promise.all(results)).at(-3) as readonly Row[];
}
