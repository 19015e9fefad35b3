import type { OperationKey } from '@berth/protocol/admin/admin-api';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Command } from '../../parts/states.tsx';

interface CreateButtonProps {
  readonly label: string;
  /** What the form does. */
  readonly needs: OperationKey;
  readonly onClick: () => void;
}

/** Opens a form for something new. */
export function CreateButton({ label, needs, onClick }: CreateButtonProps) {
  if (!may(needs)) return null;
  return (
    <p class="part-actions">
      <Button as="primary" icon="plus" onClick={onClick}>
        {label}
      </Button>
    </p>
  );
}

interface ProductsFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly isFirst?: boolean;
}

/** What an operator is limited to. */
export function ProductsField(props: ProductsFieldProps) {
  const hint = 'Product codes with commas between them. Empty: all products.';
  return <Field label="Only for these products" hint={hint} {...props} />;
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
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
