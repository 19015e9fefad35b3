import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Content, type ContentChange } from './content.ts';
import { type Image, listNames } from './image.ts';
import type { Happening } from './record.ts';

/** The kernel writes pages; a failed sync loses whole ones. */
const PAGE_BYTES = 4096;

/**
 * What a change of a file has become. `open`: not synced. `lost`: its sync failed, and the kernel took its
 * pages for written, so no later sync brings it to the disk unless the page is written again.
 */
type Fate = 'synced' | 'open' | 'lost';

export interface FileChange extends ContentChange {
  fate: Fate;
}

/** A name that appears or disappears; a rename is both at once. */
interface NameChange {
  readonly removed: string | null;
  readonly added: string | null;
  readonly node: Node | null;
}

/** A file or a folder, with what is surely on the disk and what may be. */
export class Node {
  readonly isFolder: boolean;
  /** What is surely there, but for what `changes` say. */
  base = new Content(Buffer.alloc(0));
  changes: FileChange[] = [];
  readonly names = new Map<string, Node>();
  nameChanges: NameChange[] = [];
  /** The names as the running server sees them. */
  readonly liveNames = new Map<string, Node>();

  constructor(isFolder: boolean) {
    this.isFolder = isFolder;
  }
}

/** A disk, as it is known from what was done to it. */
export class Disk {
  readonly root: Node;
  readonly #nodes = new Map<number, Node>();

  constructor(image: Image) {
    this.root = this.#load(image);
  }

  #load({ inode, bytes, children }: Image): Node {
    const node = new Node(bytes === null);
    this.#nodes.set(inode, node);
    if (bytes !== null) node.base.apply({ at: 0, bytes });
    for (const [name, image] of Object.entries(children)) {
      const child = this.#load(image);
      node.names.set(name, child);
      node.liveNames.set(name, child);
    }
    return node;
  }

  apply(happening: Happening): void {
    switch (happening.kind) {
      case 'create':
        this.#create(happening.path, happening.inode, happening.isFolder);
        break;
      case 'write':
        this.#write(happening.inode, happening.at, happening.bytes);
        break;
      case 'truncate':
        this.#find(happening.inode)?.changes.push({ bytes: null, at: happening.size, fate: 'open' });
        break;
      case 'rename':
        this.#rename(happening.from, happening.to);
        break;
      case 'link':
        this.#name(happening.to, this.#at(happening.from));
        break;
      case 'unlink':
        this.#unname(happening.path);
        break;
      case 'sync':
        this.#sync(this.#find(happening.inode), happening.hasFailed);
        break;
      default:
    }
  }

  /** How many changes of names no sync has confirmed. */
  countOpenNames(): number {
    return [...this.#nodes.values()].reduce((sum, { nameChanges }) => sum + nameChanges.length, 0);
  }

  #create(path: string, inode: number, isFolder: boolean): void {
    const node = new Node(isFolder);
    this.#nodes.set(inode, node);
    this.#name(path, node);
  }

  #find(inode: number): Node | undefined {
    return this.#nodes.get(inode);
  }

  #at(path: string): Node | null {
    let node: Node | null = this.root;
    for (const name of path.split('/')) node = node?.liveNames.get(name) ?? null;
    return node;
  }

  #folderOf(path: string): { folder: Node; name: string } | null {
    const cut = path.lastIndexOf('/');
    const folder = cut < 0 ? this.root : this.#at(path.slice(0, cut));
    return folder === null ? null : { folder, name: path.slice(cut + 1) };
  }

  #name(path: string, node: Node | null): void {
    const place = this.#folderOf(path);
    if (place === null || node === null) return;
    place.folder.liveNames.set(place.name, node);
    place.folder.nameChanges.push({ removed: null, added: place.name, node });
  }

  #unname(path: string): void {
    const place = this.#folderOf(path);
    // A socket has a name, too, which is not recorded.
    if (place === null || !place.folder.liveNames.delete(place.name)) return;
    place.folder.nameChanges.push({ removed: place.name, added: null, node: null });
  }

  /** Within a folder it is one change. */
  #rename(from: string, to: string): void {
    const [source, target] = [this.#folderOf(from), this.#folderOf(to)];
    const node = this.#at(from);
    if (source === null || target === null || node === null) return;
    if (source.folder !== target.folder) {
      this.#name(to, node);
      this.#unname(from);
      return;
    }
    source.folder.liveNames.delete(source.name);
    source.folder.liveNames.set(target.name, node);
    source.folder.nameChanges.push({ removed: source.name, added: target.name, node });
  }

  /** In pages. Whoever writes to a page again gives the kernel what a failed sync has lost of it. */
  #write(inode: number, start: number, bytes: Buffer): void {
    const node = this.#find(inode);
    if (node === undefined) return;
    for (let at = start; at < start + bytes.length; ) {
      const end = Math.min(start + bytes.length, (pageOf(at) + 1) * PAGE_BYTES);
      for (const change of node.changes) {
        if (change.fate === 'lost' && pageOf(change.at) === pageOf(at)) change.fate = 'open';
      }
      node.changes.push({ bytes: bytes.subarray(at - start, end - start), at, fate: 'open' });
      at = end;
    }
  }

  #sync(node: Node | undefined, hasFailed: boolean): void {
    if (node?.isFolder === false) settle(node, hasFailed);
    if (node?.isFolder !== true || hasFailed) return;
    for (const change of node.nameChanges) applyName(node.names, change);
    node.nameChanges = [];
  }
}

function pageOf(at: number): number {
  return Math.floor(at / PAGE_BYTES);
}

function settle(node: Node, hasFailed: boolean): void {
  for (const change of node.changes) {
    // A new length is kept elsewhere than the pages.
    if (change.fate === 'open' && !(hasFailed && change.bytes === null))
      change.fate = hasFailed ? 'lost' : 'synced';
  }
  const firstUnsure = node.changes.findIndex(({ fate }) => fate !== 'synced');
  const sure = node.changes.splice(0, firstUnsure < 0 ? node.changes.length : firstUnsure);
  for (const change of sure) node.base.apply(change);
}

export function applyName(names: Map<string, Node>, { removed, added, node }: NameChange): void {
  if (removed !== null) names.delete(removed);
  if (added !== null && node !== null) names.set(added, node);
}

/** Where the running server's files differ from what was recorded; `null`: nowhere. */
export function findUnrecorded(node: Node, path: string): string | null {
  const names = listNames(path);
  const missing = [...node.liveNames.keys()].find((name) => !names.includes(name));
  if (missing !== undefined) return `${path}/${missing} is recorded, but not there`;
  for (const name of names) {
    const child = node.liveNames.get(name);
    const file = join(path, name);
    if (child === undefined) return `${file} is there, but not recorded`;
    const different = child.isFolder ? findUnrecorded(child, file) : compareContent(child, file);
    if (different !== null) return different;
  }
  return null;
}

function compareContent({ base, changes }: Node, file: string): string | null {
  const content = base.copy();
  for (const change of changes) content.apply(change);
  return content.bytes.equals(readFileSync(file)) ? null : `${file} is not as it was recorded`;
}
