import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { DataImage } from './data-image.ts';

/** A bit of a file, and what it is in. */
export interface Bit {
  readonly folder: 'stopped' | 'crashed' | 'others';
  readonly file: string;
  /** The table or index whose page it is in. */
  readonly table: string | null;
  readonly at: number;
  readonly mask: number;
}

type Choose = (random: Random) => Bit;

const PAGE_BYTES = 4096;
const HEADER_BYTES = 100;
const BITS_PER_BYTE = 8;

/** How often of a hundred a page is hit where its rows are, and not anywhere. */
const ROWS_PERCENT = 85;

/** How often each file is hit. The tables of a database share its part evenly, however large they are. */
const WEIGHTS: readonly [folder: Bit['folder'], file: string, weight: number][] = [
  ['stopped', 'berth.db', 45],
  ['crashed', 'berth.db', 15],
  ['crashed', 'berth.db-wal', 15],
  ['stopped', 'berth.db-sums', 4],
  ['crashed', 'berth.db-shm', 2],
  ['stopped', 'master.key', 5],
  ['others', 'backup', 6],
  ['others', 'berth.yaml', 2],
  ['others', 'rules.yaml', 2],
  ['others', 'tls.crt', 2],
  ['others', 'tls.key', 2],
];

export function chooseAnyBit(image: DataImage): Choose {
  const choices = WEIGHTS.flatMap(([folder, file, weight]) => {
    const choose = file === 'berth.db' ? chooseInTables(image, folder) : chooseInFile(image, folder, file);
    return Array<Choose>(weight).fill(choose);
  });
  return (random) => pickOne(random, choices)(random);
}

/** A bit of a row of one of these tables, in a server that was stopped. */
export function chooseInRows(image: DataImage, tables: readonly string[]): Choose {
  const { file, pages } = readPages(image, 'stopped');
  const chosen = pages.filter(({ table }) => tables.includes(table));
  return (random) => {
    const { table, first } = pickOne(random, chosen);
    const place = placeInRows(random, file, first);
    return { folder: 'stopped', file: 'berth.db', table, ...place };
  };
}

function pathOf({ folders, others }: DataImage, folder: Bit['folder'], file: string): string {
  return join(folder === 'others' ? others : folders[folder], file);
}

function chooseInFile(image: DataImage, folder: Bit['folder'], file: string): Choose {
  const { length } = readFileSync(pathOf(image, folder, file));
  return (random) => ({ folder, file, table: null, ...placeIn(random, 0, length) });
}

interface Page {
  readonly table: string;
  /** Its first byte. */
  readonly first: number;
}

function chooseInTables(image: DataImage, folder: Bit['folder']): Choose {
  const { file, pages } = readPages(image, folder);
  const byTable = Object.values(Object.groupBy(pages, ({ table }) => table)) as Page[][];
  return (random) => {
    const { table, first } = pickOne(random, pickOne(random, byTable));
    const inRows = pickNumber(random, { from: 1, to: 100 }) <= ROWS_PERCENT;
    const place = inRows ? placeInRows(random, file, first) : placeIn(random, first, first + PAGE_BYTES);
    return { folder, file: 'berth.db', table, ...place };
  };
}

/** All pages of a database, as they are in the file itself, with the names of their trees. */
function readPages(image: DataImage, folder: Bit['folder']) {
  const path = pathOf(image, folder, 'berth.db');
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly: true });
  const named = new Map(
    db
      .prepare('SELECT pageno, name FROM dbstat')
      .all()
      .map(({ pageno, name }) => [pageno, name]),
  );
  db.close();
  const file = readFileSync(path);
  const pages = Array.from({ length: file.length / PAGE_BYTES }, (_, index): Page => {
    return { table: String(named.get(index + 1) ?? 'no table'), first: index * PAGE_BYTES };
  });
  return { file, pages };
}

const LEAF_OR_TREE: readonly number[] = [2, 5, 10, 13];
const ROWS_AT = 5;

/** From the first row to the end of a page of a tree; anywhere in others. */
function placeInRows(random: Random, file: Buffer, first: number) {
  const header = first === 0 ? HEADER_BYTES : first;
  const isTree = LEAF_OR_TREE.includes(file.readUInt8(header));
  const rows = isTree ? file.readUInt16BE(header + ROWS_AT) : 0;
  return placeIn(random, first + (rows < PAGE_BYTES ? rows : 0), first + PAGE_BYTES);
}

function placeIn(random: Random, from: number, end: number): Pick<Bit, 'at' | 'mask'> {
  const at = pickNumber(random, { from, to: end - 1 });
  return { at, mask: 1 << pickNumber(random, { from: 0, to: BITS_PER_BYTE - 1 }) };
}
