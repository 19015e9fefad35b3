import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { connection } from '../data/connection.ts';
import { usePageName } from '../data/session.ts';
import { useValue } from '../data/value.ts';
import type { Level } from '../words/judge-license.ts';
import { formatSeconds } from '../words/time.ts';
import { Shape } from './shape.tsx';

interface PageHeadProps {
  readonly title: string;
  /** The title judges the present, which the page cannot do while the connection is lost. */
  readonly level?: Level;
  readonly mark?: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly crumbs?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The heading answers the question of the screen. Actions are to its right. */
export function PageHead(props: PageHeadProps) {
  const { title, level, mark, lead, crumbs, children } = useKnown(props);
  const name = usePageName();
  useEffect(() => {
    document.title = `${title} – ${name}`;
  }, [title, name]);
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

function useKnown(props: PageHeadProps): PageHeadProps {
  const { state, heardAt } = useValue(connection);
  const { level, mark } = props;
  if (state !== 'lost' || (level === undefined && mark === undefined)) return props;
  const lead = (
    <>
      As of {formatSeconds(heardAt)}: {props.lead}
    </>
  );
  return level === undefined
    ? { ...props, lead }
    : { ...props, title: 'Connection lost', level: 'warning', lead };
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
