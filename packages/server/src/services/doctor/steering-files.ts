import { type Config, FILE_SUFFIX, readSetting } from '../../config.ts';
import { SETTINGS } from '../../settings.ts';
import { openRulesFile } from '../rules/rules-file.ts';

/**
 * The files that steer the server, or prove that it is the one it says, besides the master key: `berth.yaml`,
 * the rules, every file that a setting names, and those that hold the value of one.
 */
export function listSteeringFiles(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const named = SETTINGS.filter(({ isWritten }) => isWritten !== true).flatMap(({ path, isPath }) =>
    [readSetting(config, path)].flat().filter((value) => value !== '' && isPath?.(String(value)) === true),
  );
  const held = [...config.sources.values()].flatMap(({ kind, place }) => {
    if (kind === 'file') return place;
    return place.endsWith(FILE_SUFFIX) ? (env[place] ?? []) : [];
  });
  return [...new Set([openRulesFile(config).path, ...named.map(String), ...held])];
}
