import type { Command, LicenseCommand } from '../../../core/command.ts';
import { isLicenseCommand, moduleOf, subjectOf } from '../../../core/decide.ts';
import { systemModuleOf } from '../../../core/decide-system.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { SystemScope } from '../../../core/system-module.ts';
import { isLineCommand } from '../../engine/line/execute-on-line.ts';
import { findReplacing } from '../../engine/loaded-licenses.ts';
import type { LicenseIndex } from './license-index.ts';

/** What a transaction locks, always in this order, so that none deadlock: the server, then licenses by id. */
export interface Scope {
  readonly server: boolean;
  /** `heads`: all are read and none is locked. */
  readonly licenses: readonly LicenseId[] | 'all' | 'heads';
}

/** Commands in lanes of the same name wait for each other. */
export interface Lane {
  readonly name: string;
  /** The product of which it locks all licenses. */
  readonly product?: string;
  scopeIn(index: LicenseIndex): Scope;
}

/** A command and the lane that it waits in. */
export interface QueuedCommand {
  readonly command: Command;
  readonly lane: Lane;
}

const SYSTEM_LANES: Readonly<Record<SystemScope, Lane>> = {
  server: { name: 'server', scopeIn: () => ({ server: true, licenses: [] }) },
  /** A lane of its own, because it is all that a server whose master key was replaced cannot do. */
  secrets: { name: 'secrets', scopeIn: () => ({ server: true, licenses: [] }) },
  heads: { name: 'heads', scopeIn: () => ({ server: true, licenses: 'heads' }) },
  all: { name: 'all', scopeIn: () => ({ server: true, licenses: 'all' }) },
};
/** For commands that no license is found for. */
const NOTHING: Lane = { name: 'nothing', scopeIn: () => ({ server: false, licenses: [] }) };

export function laneOf(command: Command, index: LicenseIndex): Lane {
  if (isLineCommand(command)) return productLane(command.product, index);
  if (!isLicenseCommand(command)) return SYSTEM_LANES[systemModuleOf(command).scope];
  return moduleOf(command).changesLicense
    ? catalogueLane(command, subjectOf(command).licenseId as LicenseId)
    : lendingLane(command, index);
}

/** Whether a command still belongs to the lane that it waits in. */
export function isInRightLane({ command, lane }: QueuedCommand, index: LicenseIndex): boolean {
  return laneOf(command, index).name === lane.name;
}

/**
 * Whether a command may share a transaction with commands of other lanes. Clients wait for theirs, and what
 * they do is quick. Others may take long, and would keep the locks of all lanes.
 */
export function canShareTransaction(command: Command): boolean {
  return isLineCommand(command) || (isLicenseCommand(command) && moduleOf(command).isFromClients);
}

/** Adds or removes a license: two of these at once must see each other. It may replace others. */
function catalogueLane(command: LicenseCommand, id: LicenseId): Lane {
  const product = command.kind === 'install_license' && command.replacesSame && command.license.product;
  const others = ({ byProduct }: LicenseIndex) => (product ? (byProduct.get(product) ?? []) : []);
  const licensesIn = (index: LicenseIndex) => [...new Set([id, ...others(index)])].sort((a, b) => a - b);
  return { name: `catalogue ${id}`, scopeIn: (index) => ({ server: true, licenses: licensesIn(index) }) };
}

/** Locks all licenses of the product: which one a command means depends on what its user holds. */
function lendingLane(command: LicenseCommand, index: LicenseIndex): Lane {
  const { product, licenseId } = subjectOf(command);
  if (product !== null) return productLane(product, index);
  if (licenseId !== null) return licenseLane(licenseId, index, moduleOf(command).isFromClients);
  const [only, ...others] = index.byProduct.keys();
  return only === undefined || others.length > 0 ? NOTHING : productLane(only, index);
}

/** Clients can make up any number of products: those that do not exist share one lane. */
function productLane(product: string, { byProduct }: LicenseIndex): Lane {
  if (!byProduct.has(product)) return NOTHING;
  return {
    name: `product ${product}`,
    product,
    scopeIn: (index) => ({ server: false, licenses: index.byProduct.get(product) ?? [] }),
  };
}

/** Clients go on naming a license that was replaced; other commands mean what is left of it. */
function licenseLane(id: LicenseId, index: LicenseIndex, isFromClients: boolean): Lane {
  const replacing = isFromClients ? findReplacing(index.removed, id) : null;
  if (replacing !== null) return licenseLane(replacing, index, isFromClients);
  const product = index.productOf.get(id);
  if (product !== undefined) return productLane(product, index);
  // Slots of a license that was removed end, too.
  if (!index.chains.includes(id)) return NOTHING;
  return { name: `license ${id}`, scopeIn: () => ({ server: false, licenses: [id] }) };
}

/** What the lanes of one transaction lock together. Only lanes that lock licenses by id share one. */
export function scopeOf(lanes: readonly Lane[], index: LicenseIndex): Scope {
  const scopes = lanes.map((lane) => lane.scopeIn(index));
  const [only, ...others] = scopes;
  if (only !== undefined && others.length === 0) return only;
  const ids = new Set(scopes.flatMap(({ licenses }) => (typeof licenses === 'string' ? [] : licenses)));
  return { server: false, licenses: [...ids].sort((a, b) => a - b) };
}

/** Each lane once. */
export function lanesOf(queued: readonly QueuedCommand[]): readonly Lane[] {
  return [...new Map(queued.map(({ lane }) => [lane.name, lane])).values()];
}

export function isSameScope(a: Scope, b: Scope): boolean {
  return a.server === b.server && String(a.licenses) === String(b.licenses);
}
