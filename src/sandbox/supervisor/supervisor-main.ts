/**
 * The supervisor process: it starts, watches and ends sandboxed programs for an agent, whose own process is large (each
 * start would stall it) and holds secrets. The supervisor knows none, and outlives the agent just long enough to clean
 * up.
 */

import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { toError } from '@picket/lib/errors.ts';
import { isToBeHidden } from '../mechanism.ts';
import { hideThisProcess } from '../network/kernel.ts';
import { SandboxInUse } from '../sandbox.ts';
import type { SupervisorReport, SupervisorRequest } from './message.ts';
import type { RunningProgram } from './program.ts';
import { Supervisor } from './supervisor.ts';

/** Descriptors inherited by mistake would be passed on to every program. Node marks its own as close-on-exec. */
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

let supervisor: Supervisor | undefined;
const programs = new Map<number, RunningProgram>();

function report(message: SupervisorReport, onSent?: () => void): void {
  if (!process.connected) {
    onSent?.();
    return;
  }
  process.send?.(message, undefined, undefined, () => onSent?.());
}

async function obey(request: SupervisorRequest): Promise<void> {
  switch (request.kind) {
    case 'open': {
      supervisor = await Supervisor.open(request.settings);
      const { facts } = supervisor;
      const problem = isToBeHidden(facts) ? hideThisProcess() : undefined;
      const problems = problem === undefined ? facts.problems : [...facts.problems, problem];
      const slots = supervisor.slots.map(({ directory, uid }) => ({ directory, uid }));
      report({ kind: 'opened', facts: { ...facts, problems }, slots });
      return;
    }
    case 'start': {
      const { slot, run, program: wanted } = request;
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
      const { run, chunk } = request;
      const program = programs.get(run);
      if (program) program.write(chunk, () => report({ kind: 'inputTaken', run }));
      else report({ kind: 'inputTaken', run });
      return;
    }
    case 'inputEnd':
      programs.get(request.run)?.endInput();
      return;
    case 'interrupt':
      programs.get(request.run)?.interrupt();
      return;
    case 'kill':
      programs.get(request.run)?.kill('killed');
      return;
    case 'release':
      await requireSlot(request.slot).clean();
      report({ kind: 'released', slot: request.slot });
      return;
  }
}

/** Reports a failed request to the pool; only our own bugs bypass this. */
function refuse(request: SupervisorRequest, thrown: unknown): void {
  const { message } = toError(thrown);
  if (request.kind === 'open') {
    report({ kind: 'refused', message, isInUse: thrown instanceof SandboxInUse });
  } else if (request.kind === 'release') report({ kind: 'released', slot: request.slot, problem: message });
  else if (request.kind === 'start') {
    const usage = { peakMemoryBytes: 0, cpuMs: 0 };
    const end = { reason: 'notStarted', exitCode: null, signal: null, problem: message, ...usage } as const;
    report({ kind: 'ended', run: request.run, end });
  } else throw thrown;
}

function requireSlot(index: number) {
  const slot = supervisor?.slots[index];
  if (!slot) throw new Error(`there is no slot ${index}`);
  return slot;
}

closeInheritedDescriptors();
process.on('message', (request: SupervisorRequest) => {
  obey(request).catch((thrown: unknown) => refuse(request, thrown));
});
// A terminal's Ctrl-C and a service manager's signals are for the agent, which ends this process through its channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', async () => {
  await supervisor?.close();
  process.exit(0);
});
