import type { Level } from '../words/judge-license.ts';

/** Octagon: critical. Triangle: warning. Ring with a check: OK. Ring with a dash: off. */
export function Shape({ level, size = 16 }: { readonly level: Level; readonly size?: number }) {
  return (
    <svg class={`shape shape-${level}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      {DRAWINGS[level]}
    </svg>
  );
}

const ring = <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />;

const DRAWINGS = {
  critical: (
    <>
      <path d="M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2z" fill="currentColor" />
      <path d="M7.1 4h1.8v5H7.1zM7.1 10.3h1.8V12H7.1z" fill="var(--surface)" />
    </>
  ),
  warning: (
    <>
      <path d="M8 1.6 15 14H1z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />
      <path d="M7.2 6h1.6v4H7.2zM7.2 11h1.6v1.6H7.2z" fill="var(--surface)" />
    </>
  ),
  ok: (
    <>
      {ring}
      <path d="m5.4 8.2 1.8 1.8 3.4-3.7" fill="none" stroke="currentColor" stroke-width="1.5" />
    </>
  ),
  off: (
    <>
      {ring}
      <path d="M5.5 8h5" stroke="currentColor" stroke-width="1.5" />
    </>
  ),
};

/** Shape, word and colour together. */
export function State({ level, word }: { readonly level: Level; readonly word: string }) {
  return (
    <span class={`state ${level}`}>
      <Shape level={level} />
      {word}
    </span>
  );
}
