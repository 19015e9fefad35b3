/** Drawn on 16 by 16, with lines of 1.5. */
const PATHS = {
  overview: 'M2 3h12v4H2zM2 10h5v3.5H2zM10 10h4v3.5h-4z',
  slots: 'M2 4h2.6v8H2zM6.7 4h2.6v8H6.7zM11.4 4H14v8h-2.6z',
  licenses: 'M3.5 2h6L13 5.5V14H3.5zM9.5 2v3.5H13M6 8.5h4.5M6 11h4.5',
  reports: 'M2 2v12h12M4.5 10.5 7.5 7l2.5 2 4-5',
  audit: 'M8 1.8 13.5 4v4c0 3.2-2.3 5.2-5.5 6.3C4.8 13.2 2.5 11.2 2.5 8V4zM5.6 8l1.8 1.8L10.6 6.6',
  settings: 'M2 4.5h6M12 4.5h2M8 2.7v3.6h2.5V2.7zM2 11.5h2M8.5 11.5H14M4.5 9.7v3.6H7V9.7z',
  rules: 'M2 8h4c2 0 2-4.5 4-4.5h4M12 1.5l2 2-2 2M6 8c2 0 2 4.5 4 4.5h4M12 10.5l2 2-2 2',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.4 10.4 14 14',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  down: 'M4 6.5 8 10.5 12 6.5',
  right: 'M6.5 4 10.5 8 6.5 12',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  menu: 'M2 4h12M2 8h12M2 12h12',
  sync: 'M13.5 7A5.6 5.6 0 0 0 3.6 4.8L2.5 6M2.5 3v3h3.2M2.5 9a5.6 5.6 0 0 0 9.9 2.2L13.5 10M13.5 13v-3h-3.2',
  download: 'M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  release: 'M6 4 2.5 7.5 6 11M3 7.5h6a4 4 0 0 1 4 4v1',
  bar: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M3.8 3.8l8.4 8.4',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 4.8V8l2.2 1.6',
  eye: 'M1.5 8S4 4 8 4s6.5 4 6.5 4-2.5 4-6.5 4-6.5-4-6.5-4M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6',
  undo: 'M5.5 3 2.5 6l3 3M2.8 6H9a4 4 0 0 1 0 8H5',
  lock: 'M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  check: 'M3 8.5 6.5 12 13 4.5',
  file: 'M3.5 2h6L13 5.5V14H3.5zM9.5 2v3.5H13',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9',
  user: 'M8 2.5a2.6 2.6 0 1 1 0 5.2 2.6 2.6 0 0 1 0-5.2M2.8 13.8c.5-2.8 2.6-4.2 5.2-4.2s4.7 1.4 5.2 4.2',
  theme: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 2v12',
  print: 'M4.5 6V2.5h7V6M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7v4h-7z',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: whatever has an icon has a name in words, too. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  const isDots = name === 'more';
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill={name === 'slots' ? 'currentColor' : 'none'}
      stroke="currentColor"
      stroke-width={isDots ? 2 : 1.5}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
