import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { z } from 'zod';

const column = 'checks.definition';
const ofAnyType = storedJson(column, CommonFields);
const byType = new Map<string, (text: string) => Record<string, unknown>>(
  checkTypes.map(({ name, spec }) => [
    name,
    storedJson(column, z.object({ ...CommonFields.shape, ...spec.shape })),
  ]),
);

/** Parses the definition of a check; another build may have known its type. */
export function checkDefinition(checkType: string, text: string): Record<string, unknown> {
  return (byType.get(checkType) ?? ofAnyType)(text);
}
