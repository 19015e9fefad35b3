import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';

/** Node would only take a megabyte. */
const MOST_BYTES = 2 ** 30;

/** The source of the commit in a folder, without its history; `bin/commit.txt` says of which commit it is. */
export function packSource(root: string, folder: string): Buffer {
  // The settings of a user would change modes and the ends of lines.
  const settings = ['-c', 'tar.umask=0022', '-c', 'core.autocrlf=false', '-c', 'core.eol=lf'];
  const words = [...settings, 'archive', '--format=tar', `--prefix=${folder}/`, 'HEAD'];
  const archive = execFileSync('git', words, { cwd: root, maxBuffer: MOST_BYTES });
  return gzipSync(archive, { level: 6 });
}
