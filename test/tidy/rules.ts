import { findUnusedExports } from './export-rules.ts';
import { findBadNames, findDeadFiles, findDefaultExports } from './file-rules.ts';
import {
  findInexactVersions,
  findInstallScripts,
  findOutsideReferences,
  findResolvedAddresses,
  findUndecidedScripts,
  findUndeclaredPackages,
} from './package-rules.ts';
import {
  findClockReads,
  findConsoleLog,
  findCoreImpurity,
  findEditedSql,
  findForeignRefusals,
  findUnfinishedWords,
} from './purity-rules.ts';
import { findHiddenRegexes, findSlowRegexes } from './regex-rules.ts';
import { findForbiddenImports } from './room-rules.ts';
import { findLongFiles, findLongFunctions, findLongLines } from './size-rules.ts';
import type { Finding, SourceFile } from './source.ts';
import { findCrowdedFolders, findFolderCycles, findImportCycles } from './structure-rules.ts';

type Rule = (files: SourceFile[]) => Finding[];

/** Every rule by the name its findings carry. */
export const rules: Record<string, Rule> = {
  imports: findForbiddenImports,
  'import-cycle': findImportCycles,
  'folder-cycle': findFolderCycles,
  'crowded-folder': findCrowdedFolders,
  'core-purity': findCoreImpurity,
  'refusal-origin': findForeignRefusals,
  'edited-sql': findEditedSql,
  'one-clock': findClockReads,
  'linear-regex': findSlowRegexes,
  'plain-regex': findHiddenRegexes,
  'file-length': findLongFiles,
  'function-length': findLongFunctions,
  'line-length': findLongLines,
  'default-export': findDefaultExports,
  'file-name': findBadNames,
  'dead-file': findDeadFiles,
  'unused-export': findUnusedExports,
  'console-log': findConsoleLog,
  unfinished: findUnfinishedWords,
  'outside-reference': findOutsideReferences,
  lockfile: findResolvedAddresses,
  'exact-version': findInexactVersions,
  'install-script': findInstallScripts,
  'undecided-script': findUndecidedScripts,
  'undeclared-package': findUndeclaredPackages,
};
