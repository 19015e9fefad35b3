import type { Savepoint } from '../../engine/batch.ts';
import { MissingRows } from '../../engine/execute.ts';
import { accessRows } from '../../engine/row-sql.ts';
import type { Row, RowValue } from '../../engine/rows.ts';
import type { Prepare, Values } from '../../engine/sql.ts';
import { STATEMENTS, type StatementName, type Statements } from '../../engine/statements.ts';
import { TABLE_NAMES, TABLES, type TableName } from '../../engine/tables.ts';
import { readGroups, readSoonest, type Sender, type Sql, writeChanges } from './bulk-writes.ts';
import { holdRows, type RowRequest } from './held-rows.ts';
import { MissingPlace, PlaceRows } from './place-rows.ts';
import { HELD_TABLES, type HeldRow, type HeldTable, isHeld, RowTable } from './row-table.ts';
import { type Compiled, compiledOf, valuesOf } from './statements.ts';

/** What a command needs and the working set does not hold. */
type Request =
  | RowRequest
  | { readonly kind: 'statement'; readonly statement: Compiled; readonly values: readonly RowValue[] };

class Missing extends MissingRows {
  readonly request: Request;
  /** What the command had written so far, in order. */
  readonly writes: readonly Sql[];

  constructor(request: Request, writes: readonly Sql[]) {
    super('Rows that were not read yet.');
    this.request = request;
    this.writes = writes;
  }
}

type Name = StatementName | TableName;

function isTable(name: Name): name is TableName {
  return name in TABLES;
}

/** Makes statements when they are first used: a transaction uses few of them. */
class LazyStatements {
  readonly #make: (name: Name) => unknown;
  readonly #made = new Map<Name, unknown>();

  constructor(make: (name: Name) => unknown) {
    this.#make = make;
  }

  static {
    for (const name of [...Object.keys(STATEMENTS), ...TABLE_NAMES] as Name[]) {
      const get = function (this: LazyStatements) {
        return this.#find(name);
      };
      Object.defineProperty(LazyStatements.prototype, name, { get });
    }
  }

  #find(name: Name): unknown {
    const found = this.#made.get(name) ?? this.#make(name);
    this.#made.set(name, found);
    return found;
  }
}

/**
 * What the commands of one transaction read and write. The engine is synchronous and runs on this: the rows
 * that it most likely needs were read ahead in one round trip. If something is missing, the command is
 * undone, the rows are read, and it runs again. Everything is written at the end, in one round trip.
 */
export class WorkingSet {
  readonly statements: Statements;
  readonly savepoint: Savepoint;
  readonly tables: Readonly<Record<HeldTable, RowTable>>;
  readonly places = new PlaceRows();
  /** Written and not yet sent, besides the changes in the tables. */
  #pending: Sql[] = [];
  #undo: (() => void)[] = [];
  /** Of the running command. */
  #writes: Sql[] = [];
  /** Results for the running command, in order: it asks for the same when it runs again. */
  #answers: (readonly Row[])[] = [];
  #asked = 0;
  /** Tables that the running command has changed in a way that only the database knows. */
  #blind = new Set<TableName>();
  /** Results of statements, until a table that they come from is written. */
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
    this.statements = new LazyStatements((name) => {
      if (!isTable(name)) return prepare(STATEMENTS[name]);
      const aside = () => accessRows(name, prepare);
      return isHeld(name) ? holdRows(this.tables[name], aside, holder) : aside();
    }) as unknown as Statements;
    this.savepoint = {
      begin: () => this.#startOver(),
      // Nothing is written before the end of the batch.
      set: () => {},
      release: () => this.#release(),
      rollBack: () => this.#rollBack(),
      concernsAll: () => false,
    };
  }

  /** Call before each command: the results of the last one are not its own. */
  beginCommand(): void {
    this.#answers = [];
  }

  /** Groups to read together as soon as one of them is needed. */
  expect(table: HeldTable, listGroups: () => readonly HeldRow[]): void {
    this.#expected.set(table, listGroups);
  }

  /** Keeps the result of a statement that will be run. */
  know(name: StatementName, values: readonly RowValue[], rows: readonly Row[]): void {
    this.#keep(compiledOf(STATEMENTS[name]), values, rows);
  }

  /** Reads what was missing, after sending what earlier commands have written. */
  async fetch(sender: Sender, missing: unknown): Promise<void> {
    if (missing instanceof MissingPlace) return this.places.read(sender, missing);
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

  /** Everything to be written, in an order that gives the same result. */
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
    // A kept result may be dropped before the command runs again, and must be the same then.
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

  /** Leaves a statement to the database, in order, if the tables here cannot follow it. */
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

  /** A command that needs the feature slots of one ended user needs those of the others too. */
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

/** Reads as if the running command had been carried out so far. */
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
