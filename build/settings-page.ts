import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envOf, flagOf } from '../packages/server/src/config.ts';
import { SETTINGS } from '../packages/server/src/settings.ts';

const PAGE = fileURLToPath(new URL('../docs/settings.md', import.meta.url));
const TABLE = /^\| name \|.*\n(?:\|.*\n)+/m;

/** The table of all settings in `docs/settings.md`. */
export function writeSettingsTable(): string {
  const rows = SETTINGS.map(({ path, default: value, about }) => {
    const words = (Array.isArray(value) ? value : [value]).filter((word) => word !== '');
    const shown = words.map((word) => ` \`${word}\``).join(',');
    const text = about.replaceAll('|', '\\|');
    return `| \`${path}\` | \`--${flagOf(path)}\` | \`${envOf(path)}\` |${shown} | ${text} |\n`;
  });
  return `| name | flag | environment | default | meaning |\n|---|---|---|---|---|\n${rows.join('')}`;
}

// `npm run docs`
if (import.meta.main) {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(
    PAGE,
    page.replace(TABLE, () => writeSettingsTable()),
  );
}
