/** How many lines of the log are kept in memory, and how long one may be: two megabytes at most. */
const MAX_LINES = 500;
const MAX_CHARACTERS = 4000;

/** The newest lines of the log, for support. */
export interface RecentLines {
  /** Takes a line of JSON. */
  keep(line: string): void;
  /** The oldest first. */
  list(): readonly string[];
}

export function createRecentLines(): RecentLines {
  const ring: string[] = [];
  let next = 0;
  return {
    keep(line) {
      ring[next] = line.length > MAX_CHARACTERS ? shorten(line) : line;
      next = (next + 1) % MAX_LINES;
    },
    list: () => (ring.length < MAX_LINES ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]),
  };
}

/** Keeps it JSON. */
function shorten(line: string): string {
  const { level, time, msg } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify({ level, time, msg: String(msg).slice(0, MAX_CHARACTERS), shortened: true });
}
