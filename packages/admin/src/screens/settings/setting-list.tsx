import type { ComponentChildren } from 'preact';

/** Names and values. */
export function SettingList({ children }: { readonly children: ComponentChildren }) {
  return <dl class="terms settings-list">{children}</dl>;
}

interface SettingProps {
  readonly name: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Setting({ name, note, children }: SettingProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {note != null && note !== '' && <small>{note}</small>}
      </dd>
    </div>
  );
}
