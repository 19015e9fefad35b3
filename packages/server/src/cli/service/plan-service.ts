import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Config, type ConfigSources, fileVariableOf, flagOf } from '../../config.ts';
import type { Setting } from '../../setting.ts';
import { SETTINGS } from '../../settings.ts';
import { InputError } from '../read-secrets.ts';
import { LAUNCHD } from './launchd.ts';
import type { ServiceFacts, ServiceManager } from './service-manager.ts';
import { SYSTEMD } from './systemd.ts';
import { createWindowsTask } from './windows-task.ts';

/** What starts services on this platform. */
export function findManager(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): ServiceManager {
  if (platform === 'linux') return SYSTEMD;
  if (platform === 'darwin') return LAUNCHD;
  if (platform === 'win32') return createWindowsTask(env.ProgramData ?? 'C:\\ProgramData');
  throw new InputError(
    `Berth cannot install a service on ${platform}. Let your service manager run "berth serve".`,
  );
}

interface ServiceOptions {
  /** The command line that started this program. */
  readonly self: readonly string[];
  readonly flags: ConfigSources['flags'];
  readonly config: Config;
}

/** The service runs with the flags of this command, on the data that other commands with these flags use. */
export function describeService({ self, flags, config }: ServiceOptions): ServiceFacts {
  const { data, port } = config;
  const settings = SETTINGS.filter(({ path }) => path !== 'data').flatMap((one) => repeatFlag(one, flags));
  const file = typeof flags.config === 'string' ? ['--config', resolve(flags.config)] : [];
  return {
    program: findProgram(self),
    args: [...file, ...settings, '--data', data],
    data,
    folders: config.backup.folder === '' ? [] : [config.backup.folder],
    port,
  };
}

/** An executable is called by its path, a clone by its launcher, which finds the right Node. */
function findProgram(self: readonly string[]): readonly string[] {
  const [node = '', code] = self;
  if (code === undefined) return self;
  const root = dirname(dirname(code));
  if (process.platform === 'win32') return [node, join(root, 'bin', 'berth.js')];
  const launcher = join(root, 'berth');
  return existsSync(launcher) ? [launcher] : self;
}

function repeatFlag(setting: Setting, flags: ConfigSources['flags']): readonly string[] {
  const name = flagOf(setting.path);
  const value = flags[name];
  if (value === undefined) return [];
  const variable = fileVariableOf(setting);
  if (variable !== null) {
    throw new InputError(
      `Every user of this machine could read --${name} of a service. Put "${setting.path}" into ` +
        `berth.yaml, or set ${variable} for the service (docs/install.md).`,
    );
  }
  if (typeof value === 'boolean') return [`--${value ? '' : 'no-'}${name}`];
  return [`--${name}`, setting.isPath?.(value) === true && value !== '' ? resolve(value) : value];
}
