import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import { isRefusal, type Refusal } from '../../core/refusal.ts';
import type { ListedSigningKey } from '../../store/keys/key-ring.ts';
import type { Command } from '../command.ts';
import { presentDate } from './present.ts';

type Facts = ReturnType<typeof present>;

export const SIGNING_KEY_COMMANDS: readonly Command[] = [
  {
    words: 'signing-key list',
    about: 'list the keys that sign for the vendor',
    run: ({ keyRing }) => ({ signing_keys: keyRing.list().map(present) }),
    show: ({ signing_keys: keys }: { signing_keys: readonly Facts[] }) =>
      formatTable(
        ['fingerprint', 'signs', 'added at', 'file'],
        keys.map((one) => [one.fingerprint, sayWhat(one), one.added_at, one.file]),
      ),
  },
  {
    words: 'signing-key add',
    about: 'make the next signing key; it signs certificates beside the present one',
    run: ({ keyRing, now }) => presentUnlessRefused(keyRing.add(now)),
    show: (key: Facts) =>
      say(
        key,
        'Made the next signing key.',
        'Give the output of "cloud public-key", which has both keys, to every server and into every ' +
          'application. Then run "cloud signing-key switch".',
      ),
  },
  {
    words: 'signing-key switch',
    about: 'sign answers and files with the other key',
    run: ({ keyRing, now }) => presentUnlessRefused(keyRing.switch(now)),
    show: (key: Facts) =>
      say(
        key,
        'Answers and files are now signed with this key.',
        'Certificates are issued under both keys until "cloud signing-key retire".',
      ),
  },
  {
    words: 'signing-key retire',
    about: 'end the key that does not sign answers, and delete it',
    run: ({ keyRing, now }) => presentUnlessRefused(keyRing.retire(now)),
    show: (key: Facts) =>
      say(key, 'Retired this key and deleted its file.', 'Nothing is signed with it any more.'),
  },
];

function present({ fingerprint, file, isSigning, addedAt }: ListedSigningKey) {
  return { fingerprint, signs_answers: isSigning, added_at: presentDate(addedAt), file };
}

function presentUnlessRefused(key: ListedSigningKey | Refusal): unknown {
  return isRefusal(key) ? key : present(key);
}

function sayWhat({ signs_answers: isSigning }: Facts): string {
  return isSigning ? 'answers, files, certificates' : 'certificates';
}

function say({ fingerprint, file }: Facts, done: string, next: string): string {
  return `${done}\n${formatFacts({ fingerprint, file })}\n${next}`;
}
