import { EVENT_API, NO_ID } from '@berth/protocol/admin/events';
import { RequestError } from '@berth/protocol/request-error';
import type { Reply } from '@berth/web/reply';
import { type AuditPosition, eventId, readPosition } from '../../../core/nouns/audit-position.ts';
import type { EventFeed, FeedItem, FeedLink, Subscription } from '../../../services/events/event-feed.ts';
import { callerKey } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { presentEvent } from '../../reply/present-event.ts';
import type { Route } from '../../route.ts';

export function eventRoutes(feed: EventFeed): readonly Route[] {
  return adminRoutes(EVENT_API, {
    'GET /api/admin/events': {
      name: 'admin_events',
      access: 'viewer',
      isForProducts: true,
      summary: 'Follow the audit log: each event as it happens',
      headers: ['Last-Event-ID'],
      answer: {
        kind: 'events',
        about:
          'An endless stream of server-sent events: an id to continue after with Last-Event-ID, the kind, ' +
          'and the event as in /api/admin/audit.',
      },
      errors: ['too_many_subscribers'],
      handle: ({ request, query, caller: by, isStillAllowed }) => {
        const caller = callerKey(by);
        feed.requireRoom(caller);
        const after = readLastId(request.headers.get('last-event-id')) ?? readPosition(query.after ?? '');
        return follow(() => feed.subscribe({ caller, after, isStillAllowed }));
      },
    },
  });
}

/** Sent by a browser that reconnects; newer than the position in the URL. */
function readLastId(header: string | null): AuditPosition | null {
  if (header === null || header === '') return null;
  const position = readPosition(header);
  if (position === null) throw new RequestError('validation_error', `"Last-Event-ID" ${NO_ID}.`);
  return position;
}

/** Subscribes on the first read, so that an unread response, such as that of a HEAD, holds nothing. */
function follow(subscribe: () => Subscription): Reply {
  let subscription: Subscription | null = null;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        subscription ??= subscribe();
        // If the log cannot be read now, the client reconnects and tries again.
        const item = await subscription.next().catch(() => null);
        if (isCancelled) return;
        if (item !== null) return controller.enqueue(ENCODER.encode(textOf(item)));
        subscription.end();
        controller.close();
      },
      cancel() {
        isCancelled = true;
        subscription?.end();
      },
    },
    { highWaterMark: 0 },
  );
  return { status: 200, body, type: 'events', headers: { 'X-Accel-Buffering': 'no' } };
}

const ENCODER = new TextEncoder();

/** How long a browser waits before it reconnects. */
const RETRY_MS = 2000;

function textOf(item: FeedItem): string {
  switch (item.kind) {
    case 'opened':
      return `retry: ${RETRY_MS}\n\n`;
    case 'beat':
      return ':\n\n';
    case 'links':
      return item.links.map(linkText).join('');
  }
}

function linkText({ link, from }: FeedLink): string {
  return link.events
    .map((event, index) => {
      const data = JSON.stringify(presentEvent(link, event));
      return `id: ${eventId({ seq: link.seq, index })}\nevent: ${event.kind}\ndata: ${data}\n\n`;
    })
    .slice(from)
    .join('');
}
