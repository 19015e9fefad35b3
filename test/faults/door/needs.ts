import { findLibrary } from '../../support/faked-clock.ts';
import { ensureFile, ensureTool } from '../../support/install-tools.ts';
import { hasPostgres } from '../../support/stores/postgres.ts';

/** What a fault needs besides Node. */
export interface Need {
  readonly name: string;
  /** For people without it. */
  readonly advice: string;
  /** As root on Debian, it is installed first. */
  isMet(): Promise<boolean>;
}

const isLinux = process.platform === 'linux';

export const LINUX: Need = { name: 'Linux', advice: 'it reads /proc', isMet: async () => isLinux };

export const COMPILER: Need = {
  name: 'a C compiler on Linux',
  advice: 'apt-get install gcc libc6-dev',
  isMet: async () => isLinux && (await ensureTool('cc')) && (await ensureFile('libc6-dev')) !== undefined,
};

export const STRACE: Need = {
  name: 'strace',
  advice: 'apt-get install strace',
  isMet: async () => isLinux && ensureTool('strace'),
};

export const FAKED_CLOCK: Need = {
  name: 'libfaketime',
  advice: 'apt-get install libfaketime',
  isMet: async () => (await findLibrary()) !== undefined,
};

export const POSTGRES: Need = {
  name: 'PostgreSQL for this platform',
  advice: 'npm ci brings it, or set BERTH_TEST_DATABASE_URL',
  isMet: async () => hasPostgres,
};

export const OWN_POSTGRES: Need = {
  name: 'a PostgreSQL of its own, on Linux',
  advice: 'npm ci brings it, and BERTH_TEST_DATABASE_URL must not be set',
  isMet: async () => isLinux && hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined,
};

/** The first that is not met; `null`: all are. */
export async function findMissing({
  needs = [],
}: {
  readonly needs?: readonly Need[];
}): Promise<Need | null> {
  for (const need of needs) if (!(await need.isMet())) return need;
  return null;
}
