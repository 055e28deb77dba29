/**
 * The keeper's process: it starts, watches and ends sandboxed programs on behalf of an agent, whose own process is large
 * (each start would stall it) and holds secrets. It knows none, and it outlives the agent just long enough to clean up.
 */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { toError } from '../../lib/errors.ts';
import { Keeper } from './keeper.ts';
import type { KeeperOrder, KeeperReport } from './message.ts';
import type { RunningProgram } from './program.ts';

/** What this process was given by mistake would go on to every program it starts. Node marks its own to be closed. */
function closeInheritedDescriptors(): void {
  const closeOnExec = 0o2000000;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor <= 2) continue;
    try {
      const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0) closeSync(descriptor);
    } catch {
      // the descriptor of the listing itself
    }
  }
}

let keeper: Keeper | undefined;
const programs = new Map<number, RunningProgram>();

function report(message: KeeperReport, onSent?: () => void): void {
  if (!process.connected) {
    onSent?.();
    return;
  }
  process.send?.(message, undefined, undefined, () => onSent?.());
}

async function obey(order: KeeperOrder): Promise<void> {
  switch (order.kind) {
    case 'open': {
      keeper = await Keeper.open(order.settings);
      const slots = keeper.slots.map(({ directory, uid }) => ({ directory, uid }));
      report({ kind: 'opened', facts: keeper.facts, slots });
      return;
    }
    case 'start': {
      const { slot, run, program: wanted } = order;
      const program = requireSlot(slot).start(wanted, (stream, chunk, onSent) =>
        report({ kind: 'output', run, stream, chunk }, onSent),
      );
      programs.set(run, program);
      const end = await program.ended;
      programs.delete(run);
      report({ kind: 'ended', run, end });
      return;
    }
    case 'input': {
      const { run, chunk } = order;
      const program = programs.get(run);
      if (program) program.input.write(chunk, () => report({ kind: 'inputTaken', run }));
      else report({ kind: 'inputTaken', run });
      return;
    }
    case 'inputEnd':
      programs.get(order.run)?.input.end();
      return;
    case 'interrupt':
      programs.get(order.run)?.interrupt();
      return;
    case 'kill':
      programs.get(order.run)?.kill('killed');
      return;
    case 'release':
      await requireSlot(order.slot).clean();
      report({ kind: 'released', slot: order.slot });
      return;
  }
}

/** An order that could not be carried out is answered as one that failed; only bugs of ours get past this. */
function refuse(order: KeeperOrder, thrown: unknown): void {
  const { message } = toError(thrown);
  if (order.kind === 'open') report({ kind: 'refused', message });
  else if (order.kind === 'release') report({ kind: 'released', slot: order.slot, problem: message });
  else if (order.kind === 'start') {
    const usage = { peakMemoryBytes: 0, cpuMs: 0 };
    const end = { reason: 'notStarted', exitCode: null, signal: null, problem: message, ...usage } as const;
    report({ kind: 'ended', run: order.run, end });
  } else throw thrown;
}

function requireSlot(index: number) {
  const slot = keeper?.slots[index];
  if (!slot) throw new Error(`there is no slot ${index}`);
  return slot;
}

closeInheritedDescriptors();
process.on('message', (order: KeeperOrder) => {
  obey(order).catch((thrown: unknown) => refuse(order, thrown));
});
// A terminal's Ctrl-C and a service manager's signals are for the agent, which ends this process by its channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', async () => {
  await keeper?.close();
  process.exit(0);
});
