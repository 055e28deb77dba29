import type { AgenticDetail } from '@picket/checks/agentic/detail.ts';
import { AgenticPlan } from '@picket/checks/agentic/plan/plan.ts';
import type { AgenticSpec } from '@picket/checks/agentic/spec.ts';
import { type Failure, failure } from '@picket/checks/contract/failure.ts';
import type { Outcome } from '@picket/checks/contract/outcome.ts';
import { toMicroseconds } from '@picket/checks/contract/outcome.ts';
import type { RunContext } from '@picket/checks/contract/run-context.ts';
import { scriptProxyUrl } from '@picket/checks/http/location-proxy.ts';
import { ModelClient } from '@picket/checks/model/client.ts';
import { ModelError } from '@picket/checks/model/message.ts';
import { RunSpending } from '@picket/checks/model/spending.ts';
import { openPageSession } from '@picket/sandbox/pages/page-session.ts';
import { SandboxUnavailable } from '@picket/sandbox/sandbox.ts';
import type { ScriptProcess } from '@picket/sandbox/scripts/script-process.ts';
import { Actor } from './session/actor.ts';
import { explore } from './session/explore.ts';
import { judgeWith } from './session/judge.ts';
import { allowedOrigins, namesIn, Placeholders } from './session/placeholders.ts';
import { SessionRecord } from './session/record.ts';
import { replay } from './session/replay.ts';

/** Result of a run before it is converted to an outcome. */
interface SessionEnd {
  readonly failure?: Failure | undefined;
  readonly summary: string | null;
  readonly plan: AgenticDetail['plan'];
  readonly peakMemoryBytes?: number | undefined;
}

const noPlan = { summary: null, plan: null };

/**
 * Runs an agentic check. With a plan that matches its prompt, it executes the plan's steps without a model; otherwise
 * the model finds the steps, which become the plan of later runs.
 */
export async function runAgentic(spec: AgenticSpec, context: RunContext): Promise<Outcome<AgenticDetail>> {
  const startedMs = performance.now();
  const record = new SessionRecord(() => Date.now());
  const { model } = context;
  const spending = model && new RunSpending(model.access, model.day);
  const end = await runSession(spec, context, { record, spending });
  if (end.failure) context.log.write('ERROR', end.failure.message);
  for (const origin of record.refused) {
    record.suggestions.push({
      summary: `${origin} was requested but is not allowed. If the check needs it, add it to allowedOrigins.`,
      prompt: null,
      promptReplacement: null,
      secrets: [],
      category: 'configuration',
    });
  }
  const failures = end.failure ? [end.failure.message] : [];
  const used = spending && spending.spent.calls > 0 ? spending : undefined;
  return {
    failure: end.failure,
    responseTimeMs: toMicroseconds(performance.now() - startedMs),
    isDegraded: null,
    overMaxResponseTime: null,
    errorMessages: failures,
    peakMemoryBytes: end.peakMemoryBytes,
    detail: {
      summary: end.summary,
      prompt: spec.prompt,
      assertions: [...record.assertions],
      suggestions: [...record.suggestions],
      steps: [...record.steps],
      errors: failures.map((message) => ({ error: { message } })),
      artifactManifest: Object.fromEntries(
        record.screenshots.map((path) => [path, 'A screenshot of the page']),
      ),
      screenshots: [...record.screenshots],
      plan: end.plan,
      usage: used && model ? { model: model.access.name, ...used.spent, cost: used.cost } : null,
    },
  };
}

type Parts = { readonly record: SessionRecord; readonly spending: RunSpending | undefined };

async function runSession(spec: AgenticSpec, context: RunContext, parts: Parts): Promise<SessionEnd> {
  const { signal, scripts, variables } = context;
  const ended = (failed: Failure): SessionEnd => ({ failure: failed, ...noPlan });
  if (signal.aborted) return ended(stopFailure(context));
  const names = namesIn(spec.prompt);
  const unknown = names.filter((name) => !Object.hasOwn(variables, name));
  if (unknown.length > 0) {
    parts.record.suggestions.push({
      summary: `Define ${unknown.join(', ')}, or remove the name from the prompt.`,
      prompt: null,
      promptReplacement: null,
      secrets: unknown,
      category: 'credentials',
    });
    return ended(
      failure('TEMPLATE_INVALID', `The prompt names variables that are not defined: ${unknown.join(', ')}`),
    );
  }
  const plan = keptPlan(spec, context);
  if (!plan && !context.model) return ended(missingModel());
  if (!scripts) return ended(failure('SANDBOX_UNAVAILABLE', 'This agent has no sandbox to open a page in.'));
  const { browser, runtimes, trust } = scripts;
  const runtime = runtimes.find(runtimes.ids[0] ?? '');
  if (!runtime) return ended(failure('RUNTIME_MISSING', 'No runtime is installed on this agent.'));
  if ('missing' in browser) return ended(failure('BROWSER_MISSING', browser.missing));
  const located = scriptProxyUrl(context, { hasBrowser: true });
  if ('failure' in located) return ended(located.failure);
  let script: ScriptProcess;
  try {
    // Its browser has a proxy of its own: one that was started ahead could not be used.
    script = await scripts.acquire({ runtime, isFresh: false, hasBrowser: false }, signal);
  } catch (thrown) {
    if (signal.aborted) return ended(stopFailure(context));
    if (thrown instanceof SandboxUnavailable) return ended(failure('SANDBOX_UNAVAILABLE', thrown.message));
    throw thrown;
  }
  try {
    const placeholders = new Placeholders(names, variables, context.mask ?? ((text) => text));
    const origins = allowedOrigins(placeholders.fill(spec.prompt), spec.allowedOrigins);
    const session = await openPageSession(script, {
      browser,
      trust,
      origins,
      proxyUrl: located.proxyUrl,
      signal,
    });
    const end = await onPage(spec, context, { ...parts, plan, placeholders, origins, session });
    const { peakMemoryBytes, refusedConnections } = await session.end();
    for (const refusal of refusedConnections ?? []) context.log.write('WARN', refusal);
    return { ...end, peakMemoryBytes };
  } finally {
    scripts.release(script);
  }
}

