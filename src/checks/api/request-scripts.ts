import { beginningOf } from '@picket/lib/text.ts';
import type {
  LifecycleProblem,
  LifecycleScriptEnd,
  LifecycleSession,
  ScriptRequest,
  ScriptResponse,
} from '@picket/sandbox/lifecycle/lifecycle-scripts.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import { type LifecycleScript, lifecycleScriptMs } from '../contract/lifecycle.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { RunLog } from '../contract/run-log.ts';
import type { AfterResponse, HttpExchange } from '../http/run.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { changedRequest, definedRequest, seenResponse, sentRequest } from './script-view.ts';
import { ApiSpec } from './spec.ts';

type ApiRequest = ApiSpec['request'];
type Stage = 'setup' | 'teardown';

/** How long a process that is no longer needed by scripts waits for a slow request to end. */
const idleProcessMs = 1000;

/** Failure or result of a script. */
type ScriptEnd = { readonly failure?: Failure } & Pick<LifecycleScriptEnd, 'request' | 'body'>;

const codes: Readonly<Record<Exclude<LifecycleProblem, 'stopped'>, FailureCode>> = {
  failed: 'SCRIPT_FAILED',
  invalid: 'SCRIPT_INVALID',
  'timed-out': 'SCRIPT_TIMED_OUT',
  memory: 'SCRIPT_OUT_OF_MEMORY',
  limit: 'SCRIPT_LIMIT_EXCEEDED',
  ended: 'SCRIPT_FAILED',
  unavailable: 'SANDBOX_UNAVAILABLE',
};

/**
 * The scripts around the request of one run (check model 5.4). Setup scripts may change the request and variables; the
 * first that fails ends the run before the request is sent. Teardown scripts always run after the request, see its
 * response, and may replace its body; a failing one does not stop the others.
 *
 * All of them share a process. If a script ends it, the next one gets a new process with the variables as they were
 * left.
 */
export class RequestScripts {
  /** Values that became secret during the run. */
  readonly secrets = new Set<string>();
  readonly #context: RunContext;
  #variables: Readonly<Record<string, string>>;
  #session: LifecycleSession | undefined;
  #requestUrl = '';
  #idle: NodeJS.Timeout | undefined;

  constructor(context: RunContext) {
    this.#context = context;
    this.#variables = context.variables;
  }

  /** The variables of the run, with the changes of scripts. */
  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  async setUp(given: ApiRequest): Promise<{ readonly request: ApiRequest } | { readonly failure: Failure }> {
    const { setup, teardown } = this.#context.lifecycle ?? { setup: [], teardown: [] };
    this.#requestUrl = urlOf(given, this.#variables);
    let seen = definedRequest(given);
    for (const script of setup) {
      const end = await this.#run('setup', script, { request: seen });
      if (end.failure) return { failure: end.failure };
      seen = end.request ?? seen;
    }
    // Not immediately: ending the process takes CPU time, and most requests finish before the delay has passed.
    if (teardown.length === 0) this.#idle = setTimeout(() => this.close(), idleProcessMs);
    if (setup.length === 0) return { request: given };
    const method = ApiSpec.shape.request.shape.method.safeParse(seen.method);
    if (!method.success) {
      const shown = JSON.stringify(beginningOf(seen.method, 50));
      const message = `Setup failed: it set the method ${shown}, which checks do not support`;
      this.#context.log.part('setup').write('ERROR', message);
      return { failure: failure('SCRIPT_FAILED', message) };
    }
    return { request: changedRequest(given, seen, method.data) };
  }

  /** @param exchange undefined if the request could not be made. */
  async tearDown(given: ApiRequest, exchange: HttpExchange | undefined): Promise<AfterResponse> {
    const { signal, lifecycle } = this.#context;
    const request = exchange ? sentRequest(exchange) : definedRequest(given);
    let response = seenResponse(exchange);
    let body: string | undefined;
    const failures: Failure[] = [];
    for (const script of lifecycle?.teardown ?? []) {
      if (signal.aborted) break;
      const end = await this.#run('teardown', script, { request, response });
      if (end.failure) failures.push(end.failure);
      if (end.body !== undefined) {
        body = end.body;
        response = { ...response, body };
      }
    }
    return { body, failures };
  }

