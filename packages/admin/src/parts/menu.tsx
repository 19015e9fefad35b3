import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly key?: string;
  readonly isChosen?: boolean;
  readonly act: () => void;
}

interface MenuButtonProps {
  readonly label: string;
  readonly className: string;
  /** `null`: a line between groups. */
  readonly items: readonly (MenuItem | null)[];
  readonly children: ComponentChildren;
  readonly isRadio?: boolean;
  /** It shows an icon alone, so the label is its name. */
  readonly isIcon?: boolean;
}

/** What can be done with a row. */
export function ActionsMenu({ of, items }: { readonly of: string } & Pick<MenuButtonProps, 'items'>) {
  return (
    <MenuButton label={`Actions for ${of}`} className="icon-button" items={items} isIcon>
      <Icon name="more" />
    </MenuButton>
  );
}

/** A button that opens a menu: arrow keys move, Enter chooses, Esc closes. */
export function MenuButton({
  label,
  className,
  items,
  children,
  isRadio = false,
  isIcon = false,
}: MenuButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (returnsFocus: boolean) => {
    setOpen(false);
    if (returnsFocus) button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={className}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={isIcon ? label : undefined}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!isOpen);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' || isOpen) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        {children}
      </button>
      {isOpen && button.current !== null && (
        <Menu anchor={button.current} label={label} items={items} isRadio={isRadio} onClose={close} />
      )}
    </>
  );
}

interface MenuProps {
  readonly anchor: HTMLElement;
  readonly label: string;
  readonly items: readonly (MenuItem | null)[];
  readonly isRadio: boolean;
  readonly onClose: (returnsFocus: boolean) => void;
}

function Menu({ anchor, label, items, isRadio, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const menu = box.current as HTMLDivElement;
    menu.showPopover();
    place(menu, anchor);
    listItems(menu)[0]?.focus();
    const leave = (event: Event) => {
      const target = event.target as Node;
      if (!menu.contains(target) && !anchor.contains(target)) onClose(false);
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('scroll', leave, true);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('scroll', leave, true);
    };
  }, []);
  const choose = (item: MenuItem) => {
    onClose(true);
    item.act();
  };
  return (
    <div
      ref={box}
      class="menu fade"
      popover="manual"
      role="menu"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={(event) => moveInMenu(event, items, choose, onClose)}
    >
      {items.map((item, index) =>
        item === null ? (
          <hr key={index} />
        ) : (
          <button
            key={item.label}
            type="button"
            {...roleOf(item, isRadio)}
            tabIndex={-1}
            onClick={(event) => {
              event.stopPropagation();
              choose(item);
            }}
          >
            {item.icon !== undefined && <Icon name={item.icon} />}
            <bdi class="grow">{item.label}</bdi>
            {item.isChosen === true && <Icon name="check" />}
            {item.key !== undefined && <span class="keycap">{item.key}</span>}
          </button>
        ),
      )}
    </div>
  );
}

function roleOf({ isChosen = false }: MenuItem, isRadio: boolean) {
  return isRadio
    ? ({ role: 'menuitemradio', 'aria-checked': isChosen } as const)
    : ({ role: 'menuitem' } as const);
}

function listItems(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
}

/** Below the button, or above it where there is no room. */
function place(menu: HTMLElement, anchor: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const isBelow = at.bottom + 4 + height <= innerHeight || at.top < height;
  menu.style.top = `${isBelow ? at.bottom + 4 : at.top - 4 - height}px`;
  const isRight = at.left + width > innerWidth - 8;
  menu.style.left = `${Math.max(8, isRight ? at.right - width : at.left)}px`;
}

function moveInMenu(
  event: KeyboardEvent & { currentTarget: HTMLElement },
  items: readonly (MenuItem | null)[],
  choose: (item: MenuItem) => void,
  close: (returnsFocus: boolean) => void,
): void {
  event.stopPropagation();
  const buttons = listItems(event.currentTarget);
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1 + buttons.length,
    Home: 0,
    End: buttons.length - 1,
  };
  const to = moves[event.key];
  if (to !== undefined) {
    event.preventDefault();
    buttons[to % buttons.length]?.focus();
    return;
  }
  if (event.key === 'Escape' || event.key === 'Tab') {
    event.preventDefault();
    close(true);
    return;
  }
  const named = items.find((item) => item?.key?.toLowerCase() === event.key.toLowerCase());
  if (named != null) choose(named);
}