type OnPage = Parts & {
  readonly plan: { readonly version: number; readonly plan: AgenticPlan } | undefined;
  readonly placeholders: Placeholders;
  readonly origins: readonly string[];
  readonly session: Awaited<ReturnType<typeof openPageSession>>;
};

async function onPage(spec: AgenticSpec, context: RunContext, parts: OnPage): Promise<SessionEnd> {
  const { signal, log } = context;
  const { record, placeholders, origins, session, plan, spending } = parts;
  const model =
    context.model &&
    spending &&
    new ModelClient(context.model.access, {
      spending,
      egress: context.egress,
      resolver: context.resolver,
      onOutcome: context.model.onOutcome,
    });
  const order = {
    placeholders,
    origins: origins.map((origin) => placeholders.hide(origin)),
    prompt: spec.prompt,
    skills: spec.agentRuntime.skills,
    signal,
  };
  const actor = new Actor({
    session,
    placeholders,
    record,
    judge: judgeWith({ ...order, model, look: () => actor.snapshot() }),
    artifacts: context.artifacts,
  });
  try {
    if (plan) {
      const { version } = plan;
      const replayed = await replay({
        ...order,
        model,
        unasked: missingModel().message,
        actor,
        steps: plan.plan.steps,
      });
      const isHealed = replayed.healings.length > 0;
      for (const what of replayed.healings) log.write('WARN', `The model changed steps: ${what}`);
      if (replayed.failure) await actor.picture('failure');
      const fresh = isHealed && !replayed.failure ? { ...plan.plan, steps: [...replayed.steps] } : null;
      return {
        failure: replayed.failure,
        summary: [
          `${replayed.steps.length} steps of version ${version} of the plan.`,
          ...replayed.healings,
        ].join(' '),
        plan: { origin: isHealed ? 'healed' : 'replayed', version, fresh },
      };
    }
    if (!model || !context.model) return { failure: missingModel(), ...noPlan };
    const found = await explore({ ...order, model, actor });
    record.suggestions.push(...found.suggestions);
    const failed = failureOf(found.problem, record);
    await actor.picture(failed ? 'failure' : 'end');
    const fresh = failed
      ? null
      : { prompt: spec.prompt, model: context.model.access.name, steps: [...found.steps] };
    return { failure: failed, summary: found.summary, plan: { origin: 'found', version: null, fresh } };
  } catch (thrown) {
    if (signal.aborted) return { failure: stopFailure(context), ...noPlan };
    if (thrown instanceof ModelError) return { failure: failure(thrown.code, thrown.message), ...noPlan };
    throw thrown;
  } finally {
    await model?.close();
  }
}

/** Why a search produced no plan. */
function failureOf(problem: string | undefined, { assertions }: SessionRecord): Failure | undefined {
  const failed = assertions.filter(({ passed }) => !passed);
  if (failed.length > 0) {
    const words = failed.map(
      ({ condition, expected, actual }) => `${condition}: ${expected ?? ''}, found ${actual ?? 'nothing'}`,
    );
    return failure('ASSERTION_FAILED', words.join('; '));
  }
  return problem === undefined ? undefined : failure('PROMPT_NOT_FOLLOWED', problem);
}

/** The plan passed to the run, if it belongs to this prompt. */
function keptPlan({ prompt }: AgenticSpec, { plan, log }: RunContext): OnPage['plan'] {
  if (!plan) return undefined;
  const parsed = AgenticPlan.safeParse(plan.content);
  if (parsed.success && parsed.data.prompt === prompt) return { version: plan.version, plan: parsed.data };
  log.write(
    'INFO',
    `The plan (version ${plan.version}) belongs to a different prompt; the model finds new steps.`,
  );
  return undefined;
}

function missingModel(): Failure {
  return failure('MODEL_PROVIDER_MISSING', 'This agent has no model: set MODEL_URL and MODEL_NAME.');
}

function stopFailure({ signal, timeoutMs }: RunContext): Failure {
  const { reason } = signal;
  return reason instanceof DOMException && reason.name === 'TimeoutError'
    ? failure('SCRIPT_TIMED_OUT', `The run exceeded its maximum time of ${timeoutMs} ms`)
    : failure('RUN_ABORTED', 'The run was stopped');
}
