import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualRowsProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly render: (index: number, top: number) => ComponentChildren;
  readonly onShow: (from: number, to: number) => void;
}

/** Rows beyond the edges of the screen, so that scrolling shows no gap. */
const SPARE = 12;

/** Draws only the rows on the screen; the page itself scrolls. */
export function VirtualRows({ count, rowHeight, render, onShow }: VirtualRowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<readonly [number, number]>([0, 40]);
  useEffect(() => {
    let frame = 0;
    const measure = () => {
      frame = 0;
      const top = box.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowHeight) - SPARE);
      const last = Math.ceil((innerHeight - top) / rowHeight) + SPARE;
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    const plan = () => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    addEventListener('scroll', plan, { passive: true });
    addEventListener('resize', plan);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', plan);
      removeEventListener('resize', plan);
    };
  }, [rowHeight]);
  const [from, to] = [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)];
  useLayoutEffect(() => onShow(from, Math.max(from, to - 1)), [from, to]);
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
  return (
    <div
      ref={box}
      role="rowgroup"
      class="virtual"
      style={{ position: 'relative', height: `${count * rowHeight}px` }}
    >
      {rows.map((index) => render(index, index * rowHeight))}
    </div>
  );
}

type Cell = readonly [className: string, content: ComponentChildren];

/** The cells of one of the rows. */
export function RowCells({ cells }: { readonly cells: readonly (Cell | false)[] }) {
  return (
    <>
      {cells.map(
        (cell) =>
          cell && (
            <span role="cell" class={cell[0]}>
              {cell[1]}
            </span>
          ),
      )}
    </>
  );
}

/** Whether the screen is as narrow as a phone. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia('(max-width: 719px)').matches);
  useEffect(() => {
    const query = matchMedia('(max-width: 719px)');
    const change = () => setNarrow(query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return isNarrow;
}
