import { z } from 'zod';

type Json = Record<string, unknown>;

/** The smallest valid body of a route, including rules that no schema expresses. */
export function minimalBody(route: { readonly operationId: string; readonly body?: z.ZodType }): unknown {
  if (!route.body) return undefined;
  const body = minimalOf(route.body);
  const isEither = route.operationId === 'updateAlertChannelSubscriptions';
  if (isEither) return { ...(body as object), checkId: guesses.uuid };
  if (/^(create|preview)StatusPage$/.test(route.operationId)) return { ...(body as object), cards: [] };
  if (route.operationId === 'createIncident') {
    return { ...(body as object), services: [{ id: guesses.uuid }] };
  }
  return route.operationId === 'updateMaintenance' ? { endsAt: '2030-01-01T00:00:00Z' } : body;
}

/** A valid query of a route, beginning with `?`; empty if it needs none. */
export function minimalQuery({ query }: { readonly query?: z.ZodObject }): string {
  if (!query || query.safeParse({}).success) return '';
  // JSON Schema expresses neither the names in a list nor the form of an instant.
  const texts = { metrics: 'availability', from: '0', to: '0' };
  const known = Object.entries(texts).filter(([name]) => name in query.shape);
  return `?${new URLSearchParams(known)}`;
}

/** The smallest valid value of a schema, derived from its JSON Schema; texts of special forms are guessed. */
export function minimalOf(schema: z.ZodType): unknown {
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Json;
  return build(document, (document.$defs ?? {}) as Record<string, Json>);
}

const guesses: Readonly<Record<string, string>> = {
  uuid: '00000000-0000-4000-8000-000000000000',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'a@example.com',
  uri: 'http://example.com',
};

function build(schema: Json, definitions: Record<string, Json>): unknown {
  if (typeof schema.$ref === 'string') {
    return build(definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {}, definitions);
  }
  const any = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (any?.[0]) return build(any[0], definitions);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case 'object': {
      const properties = (schema.properties ?? {}) as Record<string, Json>;
      const required = (schema.required ?? []) as string[];
      return Object.fromEntries(required.map((key) => [key, build(properties[key] ?? {}, definitions)]));
    }
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () =>
        build((schema.items ?? {}) as Json, definitions),
      );
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0);
    case 'boolean':
      return false;
    case 'string':
      return guesses[String(schema.format)] ?? 'x'.repeat(Math.max(1, Number(schema.minLength ?? 0)));
    default:
      return null;
  }
}
