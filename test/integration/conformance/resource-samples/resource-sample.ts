import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ResourceApi } from '../../../../src/protocol/http/resource.ts';
import { wholeBody } from '../../../helpers/service/api-requests/whole-bodies.ts';

/** A body that creates or changes a resource. */
export type ResourceBody = Readonly<Record<string, unknown>>;

/** Test data of one plain account resource for the conformance suites. */
export interface ResourceSample {
  /** Bodies that create two of them, with different values in unique fields. */
  readonly bodies: readonly [ResourceBody, ResourceBody];
  /** Changes some fields of the first; absent for immutable resources. */
  readonly change?: ResourceBody;
  /**
   * Bodies that are refused, by the field that the error names. Wrong JSON types need no entry: the suite derives
   * those.
   */
  readonly refused?: Readonly<Record<string, ResourceBody>>;
  /** Fields that are written but never shown, or not as written. */
  readonly hidden?: readonly string[];
}

/**
 * The sample of a resource: the export `sample` of the file here that is named after it in the registry, or derived
 * from its schemas if there is no such file.
 */
export async function sampleOf(name: string, api: ResourceApi): Promise<ResourceSample> {
  const file = join(import.meta.dirname, `${name}.ts`);
  if (!existsSync(file)) return derivedSample(name, api);
  return ((await import(file)) as { readonly sample: ResourceSample }).sample;
}

function derivedSample(
  name: string,
  { input, patch, documentedPatch, keyName }: ResourceApi,
): ResourceSample {
  const changed = documentedPatch ?? patch;
  if (!(input instanceof z.ZodObject && (changed === undefined || changed instanceof z.ZodObject))) {
    throw new Error(`no sample follows from the schemas of ${name}: write resource-samples/${name}.ts`);
  }
  const bodies = [wholeBody(input, 1, {}), wholeBody(input, 2, {})] as const;
  if (!changed) return { bodies };
  const fields = Object.keys(changed.shape).filter((field) => field !== keyName && field in bodies[1]);
  return { bodies, change: Object.fromEntries(fields.map((field) => [field, bodies[1][field]])) };
}
