import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Level } from '../words/judge-license.ts';
import { Shape } from './shape.tsx';

interface PageHeadProps {
  readonly title: string;
  readonly level?: Level;
  readonly mark?: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly crumbs?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The heading answers the question of the screen. Actions are to its right. */
export function PageHead({ title, level, mark, lead, crumbs, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} – Berth`;
  }, [title]);
  return (
    <header class="page-head">
      <div>
        {crumbs !== undefined && (
          <nav class="crumbs" aria-label="Where you are">
            {crumbs}
          </nav>
        )}
        <h1>
          {level !== undefined && <Shape level={level} size={18} />}
          <bdi>{title}</bdi>
          {mark}
        </h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly end?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, note, end, children }: SectionProps) {
  return (
    <section class="section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {note !== undefined && <span class="note">{note}</span>}
        {end !== undefined && <span class="end">{end}</span>}
      </div>
      {children}
    </section>
  );
}
