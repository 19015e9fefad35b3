import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to another port of this machine on which answers can be held back, and get lost. */
export interface AnswerGate {
  readonly port: number;
  /** From now on questions arrive, and answers do not. */
  holdAnswers(): void;
  /** Every connection is cut, with all answers that were held; new ones pass. */
  loseAnswers(): void;
}

export async function openAnswerGate(
  t: { after(work: () => void): void },
  targetPort: number,
): Promise<AnswerGate> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isHolding = false;
  const gate = createServer((asking) => {
    const answering = connect(targetPort, '127.0.0.1');
    const pair = [asking, answering] as const;
    pairs.add(pair);
    for (const socket of pair) socket.setNoDelay(true);
    asking.pipe(answering);
    if (!isHolding) answering.pipe(asking);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  const cutAll = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  t.after(() => {
    cutAll();
    gate.close();
  });
  return {
    port: (gate.address() as AddressInfo).port,
    holdAnswers() {
      isHolding = true;
      for (const [asking, answering] of pairs) answering.unpipe(asking);
    },
    loseAnswers() {
      isHolding = false;
      cutAll();
    },
  };
}
