import type { OperationKey } from '@berth/protocol/admin/admin-api';
import type { ComponentChildren } from 'preact';
import { linkTo } from '../data/route.ts';
import { may } from '../data/session.ts';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  /** `link` looks like a link. */
  readonly as?: 'primary' | 'danger' | 'plain' | 'link';
  readonly icon?: IconName;
  readonly isSubmit?: boolean;
  /** Whether it is still busy with the last click. */
  readonly isBusy?: boolean;
  /** Whether what it shows and hides is visible. */
  readonly isExpanded?: boolean;
  /** What it does. It is not there for those who may not. */
  readonly needs?: OperationKey;
  readonly onClick?: () => unknown;
  readonly children: ComponentChildren;
}

function classOf(as: ButtonProps['as']): string {
  if (as === 'link') return 'link';
  return as === undefined ? 'button' : `button ${as}`;
}

export function Button({ as, icon, isSubmit, isBusy, isExpanded, needs, onClick, children }: ButtonProps) {
  if (needs !== undefined && !may(needs)) return null;
  return (
    <button
      type={isSubmit === true ? 'submit' : 'button'}
      class={classOf(as)}
      aria-disabled={isBusy}
      aria-expanded={isExpanded}
      onClick={onClick === undefined ? undefined : () => void onClick()}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface ButtonLinkProps extends Pick<ButtonProps, 'as' | 'icon' | 'children'> {
  /** A place of this page, such as `licenses/add`. */
  readonly to: string;
  readonly onClick?: () => void;
}

/** A link that looks like a button. */
export function ButtonLink({ as, icon, to, onClick, children }: ButtonLinkProps) {
  return (
    <a class={classOf(as)} href={linkTo(to)} onClick={onClick}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  );
}

export function AddLicenseLink() {
  if (!may('POST /api/v4/addProduct')) return null;
  return (
    <ButtonLink to="licenses/add" as="primary" icon="plus">
      Add a license
    </ButtonLink>
  );
}
