import { toPrintableJson } from '@berth/protocol/hidden-characters';
import { toReadable } from '@berth/shell/console/console-text';
import type { AdminAnswer, RefusedAnswer } from '../admin-client.ts';
import type { Flags, FollowContext, FollowingCommand } from '../command.ts';
import { formatInline } from '../terminal.ts';

export const EVENT_COMMANDS: readonly FollowingCommand[] = [
  {
    words: 'events',
    usage: '[--after ID] [--limit N]',
    about: 'print events as they happen; Ctrl-C stops it',
    follow: followEvents,
  },
];

type Facts = Readonly<Record<string, unknown>>;

/** Ends after `--limit` events, or when the reader goes away. */
async function followEvents({
  client,
  flags,
  isJson,
  screen,
  print,
  note,
}: FollowContext): Promise<AdminAnswer<object>> {
  const { after, limit } = flags;
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit))
    return failed('--limit must be a positive number.');
  const stream = await client.follow('/api/admin/events', { after });
  if (stream === null) {
    return failed('The server is stopped, so there are no new events. "berth audit list" shows past ones.');
  }
  if (!('chunks' in stream)) return stream;
  note(describeFollowing(flags));
  let isWanted = true;
  const end = () => {
    isWanted = false;
    stream.end();
  };
  process.once('SIGINT', end).stdout.once('error', end);
  let left = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  try {
    for await (const event of readEvents(stream.chunks)) {
      print(isJson ? toPrintableJson(event) : describeEvent(toReadable(event, screen) as Facts));
      left -= 1;
      if (left === 0) end();
      if (!isWanted) break;
    }
  } catch (error) {
    if (isWanted) throw error;
  }
  return isWanted ? failed('The server is stopping and closed the stream.') : DONE;
}

/** Without this, a stream without events would look like a failure. */
function describeFollowing({ after, limit }: Flags): string {
  const past = after === undefined ? '' : ` after ${after}`;
  const end = limit === undefined ? '' : ` Stops after ${limit}.`;
  return `Listening for events of all licenses and of the server${past}.${end} Press Ctrl-C to stop.`;
}

const DONE = { ok: true, body: {} } as const;

function failed(message: string): RefusedAnswer {
  return { ok: false, body: { message } };
}

const DATA = 'data: ';

/** Yields the data of server-sent events, which are blocks of lines separated by empty lines. */
async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<Facts> {
  let rest = '';
  for await (const chunk of chunks) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith(DATA));
      if (data !== undefined) yield JSON.parse(data.slice(DATA.length)) as Facts;
    }
  }
}

function describeEvent({ seq: _, at, license_id, kind, ...facts }: Facts): string {
  return [at, license_id ?? 'system', kind, formatInline(facts)].join('  ').trimEnd();
}
