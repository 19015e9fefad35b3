import { useEffect, useRef } from 'preact/hooks';
import { toApiError } from '../data/api.ts';
import { createValue, useValue } from '../data/value.ts';
import { Icon } from './icon.tsx';

interface Toast {
  readonly text: string;
  readonly undo: (() => unknown) | null;
}

/** One at a time. What the one before offered to undo stays done. */
const current = createValue<Toast | null>(null);

/** How long it stays, unless it is focused or pointed at. */
const SHORT_MS = 4000;
const UNDO_MS = 10_000;

/** Says what was done; with `undo`, offers to take it back. Errors are shown where they happen instead. */
export function showToast(text: string, undo: Toast['undo'] = null): void {
  current.set({ text, undo });
}

/** Takes back what was done last, if that is still offered. */
export async function undoLast(): Promise<void> {
  const undo = current.get()?.undo;
  if (undo == null) return;
  current.set(null);
  try {
    await undo();
  } catch (failure) {
    showToast(`It was not undone. ${toApiError(failure).message}`);
  }
}

export function Toasts() {
  const toast = useValue(current);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toast !== null && <ToastLine toast={toast} />}
    </div>
  );
}

function ToastLine({ toast }: { readonly toast: Toast }) {
  const isHeld = useRef(false);
  useEffect(() => {
    let leftMs = toast.undo === null ? SHORT_MS : UNDO_MS;
    const timer = setInterval(() => {
      if (!isHeld.current) leftMs -= 500;
      if (leftMs <= 0) current.set(null);
    }, 500);
    return () => clearInterval(timer);
  }, [toast]);
  const hold = (isOn: boolean) => () => {
    isHeld.current = isOn;
  };
  return (
    <div
      class="toast fade"
      onMouseEnter={hold(true)}
      onMouseLeave={hold(false)}
      onFocusCapture={hold(true)}
      onBlurCapture={hold(false)}
    >
      <span class="grow">{toast.text}</span>
      {toast.undo !== null && (
        <button type="button" onClick={undoLast}>
          <Icon name="undo" />
          Undo <span>Z</span>
        </button>
      )}
    </div>
  );
}
