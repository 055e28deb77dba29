import { randomUUID } from 'node:crypto';
import { beginningOf } from '@picket/lib/text.ts';
import { z } from 'zod';
import type { SandboxEndReason, SandboxedEnd } from '../sandbox.ts';
import { readLine, saidWith } from '../scripts/events.ts';
import { maxSecrets, maxSecretsLength } from '../scripts/notes.ts';
import type { LifecycleProcess } from './lifecycle-process.ts';
import type {
  LifecycleJob,
  LifecycleProblem,
  LifecycleScript,
  LifecycleScriptEnd,
  LifecycleScriptLine,
  LifecycleSession,
} from './lifecycle-scripts.ts';

const maxLines = 500;
const maxErrorTextLength = 4096;

const text = (maxLength: number) => z.string().transform((value) => beginningOf(value, maxLength));
const TextMap = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

/**
 * Events on descriptor 3 (src/sandbox/program/lifecycle/lifecycle-main.cjs), one per line, each prefixed with the run's
 * token: lines without it come from elsewhere and are ignored. The script shares the process that knows the token, so
 * beyond that only shape and size are checked.
 */
const LifecycleEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('line'), level: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']), text: text(8192) }),
  z.object({ event: z.literal('secret'), value: z.string() }),
  z.object({
    event: z.literal('script-end'),
    durationMs: z.number().min(0),
    error: z
      .object({ name: text(200), message: text(8192), stack: text(8192).nullable(), isInvalid: z.boolean() })
      .optional(),
    request: z
      .object({
        method: z.string(),
        url: z.string(),
        body: z.string(),
        headers: TextMap,
        queryParameters: TextMap,
      })
      .optional(),
    body: z.string().optional(),
    variables: z.record(z.string(), z.string().nullable()).default({}),
  }),
]);
type LifecycleEvent = z.output<typeof LifecycleEvent>;
type SaidEnd = Extract<LifecycleEvent, { event: 'script-end' }>;

const limits: Readonly<Partial<Record<SandboxEndReason, readonly [LifecycleProblem, string]>>> = {
  memory: ['memory', 'it exceeded its memory limit of 512 MiB'],
  cpu: ['limit', 'it exceeded its limit of processor time'],
  processes: ['limit', 'it exceeded its limit of processes'],
  output: ['limit', 'it exceeded its output limit'],
  disk: ['limit', 'it exceeded its disk limit'],
  descriptors: ['limit', 'it exceeded its limit of watched (epoll) or passed descriptors'],
};

interface Running {
  readonly startedMs: number;
  readonly lines: {
    readonly level: LifecycleScriptLine['level'];
    readonly text: string;
    readonly atMs: number;
  }[];
  droppedLines: number;
  readonly settle: (end: { readonly said: SaidEnd } | { readonly ended: SandboxedEnd }) => void;
}

/**
 * The setup and teardown scripts of one run, in a process that waits for them.
 *
 * OPEN: one script at a time; each ends with a line of the process, or with the process. → ENDED when the process has
 * ended because a script took too long, exceeded a limit or ended it, or because of `close`: no more scripts run.
 */
export class SandboxedLifecycle implements LifecycleSession {
  readonly #started: LifecycleProcess;
  readonly #signal: AbortSignal;
  readonly #release: () => void;
  readonly #secrets = new Set<string>();
  readonly #token = randomUUID();
  #running: Running | undefined;
  #ended: SandboxedEnd | undefined;
  #errorText = '';
  #isReleased = false;
  #isOvertime = false;
  #secretsLength = 0;
  #hasTooManySecrets = false;
  readonly #stop = () => this.#started.process.kill();

