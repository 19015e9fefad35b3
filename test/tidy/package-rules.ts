import { listImports } from './imports.ts';
import { type Finding, findPattern, lineAt, productFiles, type SourceFile } from './source.ts';

const SHARED_FOLDER = /\.\.\/shared\b/;
const REGISTRY_HOST = /\/\/registry\.|\bregistry\.[a-z0-9.-]+\.(?:org|com|net|io|dev|local|internal)\b/;
const MANIFEST = /^(?:packages\/[^/]+\/)?package\.json$/;
const EXACT_VERSION = /^(?:npm:.+@)?\d+\.\d+\.\d+(?:-[\w.-]+)?$/;
const DEPENDENCY_FIELDS = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
] as const;
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

export function findOutsideReferences(files: SourceFile[]): Finding[] {
  return files.flatMap((file) =>
    findPattern(
      file,
      file.text,
      new RegExp(`${SHARED_FOLDER.source}|${REGISTRY_HOST.source}`),
      'outside-reference',
      (found) => `'${found}' exists on some machines only; name nothing that lies outside the repository.`,
    ),
  );
}

export function findResolvedAddresses(files: SourceFile[]): Finding[] {
  return files
    .filter(({ path }) => path === 'package-lock.json')
    .flatMap((file) =>
      findPattern(
        file,
        file.text,
        /"https?:/,
        'lockfile',
        () =>
          'The lockfile names an address; that of a registry binds it there, and npm ci fails elsewhere. ' +
          'Run npm install with omit-lockfile-registry-resolved=true, and take "funding" out.',
      ),
    );
}

type Manifest = Partial<Record<(typeof DEPENDENCY_FIELDS)[number] | 'scripts', Record<string, string>>>;

function readManifest(file: SourceFile): Manifest {
  return JSON.parse(file.text) as Manifest;
}

function findKey(file: SourceFile, section: string, key: string): number {
  const start = Math.max(0, file.text.indexOf(`"${section}"`));
  return lineAt(file.text, file.text.indexOf(`"${key}"`, start));
}

function findInexactIn(file: SourceFile): Finding[] {
  const manifest = readManifest(file);
  return DEPENDENCY_FIELDS.flatMap((field) =>
    Object.entries(manifest[field] ?? {})
      .filter(([, version]) => !EXACT_VERSION.test(version))
      .map(([name, version]) => ({
        path: file.path,
        line: findKey(file, field, name),
        rule: 'exact-version',
        message: `'${name}' is asked for as '${version}', which changes by itself; write one exact version.`,
      })),
  );
}

export function findInexactVersions(files: SourceFile[]): Finding[] {
  return files.filter(({ path }) => MANIFEST.test(path)).flatMap(findInexactIn);
}

function findInstallScriptsIn(file: SourceFile): Finding[] {
  const scripts = Object.keys(readManifest(file).scripts ?? {});
  return scripts
    .filter((name) => INSTALL_SCRIPTS.includes(name))
    .map((name) => ({
      path: file.path,
      line: findKey(file, 'scripts', name),
      rule: 'install-script',
      message: `The script '${name}' runs unasked on every install; make it a step one calls by its name.`,
    }));
}

export function findInstallScripts(files: SourceFile[]): Finding[] {
  return files.filter(({ path }) => MANIFEST.test(path)).flatMap(findInstallScriptsIn);
}

interface Lock {
  readonly packages?: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
}

/** npm warns about every package with an install script on which the project has not decided. */
export function findUndecidedScripts(files: SourceFile[]): Finding[] {
  const manifest = files.find(({ path }) => path === 'package.json');
  const lock = files.find(({ path }) => path === 'package-lock.json');
  if (manifest === undefined || lock === undefined) return [];
  const { allowScripts = {} } = JSON.parse(manifest.text) as { allowScripts?: Record<string, boolean> };
  const { packages = {} } = JSON.parse(lock.text) as Lock;
  return Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => allowScripts[name] !== false)
    .map((name) => ({
      path: manifest.path,
      line: 1,
      rule: 'undecided-script',
      message: `'${name}' brings an install script; deny it under "allowScripts", or npm warns every user.`,
    }));
}

/** The package that a specifier is part of; nothing for files and for what Node brings. */
function packageOf(specifier: string): string | null {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return null;
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function findUndeclaredIn(file: SourceFile, declared: ReadonlySet<string>): Finding[] {
  return listImports(file)
    .map(({ specifier, line }) => ({ name: packageOf(specifier), line }))
    .filter(({ name }) => name !== null && !declared.has(name))
    .map(({ name, line }) => ({
      path: file.path,
      line,
      rule: 'undeclared-package',
      message: `'${name}' is not among the package's "dependencies", so npm ci --omit=dev may leave it out.`,
    }));
}

/** A server is installed without development packages, and has to run without them. */
export function findUndeclaredPackages(files: SourceFile[]): Finding[] {
  const manifests = files.filter(({ path }) => MANIFEST.test(path) && path !== 'package.json');
  return manifests.flatMap((manifest) => {
    const declared = new Set(Object.keys(readManifest(manifest).dependencies ?? {}));
    const folder = manifest.path.replace('package.json', 'src/');
    return productFiles(files, folder).flatMap((file) => findUndeclaredIn(file, declared));
  });
}
