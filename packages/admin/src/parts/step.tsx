import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly is: 'done' | 'now' | 'later';
  readonly children?: ComponentChildren;
}

/** One step on a way. */
export function Step({ number, title, is, children }: StepProps) {
  return (
    <li class={is} aria-current={is === 'now' ? 'step' : undefined}>
      <span class="step-mark" aria-hidden="true">
        {is === 'done' ? <Icon name="check" size={14} /> : number}
      </span>
      <h2>
        {title}
        {is === 'done' && <span class="hidden-text"> (done)</span>}
      </h2>
      {children}
    </li>
  );
}
