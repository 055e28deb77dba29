import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import type { AgenticDetail } from '../../../src/checks/agentic/detail.ts';
import { AgenticSpec } from '../../../src/checks/agentic/spec.ts';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { ArtifactFile, RunContext } from '../../../src/checks/contract/run-context.ts';
import type { ModelAccess } from '../../../src/checks/model/access.ts';
import { DaySpending } from '../../../src/checks/model/spending.ts';
import { runAgentic } from '../../../src/extras/agentic/run.ts';
import { runContext } from '../run-context.ts';
import { type ScriptStage, startScriptStage } from '../scripts/script-stage.ts';

export interface AgenticRun {
  readonly outcome: Outcome<AgenticDetail>;
  readonly artifacts: readonly ArtifactFile[];
}

/** Runs agentic checks in real browsers, as the thread for scripts does. */
export interface AgenticStage {
  readonly missingBrowser: string | undefined;
  run(order: {
    readonly spec: Readonly<Record<string, unknown>>;
    readonly model: ModelAccess | undefined;
    readonly plan?: RunContext['plan'];
    readonly variables?: Readonly<Record<string, string>>;
    readonly secretNames?: readonly string[];
    readonly context?: Partial<RunContext>;
  }): Promise<AgenticRun>;
  close(): Promise<void>;
}

export async function startAgenticStage(): Promise<AgenticStage> {
  const stage: ScriptStage = await startScriptStage();
  const day = new DaySpending(() => Date.now());
  return {
    missingBrowser: stage.missingBrowser,
    run: async ({ spec, model, plan = null, variables = {}, secretNames = [], context = {} }) => {
      const artifacts: ArtifactFile[] = [];
      const scrubber = new Scrubber(secretNames.map((name) => variables[name] ?? ''));
      const outcome = await runAgentic(
        AgenticSpec.parse(spec),
        runContext({
          scripts: stage.host,
          timeoutMs: 100_000,
          variables,
          secretNames,
          model: model && { access: model, day },
          plan,
          mask: (text) => scrubber.text(text),
          artifacts: {
            add: async (file) => {
              artifacts.push(file);
              return true;
            },
          },
          ...context,
        }),
      );
      return { outcome, artifacts };
    },
    close: () => stage.close(),
  };
}
