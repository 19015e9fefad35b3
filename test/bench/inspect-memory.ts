import { readResidentMegabytes } from './process-facts.ts';

/** What a process holds once all garbage of all its threads is gone, in megabytes. */
export interface MemoryInUse {
  readonly resident: number;
  /** JavaScript objects of all threads. */
  readonly heap: number;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly message: string };
  readonly result?: { readonly usedSize?: number };
}

/** Node's debugger, spoken to over one connection: the main thread, and threads through it. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly threads: string[] = [];
  #lastId = 0;

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener('message', ({ data }) => this.#hear(JSON.parse(String(data))));
  }

  async open(): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#socket.addEventListener('open', resolve, { once: true });
      this.#socket.addEventListener('error', reject, { once: true });
    });
    await this.ask('NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  close(): void {
    this.#socket.close();
  }

  #hear(message: Message): void {
    if (message.method === 'NodeWorker.attachedToWorker')
      this.threads.push(message.params?.sessionId as string);
    if (message.method === 'NodeWorker.receivedMessageFromWorker')
      this.#hear(JSON.parse(message.params?.message as string));
    if (message.id === undefined) return;
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }

  #wait(id: number): Promise<Message> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  ask(method: string, params = {}): Promise<Message> {
    const id = ++this.#lastId;
    const answered = this.#wait(id);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answered;
  }

  async askThread(sessionId: string, method: string): Promise<Message> {
    const id = ++this.#lastId;
    const answered = this.#wait(id);
    await this.ask('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method }) });
    return answered;
  }
}

/** The environment that lets a Node process be inspected, on a free port of this machine. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/** Where the debugger listens, as the process has written it to its log. */
function inspectorUrl(log: string): string {
  const url = /^Debugger listening on (ws:\S+)$/m.exec(log)?.[1];
  if (url === undefined) throw new Error('The server cannot be inspected.');
  return url;
}

/** Collects the garbage of all threads twice, because objects with finalizers go the second time. */
export async function readMemoryInUse(pid: number | null, log: string): Promise<MemoryInUse | null> {
  const inspector = new Inspector(inspectorUrl(log));
  await inspector.open();
  try {
    const asks = [
      (method: string) => inspector.ask(method),
      ...inspector.threads.map((thread) => (method: string) => inspector.askThread(thread, method)),
    ];
    for (let round = 0; round < 2; round++) for (const ask of asks) await ask('HeapProfiler.collectGarbage');
    const used = await Promise.all(asks.map((ask) => ask('Runtime.getHeapUsage')));
    const bytes = used.reduce((sum, { result }) => sum + (result?.usedSize ?? 0), 0);
    const resident = readResidentMegabytes(pid);
    return resident === null ? null : { resident, heap: bytes / 1024 ** 2 };
  } finally {
    inspector.close();
  }
}
