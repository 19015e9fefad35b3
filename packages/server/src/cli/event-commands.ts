import { toReadable } from '@berth/protocol/console/console-text';
import { toPrintableJson } from '@berth/protocol/hidden-characters';
import type { AdminAnswer } from './admin-client.ts';
import type { Flags, FollowContext, FollowingCommand } from './command.ts';
import { formatInline } from './terminal.ts';

export const EVENT_COMMANDS: readonly FollowingCommand[] = [
  {
    words: 'events',
    usage: '[--after ID] [--limit N]',
    about: 'what happens, as it happens; Ctrl-C ends it',
    follow: followEvents,
  },
];

type Facts = Readonly<Record<string, unknown>>;

/** Ends when as many as asked for were told, or when whoever reads has had enough. */
async function followEvents({
  client,
  flags,
  isJson,
  screen,
  print,
  note,
}: FollowContext): Promise<AdminAnswer> {
  const { after, limit } = flags;
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit))
    return failed('--limit must be a positive number.');
  const stream = await client.follow('/api/admin/events', { after });
  if (stream === null) {
    return failed('The server is stopped: nothing happens. "berth audit list" shows what did.');
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
  return isWanted ? failed('The server has ended the stream: it is stopping.') : DONE;
}

/** Where nothing happens, a person must see that nothing is wrong. */
function describeFollowing({ after, limit }: Flags): string {
  const past = after === undefined ? '' : ` from ${after} on`;
  const end = limit === undefined ? '' : ` It ends after ${limit}.`;
  return `Listening for events of all licenses and of the server itself${past}.${end} Press Ctrl-C to stop.`;
}

const DONE: AdminAnswer = { ok: true, body: {} as never };

function failed(message: string): AdminAnswer {
  return { ok: false, body: { message } as never };
}

const DATA = 'data: ';

/** The data of server-sent events, which are blocks of lines with an empty line behind each. */
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
