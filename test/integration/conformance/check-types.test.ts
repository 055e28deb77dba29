import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  CapabilityMissing,
  type Outcome,
  type RunContext,
  type Runner,
} from '../../../src/checks/contract/check-type.ts';
import { definitionSchema, runnableSpec } from '../../../src/checks/contract/definition.ts';
import { failureCatalogue, resultFlags } from '../../../src/checks/contract/failure.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { runContext } from '../../helpers/run-context.ts';
import type { RunSamples, SampleBody, Samples } from './samples/samples.ts';

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
};

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/checks.md'), 'utf8');

/** The section of docs/reference/checks.md with the name of a type in its heading. */
function sectionOf(name: string): string | undefined {
  return page.split(/^(?=## )/m).find((section) => section.split('\n', 1)[0]?.includes(`\`${name}\``));
}

/** Every field of a schema with a value of a JSON type it does not allow, as a path and that value. */
function* wrongValues(schema: Schema, path: readonly (string | number)[]): Generator<[typeof path, unknown]> {
  const options = schema.anyOf ?? [schema];
  const isStructured = options.some(({ properties, items }) => properties ?? items);
  if (path.length > 0) yield [path, isStructured ? 'text' : { unexpected: true }];
  for (const option of options) {
    for (const [name, field] of Object.entries(option.properties ?? {}))
      yield* wrongValues(field, [...path, name]);
    if (option.items) yield* wrongValues(option.items, [...path, 0]);
  }
}

/** A copy of a body with one value put in at a path; what is missing on the way is made. */
function withValue(body: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === 'number') return [withValue(Array.isArray(body) ? body[key] : undefined, rest, value)];
  const record = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  return { ...record, [key]: withValue(record[key], rest, value) };
}

describe.each(checkTypes.map((type) => [type.name, type] as const))('check type %s', (_name, type) => {
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
   * A test that runs checks: left out, with the reason, on a machine that cannot; never on a build machine.
   */
  function itRuns(name: string, test: (runs: RunSamples) => Promise<void>): void {
    if (!type.load) return;
    it(name, { timeout: type.lane === 'probe' ? 10_000 : 60_000 }, async (context) => {
      if (!runs) throw new Error('the samples of a type that is run say nothing about its runs');
      const reason = missing?.message ?? runs.missing;
      if (reason !== undefined && process.env.CI !== 'true') context.skip(reason);
      if (reason !== undefined) throw new Error(reason);
      await test(runs);
    });
  }

  /** Runs a body the way an agent does: validated, reduced to what the runner needs. */
  async function start(body: SampleBody, context: Partial<RunContext> = {}): Promise<Outcome<unknown>> {
    const definition = schema.parse({ name: 'sample', ...body });
    return run(runnableSpec(type, definition), runContext({ ...runs?.context, ...context }));
  }

  function expectWhole(outcome: Outcome<unknown>): void {
    expect(type.detail.parse(outcome.detail)).toEqual(outcome.detail);
    expect(JSON.parse(JSON.stringify(outcome.detail))).toEqual(outcome.detail);
    expect(outcome.responseTimeMs).toBeGreaterThanOrEqual(0);
    expect(outcome.errorMessages.length > 0).toBe(outcome.failure !== undefined);
    if (outcome.failure) expect(outcome.failure.message).not.toBe('');
  }

  it('has a section in docs/reference/checks.md, with its analytics', () => {
    const { route, metrics } = type.analytics;
    const words = [route, ...metrics.map(({ name }) => name)].map((word) => `\`${word}\``);
    const section = sectionOf(type.name) ?? `no heading with \`${type.name}\``;
    expect(words.filter((word) => !section.includes(word))).toEqual([]);
  });

  it('has defaults that are valid', () => {
    const definition = schema.parse({ name: 'sample', ...samples.minimal });
    expect(schema.parse(definition)).toEqual(definition);
    expect(type.spec.parse(runnableSpec(type, definition))).toEqual(runnableSpec(type, definition));
  });

  it('refuses a wrong value in each of its fields, and names the field', () => {
    const fields = [...wrongValues(z.toJSONSchema(type.spec, { io: 'input' }) as Schema, [])];
    expect(fields.length).toBeGreaterThan(3);
    for (const [path, value] of fields) {
      const result = schema.safeParse(withValue({ name: 'sample', ...samples.minimal }, path, value));
      const issues = result.error?.issues.map((issue) => issue.path.join('.')) ?? [];
      expect(issues, `${path.join('.')} = ${JSON.stringify(value)}`).toContain(path.join('.'));
    }
  });

  it('refuses values out of bounds, and names the field', () => {
    for (const [field, body] of Object.entries(samples.refused)) {
      const result = schema.safeParse({ name: 'sample', ...body });
      expect(result.error?.issues.map((issue) => issue.path.join('.')) ?? [], field).toEqual([field]);
    }
  });

  itRuns('passes on a healthy target', async (runs) => {
    if (!runs.passing) return;
    const outcome = await start(runs.passing);
    expect(outcome.failure).toBeUndefined();
    expectWhole(outcome);
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

  itRuns('ends by its own limit', async (runs) => {
    if (!runs.hanging) return;
    const outcome = await start(runs.hanging, { timeoutMs: 200 });
    expect(outcome.failure?.owner).toBe('target');
    expectWhole(outcome);
  });
});
