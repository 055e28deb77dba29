import { expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { lifecycleAllowanceMs } from '../../../src/checks/contract/lifecycle.ts';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { type Runtimes, readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { runContext } from '../run-context.ts';
import type { ReceivedRequest } from '../targets/http-routes.ts';
import { type HttpTarget, startHttpTarget } from '../targets/http-target.ts';
import { plainLifecycleScripts } from './plain-sandbox.ts';
import { runtimesDirectory } from './script-stage.ts';

const requestMs = 5000;

export interface ScriptedRun {
  readonly setup?: string | readonly string[];
  readonly teardown?: string | readonly string[];
  readonly request?: Record<string, unknown>;
  readonly rest?: Record<string, unknown>;
  readonly context?: Partial<RunContext>;
}

/** A target, and API checks whose scripts send requests to it. The sandboxes isolate nothing: the scripts are ours. */
export class ApiScriptStage {
  readonly target: HttpTarget;
  readonly #runtimes: Runtimes;

  private constructor(target: HttpTarget, runtimes: Runtimes) {
    this.target = target;
    this.#runtimes = runtimes;
  }

  static async open(): Promise<ApiScriptStage> {
    return new ApiScriptStage(await startHttpTarget(), await readRuntimes(runtimesDirectory));
  }

  get hasRuntime(): boolean {
    return this.#runtimes.ids.length > 0;
  }

  /** Runs a check with scripts; each is named after its place. */
  async run({ setup = [], teardown = [], request, rest, context }: ScriptedRun): Promise<{
    readonly outcome: Outcome<HttpDetail>;
    readonly requests: readonly ReceivedRequest[];
    readonly log: HttpDetail['jobLog'];
  }> {
    const scripts = (texts: string | readonly string[]) =>
      [texts].flat().map((script, index) => ({ name: `script ${index + 1}`, script }));
    const lifecycle = { setup: scripts(setup), teardown: scripts(teardown) };
    const before = this.target.requests.length;
    const outcome = await runApi(
      ApiSpec.parse({ ...rest, request: { url: `${this.target.url}/echo`, ...request } }),
      runContext({
        lifecycle,
        phases: plainLifecycleScripts(this.#runtimes),
        timeoutMs: requestMs + lifecycleAllowanceMs(lifecycle),
        ...context,
      }),
    );
    expect(HttpDetail.parse(outcome.detail)).toEqual(outcome.detail);
    return { outcome, requests: this.target.requests.slice(before), log: outcome.detail.jobLog };
  }

  async close(): Promise<void> {
    await this.target.close();
  }
}

/** Joins the texts of log entries, one per line. */
export function messages(entries: readonly { readonly msg: string }[] | undefined): string {
  return (entries ?? []).map(({ msg }) => msg).join('\n');
}

/** A test of scripts; it needs the packages of a runtime. */
export function itRuns(
  name: string,
  stageOf: () => ApiScriptStage,
  test: (stage: ApiScriptStage) => Promise<void>,
): void {
  it(name, async (context) => {
    const stage = stageOf();
    if (!stage.hasRuntime) context.skip('no runtime is installed: npm run runtimes:install');
    await test(stage);
  });
}
