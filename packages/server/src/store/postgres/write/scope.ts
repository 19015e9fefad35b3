import type { Command, LicenseCommand } from '../../../core/command.ts';
import { isLicenseCommand, moduleOf, targetOf } from '../../../core/decide.ts';
import { systemModuleOf } from '../../../core/decide-system.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { SystemScope } from '../../../core/system-module.ts';
import type { Catalogue } from './catalogue.ts';

/**
 * What a transaction locks, always in this order: the row of the server, then licenses by their ids. Who
 * waits for whom can never go round in a circle.
 */
export interface Scope {
  readonly server: boolean;
  /** `heads`: all are read, none is locked. */
  readonly licenses: readonly LicenseId[] | 'all' | 'heads';
}

/** Commands with the same name wait for each other, and share transactions. */
export interface Lane {
  readonly name: string;
  scopeIn(catalogue: Catalogue): Scope;
}

const SYSTEM_LANES: Readonly<Record<SystemScope, Lane>> = {
  server: { name: 'server', scopeIn: () => ({ server: true, licenses: [] }) },
  /** Apart from the others: a server whose master key was replaced can do all but this. */
  secrets: { name: 'secrets', scopeIn: () => ({ server: true, licenses: [] }) },
  heads: { name: 'heads', scopeIn: () => ({ server: true, licenses: 'heads' }) },
  all: { name: 'all', scopeIn: () => ({ server: true, licenses: 'all' }) },
};
/** For what no license is found for. */
const NOTHING: Lane = { name: 'nothing', scopeIn: () => ({ server: false, licenses: [] }) };

export function laneOf(command: Command, catalogue: Catalogue): Lane {
  if (!isLicenseCommand(command)) return SYSTEM_LANES[systemModuleOf(command).scope];
  return moduleOf(command).changesLicense
    ? catalogueLane(targetOf(command).licenseId as LicenseId)
    : lendingLane(command, catalogue);
}

/** Changes which licenses there are: two of these at once must not miss each other. */
function catalogueLane(id: LicenseId): Lane {
  return { name: `catalogue ${id}`, scopeIn: () => ({ server: true, licenses: [id] }) };
}

/**
 * All licenses of a product are locked together: which one a command means depends on what its user holds of
 * the others.
 */
function lendingLane(command: LicenseCommand, catalogue: Catalogue): Lane {
  const { product, licenseId } = targetOf(command);
  if (product !== null) return productLane(product, catalogue);
  if (licenseId !== null) return licenseLane(licenseId, catalogue);
  const [only, ...others] = catalogue.byProduct.keys();
  return only === undefined || others.length > 0 ? NOTHING : productLane(only, catalogue);
}

/** Products that nobody has are made up, and each name another one. */
function productLane(product: string, { byProduct }: Catalogue): Lane {
  if (!byProduct.has(product)) return NOTHING;
  return {
    name: `product ${product}`,

    scopeIn: (catalogue) => ({ server: false, licenses: catalogue.byProduct.get(product) ?? [] }),
  };
}

function licenseLane(id: LicenseId, catalogue: Catalogue): Lane {
  const product = catalogue.productOf.get(id);
  if (product !== undefined) return productLane(product, catalogue);
  // What was lent of a license that was removed comes to its end, too.
  if (!catalogue.chains.includes(id)) return NOTHING;
  return { name: `license ${id}`, scopeIn: () => ({ server: false, licenses: [id] }) };
}

export function isSameScope(a: Scope, b: Scope): boolean {
  return a.server === b.server && String(a.licenses) === String(b.licenses);
}
