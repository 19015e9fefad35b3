import { isAdmin } from '../../data/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Command } from '../../parts/states.tsx';

interface CreateButtonProps {
  readonly label: string;
  readonly onClick: () => void;
}

/** Opens a form for something new; only administrators may create it. */
export function CreateButton({ label, onClick }: CreateButtonProps) {
  if (!isAdmin()) return null;
  return (
    <p class="part-actions">
      <button type="button" class="button primary" onClick={onClick}>
        <Icon name="plus" />
        {label}
      </button>
    </p>
  );
}

interface FormButtonsProps {
  /** Such as "Add user". */
  readonly verb: string;
  readonly onCancel: () => void;
}

export function FormButtons({ verb, onCancel }: FormButtonsProps) {
  return (
    <div class="buttons">
      <button type="button" class="button" onClick={onCancel}>
        Cancel
      </button>
      <button type="submit" class="button primary">
        {verb}
      </button>
    </div>
  );
}

interface ShownOnceProps {
  readonly title: string;
  readonly about: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A secret that the server does not show again. */
export function ShownOnce({ title, about, secret, onClose }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{about}</p>
      <Command text={secret} />
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