  /** Ends the script process. */
  close(): void {
    clearTimeout(this.#idle);
    this.#session?.close();
    this.#session = undefined;
  }

  async #run(
    stage: Stage,
    { name, script, path, files }: LifecycleScript,
    seen: { readonly request: ScriptRequest; readonly response?: ScriptResponse },
  ): Promise<ScriptEnd> {
    const log = this.#context.log.part(stage);
    const title = stage === 'setup' ? 'Setup' : 'Teardown';
    const fail = (code: FailureCode, why: string) => {
      const failed = failure(code, `${title} failed (${name}): ${why}`);
      log.write('ERROR', failed.message);
      return { failure: failed };
    };
    const session = await this.#open();
    if ('code' in session) return fail(session.code, session.message);
    log.write('INFO', `${title} starts: ${name}`);
    const end = await session.run({ script, path, files, timeoutMs: lifecycleScriptMs, ...seen });
    this.#takeFrom(end);
    writeLines(log, end);
    if (!end.failure) {
      log.write('INFO', `${title} ended after ${Math.round(end.durationMs)} ms: ${name}`);
      return { request: end.request, body: end.body };
    }
    const { problem, message, stack } = end.failure;
    const failed = fail(problem === 'stopped' ? stopCode(this.#context.signal) : codes[problem], message);
    const frames = ownFrames(stack);
    if (frames !== '') log.write('ERROR', frames);
    return failed;
  }

  async #open(): Promise<LifecycleSession | Failure> {
    if (this.#session?.isOpen) return this.#session;
    this.close();
    const { phases, signal, runtimeId, snippets, secretNames, lifecycle } = this.#context;
    if (!phases) return failure('SANDBOX_UNAVAILABLE', 'scripts cannot run on this agent: it has no sandbox');
    const scripts = [...(lifecycle?.setup ?? []), ...(lifecycle?.teardown ?? [])];
    const usesSnippets = scripts.some(({ script }) => script.includes('snippets'));
    try {
      const opened = await phases.open(
        {
          runtimeId,
          variables: { ...this.#ownVariables(), ...this.#variables },
          secretNames: [...(secretNames ?? [])],
          snippets: usesSnippets ? (snippets ?? []).map(({ name, script }) => ({ name, script })) : [],
        },
        signal,
      );
      if ('missing' in opened) {
        return failure(
          opened.missing === 'runtime' ? 'RUNTIME_MISSING' : 'SANDBOX_UNAVAILABLE',
          opened.message,
        );
      }
      this.#session = opened.session;
      return opened.session;
    } catch (thrown) {
      if (signal.aborted) return failure(stopCode(signal), 'the run was stopped before it could start');
      throw thrown;
    }
  }

  /** Variables that only scripts have (check model 5.4 and 5.5). */
  #ownVariables(): Record<string, string> {
    const { runtimeId } = this.#context;
    return {
      ...(runtimeId === undefined ? {} : { RUNTIME_VERSION: runtimeId }),
      REQUEST_URL: this.#requestUrl,
    };
  }

  #takeFrom({ secrets, variables }: LifecycleScriptEnd): void {
    for (const secret of secrets) this.secrets.add(secret);
    const changed = Object.entries(variables);
    if (changed.length === 0) return;
    const next = new Map(Object.entries(this.#variables));
    for (const [name, value] of changed) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    this.#variables = Object.fromEntries(next);
  }
}

/** The request's URL with its templates filled in, before any script changes it. */
function urlOf({ url }: ApiRequest, variables: Readonly<Record<string, string>>): string {
  try {
    return render(url, variables, 'url').trim();
  } catch (thrown) {
    // A setup script may still set the missing variables; otherwise the request is refused later.
    if (thrown instanceof TemplateError) return url;
    throw thrown;
  }
}

function stopCode(signal: AbortSignal): FailureCode {
  const isLate = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return isLate ? 'SCRIPT_TIMED_OUT' : 'RUN_ABORTED';
}

function writeLines(log: RunLog, { lines, droppedLines }: LifecycleScriptEnd): void {
  for (const { level, text, ageMs } of lines) log.write(level, text, ageMs);
  if (droppedLines > 0) log.write('WARN', `${droppedLines} more lines were dropped`);
}

/** Stack frames of the customer's code. */
function ownFrames(stack: string | null): string {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return frames.filter((line) => /[/(](?:script|snippets\/[^/]+)\.js:\d+/.test(line)).join('\n');
}
