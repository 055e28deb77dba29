import type { z } from 'zod';
import { findCheckType } from '../../src/checks/index.ts';

/** A detail of a type with the given fields; all others are neutral: null, an empty list, an empty text. */
export function wholeDetail(typeName: string, fields: unknown): unknown {
  const type = findCheckType(typeName);
  if (!type) throw new Error(`there is no check type ${typeName}`);
  return filled(type.detail, fields);
}

function filled(schema: z.core.$ZodType, value: unknown): unknown {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
      return Object.fromEntries(
        Object.entries(def.shape).map(([key, field]) => [key, filled(field, given[key])]),
      );
    }
    case 'array':
      return Array.isArray(value) ? value.map((one) => filled(def.element, one)) : (value ?? []);
    case 'nullable':
      return value === undefined || value === null ? null : filled(def.innerType, value);
    case 'optional':
    case 'default':
      return value === undefined ? undefined : filled(def.innerType, value);
    case 'string':
      return value ?? '';
    case 'number':
      return value ?? 0;
    case 'boolean':
      return value ?? false;
    case 'record':
      return value ?? {};
    case 'enum':
      return value ?? Object.values(def.entries)[0];
    case 'union':
      return value ?? '';
    default:
      return value;
  }
}
