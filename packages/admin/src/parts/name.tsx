import { escapeHidden } from '@berth/protocol/hidden-characters';
import { linkTo, linkToPerson } from '../data/route.ts';
import { sayUser } from '../words/describe-event.ts';

/** So many characters at the end of a long name stay visible: names differ there. */
const TAIL = 8;
const LONG = 22;

/**
 * A name that a person chose: always text, in its own direction, with nothing hidden. If it is too long, its
 * middle gives way; it is whole on hover and focus.
 */
export function Name({ text, isStrong = false }: { readonly text: string; readonly isStrong?: boolean }) {
  const shown = escapeHidden(text);
  const letters = Array.from(shown);
  const strong = isStrong ? ' strong' : '';
  if (letters.length <= LONG) {
    return (
      <bdi class={`name${strong}`} dir="auto">
        {shown}
      </bdi>
    );
  }
  const tail = letters.slice(-TAIL).join('');
  return (
    <bdi class={`name long${strong}`} dir="auto" title={shown} data-tail={tail}>
      <span class="head">
        {letters.slice(0, -TAIL).join('')}
        <span class="tail">{tail}</span>
      </span>
    </bdi>
  );
}

interface UserNameProps {
  /** `null`: the history does not name them. */
  readonly user: string | null;
  readonly others?: boolean;
}

/** The name of a user, which leads to their page. */
export function UserName({ user, others = false }: UserNameProps) {
  if (user === null) return <>{sayUser({ user, others })}</>;
  return (
    <a class="plain-link" aria-label={user} href={linkToPerson(user)}>
      <Name text={user} />
    </a>
  );
}

interface LicenseNameProps {
  readonly id: number;
  readonly name: string;
  readonly isStrong?: boolean;
  /** Whether it looks like text. */
  readonly isPlain?: boolean;
}

/** The name of a license, which leads to its page. */
export function LicenseName({ id, name, isStrong, isPlain = false }: LicenseNameProps) {
  return (
    <a class={isPlain ? 'plain-link' : undefined} href={linkTo(`licenses/${id}`)}>
      <Name text={name} isStrong={isStrong ?? false} />
    </a>
  );
}
