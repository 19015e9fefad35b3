import { codeOf, type Finding, findPattern, isTypeScript, productFiles, type SourceFile } from './source.ts';

const PURE = ['packages/server/src/core/', 'packages/cloud/src/core/', 'packages/protocol/src/'];
/** One for each program; whatever else wants the time is handed it. */
const CLOCKS_OF_PROGRAMS = [
  'packages/server/src/store/clock.ts',
  'packages/cloud/src/clock.ts',
  'packages/admin/src/clock.ts',
  'packages/client/src/clock.ts',
];
const MUST_LOG = /^packages\/(?:server|cloud)\/src\//;
const MAY_PRINT = /^packages\/(?:server|cloud)\/src\/(?:cli\/|main\.ts$)/;

const NEW_DATE = /\bnew\s+Date\b(?!\s*\(\s*[^\s)])/;
const DATE_CALL = /(?<![\w$.]|new\s+)Date\s*\(/;
const CLOCKS = [
  /\bDate\.now\b/,
  NEW_DATE,
  DATE_CALL,
  /\bperformance\.now\b/,
  /\bprocess\.hrtime\b/,
  /\bTemporal\.Now\b/,
];

const IMPURE = [
  ...CLOCKS,
  /(?<![\w$.])(?:performance|crypto|process|globalThis)\b(?!\s*\??:)/,
  /\bMath\.random\b/,
  /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/,
  /\b(?:async|await)\b/,
  /(?<![\w$.])fetch\s*\(/,
];

function anyOf(patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => pattern.source).join('|'));
}

/** The protocol may still sign and verify: rooms hold that it imports nothing but `node:crypto`. */
export function findCoreImpurity(files: SourceFile[]): Finding[] {
  const pure = PURE.flatMap((folder) => productFiles(files, folder));
  return pure.flatMap((file) =>
    findPattern(
      file,
      codeOf(file),
      anyOf(IMPURE),
      'core-purity',
      (found) =>
        `Cores and protocol may not use '${found}': the same values must always give the same result; ` +
        'take what it yields as an argument.',
    ),
  );
}

const SERVER = 'packages/server/src/';
const REFUSE_IMPORT = /import \{[^}]*\brefuse\b[^}]*\} from '[^']*core\/outcome(?:\.ts)?'/;
const REFUSAL = /\bkind: 'refused'/;

/** Whoever else refuses takes a decision that no test of the core sees, and that only one store knows. */
export function findForeignRefusals(files: SourceFile[]): Finding[] {
  return productFiles(files, SERVER)
    .filter(({ path }) => !path.startsWith(`${SERVER}core/`))
    .flatMap((file) => {
      const isStore = file.path.startsWith(`${SERVER}store/`);
      const pattern = isStore ? anyOf([REFUSE_IMPORT, REFUSAL]) : REFUSE_IMPORT;
      return findPattern(
        file,
        file.text,
        pattern,
        'refusal-origin',
        () => 'Only the core refuses, so that every store gives the same answers; move the decision there.',
      );
    });
}

/** Numbers the places of values: the only edit that is made to SQL. */
const MAY_EDIT_SQL = `${SERVER}store/postgres/wire/places.ts`;
const SQL_EDIT = /\b(?:sql|text|\w*Sql|[A-Z][A-Z_]+)\.(?:replace|replaceAll)\(/;

/** An edit that finds nothing, because somebody has broken a line, changes what the statement does unseen. */
export function findEditedSql(files: SourceFile[]): Finding[] {
  return productFiles(files, `${SERVER}store/`)
    .filter((file) => file.path !== MAY_EDIT_SQL)
    .flatMap((file) =>
      findPattern(
        file,
        codeOf(file),
        SQL_EDIT,
        'edited-sql',
        () => 'SQL is written, not edited; write the statement out for each database (`inEach`).',
      ),
    );
}

export function findClockReads(files: SourceFile[]): Finding[] {
  return productFiles(files, 'packages/')
    .filter((file) => !CLOCKS_OF_PROGRAMS.includes(file.path))
    .flatMap((file) =>
      findPattern(
        file,
        codeOf(file),
        anyOf(CLOCKS),
        'one-clock',
        (found) =>
          `'${found}' reads a clock of its own, and two clocks disagree one day; ` +
          `take the time from the clock in ${CLOCKS_OF_PROGRAMS.join(' or ')}.`,
      ),
    );
}

export function findConsoleLog(files: SourceFile[]): Finding[] {
  return files
    .filter((file) => MUST_LOG.test(file.path) && isTypeScript(file))
    .filter((file) => !MAY_PRINT.test(file.path))
    .flatMap((file) =>
      findPattern(
        file,
        codeOf(file),
        /\bconsole\.log\b/,
        'console-log',
        () => 'console.log bypasses the log and its redaction; write to the log instead.',
      ),
    );
}

export function findUnfinishedWords(files: SourceFile[]): Finding[] {
  return files
    .filter(isTypeScript)
    .flatMap((file) =>
      findPattern(
        file,
        file.text,
        /\b(?:TO[D]O|FIX[M]E|X{3})\b/,
        'unfinished',
        (found) =>
          `'${found}' marks unfinished work that nobody tracks here; finish it, or open an issue for it.`,
      ),
    );
}
