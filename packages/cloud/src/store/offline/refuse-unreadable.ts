import { isNewer, isNewerFile } from '@berth/protocol/carried/newer-file';
import { type Refusal, refuse } from '../../core/refusal.ts';

type Code = 'offline_file_invalid' | 'usage_file_invalid';

/** `otherwise`: what is wrong with the file if no newer Berth made it. */
export function refuseFile(code: Code, file: string, otherwise: string): Refusal {
  return refuse(code, isNewerFile(file) ? NEWER : otherwise);
}

/** The same for the usage in a request. */
export function refuseUsage(usage: unknown): Refusal {
  const message = isNewer({ usage }) ? NEWER : 'The usage in the request cannot be read.';
  return refuse('usage_file_invalid', message);
}

const NEWER =
  'The file was made by a newer Berth than this cloud. The vendor must update the cloud; then hand in the ' +
  'same file again.';
