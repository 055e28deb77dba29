import { afterAll, beforeAll, expect, it } from 'vitest';
import { definitionSchema, runnableSpec } from '../../../src/checks/contract/definition/definition.ts';
import { noFacts } from '../../../src/checks/contract/facts.ts';
import { CapabilityMissing, failureCatalogue, resultFlags } from '../../../src/checks/contract/failure.ts';
import { detailsFor, FailureDetails } from '../../../src/checks/contract/failure-details.ts';
import type { Outcome, Runner } from '../../../src/checks/contract/outcome.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import type { checkTypes } from '../../../src/checks/index.ts';
import { factsOf } from '../../../src/platform/store/details/run-facts.ts';
import { runContext } from '../../helpers/run-context.ts';
import { expectShown } from './expect-shown.ts';
import type { RunSamples, SampleBody, Samples } from './samples/samples.ts';

/** Behaviour that the runs of every check type share, tested with the samples of that type. */
export function runSuite(type: (typeof checkTypes)[number]): void {
  const schema = definitionSchema(type);
  let samples: Samples;
  let runs: RunSamples | undefined;
  let run: Runner<unknown, unknown>;
  let missing: CapabilityMissing | undefined;

  beforeAll(async () => {
    ({ samples } = (await import(`./samples/${type.route}.ts`)) as { readonly samples: Samples });
    runs = await samples.start?.();
    try {
      if (type.load) run = (await type.load()).run as Runner<unknown, unknown>;
    } catch (thrown) {
      if (!(thrown instanceof CapabilityMissing)) throw thrown;
      missing = thrown;
    }
  });
  afterAll(() => runs?.close());

  /**
   * A test that runs checks: skipped, with the reason, on a machine that cannot run them; never skipped on a build
   * machine.
   */
  function itRuns(name: string, test: (runs: RunSamples) => Promise<void>): void {
    it(name, { timeout: type.lane === 'probe' ? 10_000 : 60_000 }, async (context) => {
      if (!runs) throw new Error('the samples of a type that is run say nothing about its runs');
      const reason = missing?.message ?? runs.missing;
      if (reason !== undefined && process.env.CI !== 'true') context.skip(reason);
      if (reason !== undefined) throw new Error(reason);
      await test(runs);
    });
  }

  /** Runs a body as an agent does: validated, reduced to the fields of the runner. */
  async function start(body: SampleBody, context: Partial<RunContext> = {}): Promise<Outcome<unknown>> {
    const definition = schema.parse({ name: 'sample', ...body });
    return run(runnableSpec(type, definition), runContext({ ...runs?.context, ...context }));
  }

  function expectWhole(outcome: Outcome<unknown>): void {
    expect(type.detail.parse(outcome.detail)).toEqual(outcome.detail);
    expect(JSON.parse(JSON.stringify(outcome.detail))).toEqual(outcome.detail);
    expect(outcome.responseTimeMs).toBeGreaterThanOrEqual(0);
    expect(outcome.errorMessages.length > 0).toBe(outcome.failure !== undefined);
    expectShown(type, outcome);
    if (!outcome.failure) return;
    const { code, message, details } = outcome.failure;
    expect(message).not.toBe('');
    expect(details && detailsFor(code, FailureDetails.parse(details)), code).toEqual(details);
  }

  itRuns('passes on a healthy target', async (runs) => {
    if (!runs.passing) return;
    const outcome = await start(runs.passing);
    expect(outcome.failure).toBeUndefined();
    expectWhole(outcome);
    if (!type.facts) return;
    const { host, dns, script } = factsOf(type.name, outcome.detail);
    expect(host ?? dns ?? script, 'what programs read of the run').not.toBeNull();
    expect(factsOf(type.name, { of: 'a newer agent' })).toEqual(noFacts);
  });

  itRuns('fails on each unhealthy target by its code and owner, and never throws', async (runs) => {
    expect(runs.failing.length).toBeGreaterThan(0);
    for (const { name, body, code, timeoutMs } of runs.failing) {
      const outcome = await start(body, timeoutMs === undefined ? {} : { timeoutMs });
      expect(outcome.failure?.code, name).toBe(code);
      expect(outcome.failure?.owner, name).toBe(failureCatalogue[code].owner);
      const isTheirs = ['target', 'config'].includes(failureCatalogue[code].owner);
      expect(resultFlags(outcome.failure), name).toEqual({ hasFailures: isTheirs, hasErrors: !isTheirs });
      expectWhole(outcome);
    }
  });

  itRuns('ends promptly when it is stopped, and does not blame the target', async (runs) => {
    if (!runs.hanging) return;
    const controller = new AbortController();
    const running = start(runs.hanging, { signal: controller.signal, timeoutMs: type.timeoutMs });
    setTimeout(() => controller.abort(new Error('lease lost')), 100);
    const outcome = await running;
    expect(outcome.failure).toMatchObject({ code: 'RUN_ABORTED', owner: 'agent' });
    expectWhole(outcome);
  });

  itRuns('ends at once when it was stopped before it began', async (runs) => {
    const outcome = await start(runs.hanging ?? samples.minimal, {
      signal: AbortSignal.abort(),
      timeoutMs: type.timeoutMs,
    });
    expect(outcome.failure?.code).toBe('RUN_ABORTED');
  });

  itRuns('ends at its own limit', async (runs) => {
    if (!runs.hanging) return;
    const outcome = await start(runs.hanging, { timeoutMs: 200 });
    expect(outcome.failure?.owner).toBe('target');
    expectWhole(outcome);
  });
}
