import { open, rm } from 'node:fs/promises';
import { arch, hostname, platform, release, userInfo } from 'node:os';
import { gzipSync } from 'node:zlib';
import type { GetAnswer, GetPath } from '@berth/protocol/admin/admin-api';
import { showConfig, withValues } from '../../config.ts';
import { Pseudonyms } from '../../services/support/pseudonyms.ts';
import { type BundleFile, writeTar } from '../../services/support/write-tar.ts';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { type Command, defineCommand, type LocalContext } from '../command.ts';
import { cannot } from '../files.ts';
import { InputError } from '../read-secrets.ts';
import { runDoctor } from './doctor-commands.ts';

/** A bundle for support. */
export const SUPPORT_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'support-bundle',
    arguments: ['FILE'],
    usage: '[--with-names]',
    about: 'collect settings, findings, metrics, log and audit log in one .tar.gz, without secrets or names',
    local: makeBundle,
    show: ({ saved_as, files, names }) =>
      `Saved ${files.length} files in ${saved_as}. ${names === 'replaced' ? REPLACED : KEPT}`,
  }),
];

const REPLACED = 'Users, hosts and addresses have other names in it; look through it before you send it.';
const KEPT = 'It has the names of users, hosts and addresses.';

interface Bundle {
  readonly saved_as: string;
  readonly files: readonly string[];
  readonly names: 'replaced' | 'kept';
}

async function makeBundle(context: LocalContext): Promise<AdminAnswer<Bundle>> {
  const [file = ''] = context.words;
  const isPlain = context.flags['with-names'] === true;
  // Before anything is collected: it may take a while.
  const handle = await open(file, 'wx', 0o600).catch(cannotWrite(file));
  try {
    const files = await writeFiles(context, isPlain);
    await handle.writeFile(files.archive);
    const body: Bundle = { saved_as: file, files: files.names, names: isPlain ? 'kept' : 'replaced' };
    return { ok: true, body };
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

async function writeFiles(context: LocalContext, isPlain: boolean) {
  const { documents, names } = await collect(context);
  const pseudonyms = isPlain ? null : learnNames(documents, names);
  const files = documents.map((document) => writeDocument(document, pseudonyms));
  const all = [{ name: 'README.txt', text: describeBundle(files, isPlain) }, ...files];
  return { archive: gzipSync(writeTar(all, readSeconds(documents))), names: all.map(({ name }) => name) };
}

function cannotWrite(file: string): (error: unknown) => never {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new InputError(`${file} already exists. Choose another file, or move that one.`);
    }
    return cannot('written', file)(error);
  };
}

interface Document {
  readonly name: string;
  /** A list becomes a file with a line for each item; text stays as it is. */
  readonly content: unknown;
}

interface Collected {
  readonly documents: readonly Document[];
  /** Where more names are; not part of the bundle. */
  readonly names: unknown;
}

/** What the server says, or what can be known without it. */
async function collect(context: LocalContext): Promise<Collected> {
  const program = { berth: context.version, node: process.versions.node };
  const machine = { platform: platform(), release: release(), arch: arch() };
  const versions = { name: 'versions.json', content: { ...program, ...machine } };
  const findings = { name: 'doctor.json', content: { findings: await runDoctor(context) } };
  try {
    const client = await context.open();
    try {
      return await ask(client, [versions, findings]);
    } finally {
      await client.close();
    }
  } catch (error) {
    const message = await context.explain(error);
    const settings = { name: 'settings.json', content: showConfig(context.config) };
    const missing = { name: 'not-asked.json', content: { message } };
    return { documents: [versions, findings, settings, missing], names: [] };
  }
}

const AUDIT_EVENTS = 1000;

async function ask(client: AdminClient, more: readonly Document[]): Promise<Collected> {
  const get = async (path: GetPath) => (await client.get(path)).body;
  const audit = await client.get('/api/admin/audit', { limit: AUDIT_EVENTS });
  const log = await client.get('/api/admin/log');
  const documents = [
    ...more,
    { name: 'settings.json', content: await readSettings(client) },
    { name: 'status.json', content: await get('/api/admin/status') },
    { name: 'metrics.txt', content: await readMetrics(client) },
    { name: 'log.jsonl', content: log.ok ? log.body.lines : [] },
    { name: 'audit.jsonl', content: audit.ok ? audit.body.events.toReversed() : [] },
  ];
  const names = [
    await get('/api/admin/users'),
    await get('/api/admin/tokens'),
    await get('/api/admin/registrations'),
    await get('/api/admin/bars'),
  ];
  return { documents, names };
}

/** Nested as in berth.yaml, so that names in them are found. */
async function readSettings(client: AdminClient): Promise<unknown> {
  const { ok, body } = await client.get('/api/admin/settings');
  if (!ok) return body;
  const { sources: _, ...settings } = withValues(
    body.settings.map(({ name, value }) => [name, value] as const),
    new Map(),
  );
  return { settings };
}

async function readMetrics(client: AdminClient): Promise<string> {
  const chunks: Uint8Array[] = [];
  await client.download('/metrics', {}, async (chunk) => {
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString('utf8');
}

function learnNames(documents: readonly Document[], names: unknown): Pseudonyms {
  const pseudonyms = new Pseudonyms();
  pseudonyms.know('host', hostname());
  const name = findUserName();
  if (name !== null) pseudonyms.know('user', name);
  pseudonyms.learn(names);
  for (const { content } of documents) pseudonyms.learn(content);
  return pseudonyms;
}

function writeDocument({ name, content }: Document, pseudonyms: Pseudonyms | null): BundleFile {
  const hidden = pseudonyms === null ? content : pseudonyms.hide(content);
  if (typeof hidden === 'string') return { name, text: hidden };
  if (!Array.isArray(hidden)) return { name, text: `${JSON.stringify(hidden, null, 2)}\n` };
  return { name, text: hidden.map((item) => `${JSON.stringify(item)}\n`).join('') };
}

const ABOUT = 'Support bundle of a Berth server. It has no secrets: no keys, passwords or tokens.';
const ABOUT_PSEUDONYMS =
  'Users, hosts and addresses are replaced by words such as user_1; the same name is the same word in all ' +
  'files. Names of products and licenses, and folders other than home folders, are as they are.';

function describeBundle(files: readonly BundleFile[], isPlain: boolean): string {
  const list = files.map(({ name, text }) => `${name}  ${text.length} characters`);
  return [ABOUT, isPlain ? KEPT : ABOUT_PSEUDONYMS, '', ...list, ''].join('\n');
}

/** The time of the server, which dates the files; 0 if the server did not answer. */
function readSeconds(documents: readonly Document[]): number {
  const status = documents.find(({ name }) => name === 'status.json')?.content as
    | Partial<GetAnswer<'/api/admin/status'>>
    | undefined;
  const at = Date.parse(status?.clock?.wall_at ?? '');
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000);
}

/** A container may run as a user without a name. */
function findUserName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
