import type { Savepoint } from '../../engine/batch.ts';
import { MissingRows } from '../../engine/execute-command.ts';
import { type AllRows, accessRows } from '../../engine/row-sql.ts';
import type { Row, RowValue } from '../../engine/rows.ts';
import { type Prepare, prepareAll, type Values } from '../../engine/sql.ts';
import type { StatementName, Statements } from '../../engine/statements.ts';
import { TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import type { Parameter } from '../wire/encode-parameter.ts';
import { readGroups, readSoonest, type Sql, writeChanges } from './bulk-writes.ts';
import { holdRows, type RowRequest } from './held-rows.ts';
import { HELD_TABLES, type HeldRow, type HeldTable, isHeld, RowTable } from './row-table.ts';
import { type Compiled, compiledOf, POSTGRES_STATEMENTS, valuesOf } from './statements.ts';

/** Who sends statements; those that are sent together travel together. */
export interface Sender {
  query<R = Row>(text: string, values: readonly Parameter[]): Promise<readonly R[]>;
}

/** What a command has asked for and the working set does not hold. */
type Request =
  | RowRequest
  | { readonly kind: 'statement'; readonly statement: Compiled; readonly values: readonly RowValue[] };

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

/**
 * What the commands of one transaction read and write, while the database waits. The engine runs on it
 * without waiting for anything: rows that are most likely asked for were read with one question; when
 * something is missing, the command is undone, the rows are read, and it is tried again. Everything is
 * written at the end, at once.
 */
export class WorkingSet {
  readonly statements: Statements;
  readonly savepoint: Savepoint;
  readonly tables: Readonly<Record<HeldTable, RowTable>>;
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
  #blind = new Set<TableName>();
  /** Answers to statements, as long as no table that they come from is written. */
  readonly #kept = new Map<
    string,
    { readonly rows: readonly Row[]; readonly tables: readonly TableName[] }
  >();
  readonly #expected = new Map<HeldTable, () => readonly HeldRow[]>();
  /** Every table that a command has written to. */
  readonly written = new Set<TableName>();
  readonly #touched = new Set<TableName>();

  constructor() {
    const journal = (undo: () => void) => this.#undo.push(undo);
    this.tables = Object.fromEntries(
      HELD_TABLES.map((name) => [name, new RowTable(name, journal)]),
    ) as Record<HeldTable, RowTable>;
    const prepare = ((declared) => this.#prepare(compiledOf(declared))) as Prepare;
    const holder = {
      isBlind: (table: TableName) => this.#blind.has(table),
      run: this.#run.bind(this),
      miss: (request: RowRequest) => this.#miss(request),
    };
    const rows = TABLE_NAMES.map((name) => {
      const aside = accessRows(name, prepare);
      return [name, isHeld(name) ? holdRows(this.tables[name], aside, holder) : aside];
    });
    this.statements = {
      ...prepareAll(POSTGRES_STATEMENTS, prepare),
      ...(Object.fromEntries(rows) as AllRows),
    };
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
  expect(table: HeldTable, listGroups: () => readonly HeldRow[]): void {
    this.#expected.set(table, listGroups);
  }

  /** Takes in the answer to a statement that will be asked. */
  know(name: StatementName, values: readonly RowValue[], rows: readonly Row[]): void {
    this.#keep(compiledOf(POSTGRES_STATEMENTS[name]), values, rows);
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
    const { statement, values } = request;
    const read = () => sender.query(statement.text, values);
    const [rows] = await Promise.all([writes.length === 0 ? read() : aside(sender, writes, read), ...sent]);
    this.#answers.push(rows);
    if (writes.length === 0) this.#keep(statement, values, rows);
  }

  #keep(statement: Compiled, values: readonly RowValue[], rows: readonly Row[]): void {
    this.#kept.set(keyOf(statement, values), { rows, tables: statement.reads });
  }

  /** Everything that is to be written, in an order that leaves the same. */
  takeWrites(): readonly Sql[] {
    const writes = [...this.#pending, ...this.#spill()];
    this.#pending = [];
    return writes;
  }

  #spill(): readonly Sql[] {
    const changed = Object.values(this.tables).filter((table) => table.isChanged);
    return changed.flatMap((table) => writeChanges(table.name, table.takeChanges()));
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

  #prepare(statement: Compiled) {
    if (statement.writes !== null) {
      return { run: (...given: Values) => this.#run(statement, valuesOf(statement, given)) };
    }
    return {
      get: (...given: Values) => this.#list(statement, valuesOf(statement, given))[0],
      all: (...given: Values) => [...this.#list(statement, valuesOf(statement, given))],
    };
  }

  #list(statement: Compiled, values: readonly RowValue[]): readonly Row[] {
    const position = this.#asked++;
    const known = this.#answers[position] ?? this.#kept.get(keyOf(statement, values))?.rows;
    if (known === undefined) throw this.#miss({ kind: 'statement', statement, values });
    // What is kept may be given up before the command is tried again, and must be the same to it then.
    this.#answers[position] = known;
    return known;
  }

  #miss(request: Request): Missing {
    return new Missing(request, [...this.#writes]);
  }

  #run({ text, writes }: Compiled, values: readonly RowValue[], follow?: () => unknown): void {
    const table = writes as TableName;
    this.#writes.push({ text, values });
    this.#touched.add(table);
    for (const [key, { tables }] of this.#kept) {
      if (tables.includes(table)) this.#kept.delete(key);
    }
    if (follow === undefined || this.#blind.has(table) || follow() === false)
      this.#runAside(table, text, values);
  }

  /** A statement that the tables here cannot follow is left to the database, in its place. */
  #runAside(table: TableName, text: string, values: readonly RowValue[]): void {
    const pendingBefore = this.#pending;
    this.#undo.push(() => {
      this.#pending = pendingBefore;
    });
    const held = isHeld(table) ? this.tables[table] : undefined;
    const earlier = held === undefined ? [] : writeChanges(held.name, held.takeChanges());
    this.#pending = [...pendingBefore, ...earlier, { text, values }];
    if (held === undefined) return;
    held.forget();
    this.#blind.add(table);
  }

  #readRows(sender: Sender, request: RowRequest): Promise<readonly HeldRow[]> {
    const { text, values } =
      request.kind === 'group'
        ? readGroups(request.table, this.#listWanted(request))
        : readSoonest(request.table, [request.license], request.limit);
    return sender.query(text, values);
  }

  /** Who asks for the feature slots of one user whose slot has ended will ask for those of the others. */
  #listWanted({ table, group }: RowRequest & { kind: 'group' }): readonly HeldRow[] {
    if (table !== 'feature_slot') return [group, ...(this.#expected.get(table)?.() ?? [])];
    return [group, ...this.tables.registration.listGroups(group.license_id)];
  }

  #learn(request: RowRequest, rows: readonly HeldRow[]): void {
    const table = this.tables[request.table];
    if (request.kind === 'group') {
      table.learn(rows);
      for (const group of this.#listWanted(request)) table.complete(group);
    } else {
      table.learnSoonest(request.license, rows, request.limit);
    }
  }
}

function keyOf({ id }: Compiled, values: readonly RowValue[]): string {
  return JSON.stringify([id, ...values.map((value) => (value instanceof Uint8Array ? [...value] : value))]);
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
