import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { defineResourceApi } from '../http/resource.ts';
import { Warning } from '../http/warning.ts';

const key = z
  .string()
  .min(1)
  .max(255)
  // `.` and `..` are path segments with a special meaning: clients could not request such a variable.
  .regex(/^(?!\.{1,2}$)[A-Za-z0-9_.-]+$/, 'must be letters, digits, "_", "." and "-", and not only dots');
const value = z.string().max(32_768);
const valueFrom = z
  .string()
  .regex(/^SERVICE_SECRET_\w{1,200}$/, 'must be the name of a secret of locations, such as SERVICE_SECRET_DB')
  .nullable();

/** A variable of the account, for `{{KEY}}` templates and scripts of all its checks. */
export const Variable = lazySchema(() =>
  z
    .object({
      id: z.string().describe('Same value as `key`'),
      key: z.string(),
      value: z.string().describe('"" if the variable is locked, secret, or has `valueFrom`'),
      valueFrom: z
        .string()
        .nullable()
        .default(null)
        .describe('Name of the secret of the location that is the value; null for a value of its own'),
      locked: z.boolean(),
      secret: z.boolean(),
      warnings: z
        .array(Warning)
        .describe('Warnings if it is locked or secret but not masked in results and logs; empty otherwise'),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
      ...ManagedFields,
    })
    .meta({ id: 'Variable' }),
);

export const VariableInput = lazySchema(() =>
  z
    .object({
      key,
      value: value.describe('"" with `valueFrom`'),
      valueFrom: valueFrom
        .default(null)
        .describe(
          'Name of a secret that agents declare (`SERVICE_SECRET_…`): in each run its value at the location is the value of the variable. The service never sees it, and agents mask it',
        ),
      locked: z.boolean().default(false).describe('The value is not shown'),
      secret: z
        .boolean()
        .default(false)
        .describe('The value is never returned again, and agents mask it in everything they send'),
    })
    .meta({ id: 'VariableInput' }),
);

export const VariablePatch = lazySchema(() =>
  z
    .object({
      key: key.optional().describe('Immutable: omit it or repeat the current value'),
      value: value.optional().describe('"" keeps a hidden value'),
      valueFrom: valueFrom.optional().describe('null needs a `value`'),
      locked: z.boolean().optional(),
      secret: z.boolean().optional().describe('Once true, it stays true'),
    })
    .meta({ id: 'VariablePatch' }),
);

export const variableApi = defineResourceApi({
  noun: 'variable',
  order: 'by key',
  key,
  keyName: 'key',
  isKeyChosen: true,
  shown: Variable,
  input: VariableInput,
  patch: VariablePatch,
});