  /** @param release returns the sandbox. */
  constructor(started: LifecycleProcess, job: LifecycleJob, signal: AbortSignal, release: () => void) {
    this.#started = started;
    this.#signal = signal;
    this.#release = release;
    started.listen({
      onEvent: (line) => this.#handleEvent(readLine(LifecycleEvent, saidWith(this.#token, line))),
      onError: (chunk) => {
        this.#errorText = (this.#errorText + chunk.toString('utf8')).slice(-maxErrorTextLength);
      },
    });
    void started.process.ended.then((ended) => {
      this.#ended = ended;
      this.#running?.settle({ ended });
    });
    signal.addEventListener('abort', this.#stop, { once: true });
    if (signal.aborted) this.#stop();
    const { variables, secretNames, snippets } = job;
    const { directory } = started.sandbox;
    this.#send({ token: this.#token, directory, variables, secretNames, snippets });
  }

  get isOpen(): boolean {
    return this.#ended === undefined && !this.#isReleased;
  }

  async run(script: LifecycleScript): Promise<LifecycleScriptEnd> {
    const { promise, resolve } = Promise.withResolvers<Parameters<Running['settle']>[0]>();
    const running: Running = {
      startedMs: performance.now(),
      lines: [],
      droppedLines: 0,
      settle: resolve,
    };
    this.#running = running;
    const limit = setTimeout(() => {
      this.#isOvertime = true;
      this.#started.process.kill();
    }, script.timeoutMs);
    if (this.#ended) resolve({ ended: this.#ended });
    else {
      const { script: text, path, files, request, response } = script;
      this.#send({ script: text, path, files, request, response });
    }
    const end = await promise;
    clearTimeout(limit);
    this.#running = undefined;
    return this.#describe(running, script, end);
  }

  close(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#signal.removeEventListener('abort', this.#stop);
    this.#started.process.kill();
    this.#release();
  }

  #send(message: unknown): void {
    this.#started.process.input.write(`${JSON.stringify(message)}\n`);
  }

  #handleEvent(event: LifecycleEvent | undefined): void {
    if (!event) return;
    if (event.event === 'secret') {
      if (!this.#secrets.has(event.value)) this.#secretsLength += event.value.length;
      this.#secrets.add(event.value);
      if (this.#secrets.size <= maxSecrets && this.#secretsLength <= maxSecretsLength) return;
      this.#hasTooManySecrets = true;
      this.#started.process.kill();
      return;
    }
    const running = this.#running;
    if (!running) return; // reported after the end of its script
    if (event.event === 'script-end') running.settle({ said: event });
    else if (running.lines.length < maxLines) {
      running.lines.push({ level: event.level, text: event.text, atMs: performance.now() });
    } else running.droppedLines += 1;
  }

  #describe(
    running: Running,
    { timeoutMs }: LifecycleScript,
    end: Parameters<Running['settle']>[0],
  ): LifecycleScriptEnd {
    const nowMs = performance.now();
    const said = 'said' in end ? end.said : undefined;
    const durationMs = said?.durationMs ?? nowMs - running.startedMs;
    if (this.#hasTooManySecrets) {
      // Not all secrets are known, so nothing that may contain one may leave.
      const failure = because(
        'limit',
        `it made more than ${maxSecrets} values or ${maxSecretsLength} characters secret`,
      );
      const secrets = [...this.#secrets].slice(0, maxSecrets);
      return { durationMs, failure, lines: [], droppedLines: 0, secrets, variables: {} };
    }
    return {
      durationMs,
      failure: 'said' in end ? saidFailure(end.said) : this.#endFailure(end.ended, timeoutMs),
      variables: said?.variables ?? {},
      lines: running.lines.map(({ level, text, atMs }) => ({ level, text, ageMs: nowMs - atMs })),
      droppedLines: running.droppedLines,
      secrets: [...this.#secrets],
      request: said?.request,
      body: said?.body,
    };
  }

  /** Explains why the process ended without reporting the end of its script. */
  #endFailure(ended: SandboxedEnd, timeoutMs: number): LifecycleScriptEnd['failure'] {
    if (this.#signal.aborted) return because('stopped', 'the run was stopped');
    const limit = limits[ended.reason];
    if (limit) return because(...limit);
    if (this.#isOvertime || ended.reason === 'wall') {
      return because('timed-out', `it took longer than the ${timeoutMs / 1000} s it may take`);
    }
    if (ended.reason === 'notStarted' || ended.reason === 'killed') {
      return because('unavailable', `its process could not be run: ${ended.problem ?? ended.reason}`);
    }
    if (/heap out of memory/.test(this.#errorText)) {
      return because('memory', 'it exceeded its memory limit of 512 MiB');
    }
    const how =
      ended.signal === null
        ? `it exited with code ${ended.exitCode}, as process.exit() does`
        : `it was ended by ${ended.signal}`;
    return because('ended', `it did not finish: ${how}`);
  }
}

function because(problem: LifecycleProblem, message: string): NonNullable<LifecycleScriptEnd['failure']> {
  return { problem, message, stack: null };
}

function saidFailure({ error }: SaidEnd): LifecycleScriptEnd['failure'] {
  if (!error) return undefined;
  const { name, message, stack, isInvalid } = error;
  const place = placeIn(stack);
  const named = message.startsWith(name) ? message : `${name}: ${message}`;
  return {
    problem: isInvalid ? 'invalid' : 'failed',
    // The program also adds the place to the message, for the cause of a failed request.
    message: place === undefined || named.endsWith(`(${place})`) ? named : `${named} (${place})`,
    stack,
  };
}

/** Finds the place in the customer's code, such as `script.js:3:7`. */
function placeIn(stack: string | null): string | undefined {
  return /(?:^|[/(\s])((?:snippets\/[^/\n]+|script)\.js:\d+(?::\d+)?)/m.exec(stack ?? '')?.[1];
}
