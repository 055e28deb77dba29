import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import {
  definitionSchema,
  mergedInChecks,
  pascalName,
} from '@picket/checks/contract/definition/definition.ts';
import { checkTypeNames, checkTypes } from '@picket/checks/index.ts';
import { type LazySchema, lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { Paging, QueryBoolean } from '../http/query.ts';
import { alsoIn, created, defineRoute, defineRoutes, type Route, successful } from '../http/route.ts';
import { Warning } from '../http/warning.ts';
import { CheckState } from './check-state.ts';

const AlertChannels = lazySchema(() =>
  z
    .object({
      email: z.array(z.object({ address: z.string() })),
      webhook: z.array(
        z.object({
          url: z.string(),
          name: z.string(),
          method: z.string(),
          headers: z.array(z.object({ key: z.string(), value: z.string(), locked: z.boolean() })),
          queryParameters: z.array(z.object({ key: z.string(), value: z.string(), locked: z.boolean() })),
        }),
      ),
      slack: z.array(z.object({ url: z.string() })),
      sms: z.array(z.object({ number: z.string(), name: z.string() })),
    })
    .meta({ id: 'AlertChannels' }),
);

/** Fields that the service adds to a definition in responses. */
const ServiceFields = {
  id: z.uuid(),
  accountId: z.uuid(),
  frequencyOffset: z.int().min(1),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable(),
  alertChannels: AlertChannels.schema,
  ...ManagedFields,
  warnings: z
    .array(Warning)
    .describe(
      'Problems: why the check cannot run, fields without effect, and secrets that are not masked; empty if there are no problems',
    ),
  state: CheckState.schema,
  nextRunAt: z.iso
    .datetime()
    .nullable()
    .describe(
      'When the check is due next, as things are: a failure or a change may bring it forward. null: not scheduled',
    ),
};

/** Schema of a check of one type in API responses. Masked values (secret, locked, passwords) are shown as "". */
function checkView(type: CheckType) {
  return lazySchema(() =>
    z
      .object({
        ...CommonFields.shape,
        ...type.spec.shape,
        ...ServiceFields,
        checkType: z.literal(type.name),
      })
      .meta({ id: pascalName(type), description: type.title }),
  );
}

const checkViews = new Map(checkTypes.map((type) => [type, checkView(type)]));

/** A check of any type of this build, as lists show it. */
export const AnyCheck = lazySchema(() =>
  z
    .object({ ...CommonFields.shape, ...ServiceFields, checkType: z.enum(checkTypeNames) })
    .catchall(z.unknown()),
);

/** The same for the OpenAPI document: a program can derive the fields from `checkType`. */
export const DocumentedCheck = lazySchema(() => {
  const [first, ...others] = [...checkViews.values()].map(({ schema }) => schema);
  return first
    ? z.discriminatedUnion('checkType', [first, ...others]).meta({
        id: 'Check',
        description: 'A check: the fields of the type that checkType names',
        discriminator: { propertyName: 'checkType' },
      })
    : AnyCheck.schema;
});

const params = z.object({ id: z.uuid() });
const autoAssign = z.object({
  autoAssignAlerts: QueryBoolean.default(true).describe(
    'Whether a new check is subscribed to all existing alert channels',
  ),
});
const applyGroupSettings = QueryBoolean.default(false).describe(
  'Show the effective settings: the check merged with its group',
);
const includeDependencies = QueryBoolean.default(true).describe(
  'Show `dependencies`, the files next to the script of a check; they may be large',
);
export const unchangedSince = z.iso
  .datetime()
  .optional()
  .describe(
    'The updated_at that the client has read (created_at if null): 409 if the check has changed since then',
  );
const checkRoute = { tag: 'Checks', credential: 'account' } as const;

/** Fields that clients of comparable systems add to assertions for their own editors. */
export const ignoredInAssertions = ['order', 'edit', 'arrayIndex'] as const;
/** An older name of a channel setting. */
export const ignoredInAlertSettings = ['alertSettings.sslCertificates'] as const;
/** Only some types have `heartbeat` and `script`; clients send them for all types (check model 1.6). */
const ignoredFields = [
  'heartbeat',
  'script',
  'createdAt',
  'updatedAt',
  ...ignoredInAlertSettings,
  ...ignoredInAssertions.map((name) => `request.assertions.*.${name}`),
];

/** Fields of any type: the definition schema of `checkType` validates them. */
const AnyDefinition = lazySchema(() => z.looseObject({ checkType: z.enum(checkTypeNames) }));
const DocumentedDefinition = lazySchema(() => {
  const [first, ...others] = checkTypes.map((type) =>
    definitionSchema(type)
      .safeExtend({ checkType: z.literal(type.name) })
      .meta({
        id: `Any${pascalName(type)}Input`,
        description: `${type.title} with its checkType, in requests`,
      }),
  );
  return first
    ? z.discriminatedUnion('checkType', [first, ...others]).meta({
        id: 'CheckInput',
        description: 'A check of any type: the fields of the type that checkType names',
        discriminator: { propertyName: 'checkType' },
      })
    : AnyDefinition.schema;
});
const AnyPatch = lazySchema(() =>
  z.looseObject({}).meta({
    id: 'CheckPatch',
    description:
      'Any fields of the check; absent ones keep their value, fields of `request` and `alertSettings` too. A masked "" ' +
      'keeps the stored value. checkType cannot change',
  }),
);

/** The operations on checks of any type. */
const ofEveryType = defineRoutes('Checks', 'account', {
  listChecks: {
    method: 'GET',
    path: '/v1/checks',
    summary: 'Checks of the account, newest first',
    query: lazySchema(() =>
      z.object({
        ...Paging,
        tag: z
          .union([z.string().min(1), z.array(z.string().min(1))])
          .optional()
          .describe('Checks with any of these tags'),
        checkType: z.enum(checkTypeNames).optional(),
        search: z.string().max(255).optional().describe('Part of the name, case-insensitive'),
        status: z
          .enum(['passing', 'failing', 'degraded'])
          .optional()
          .describe('State of the check; failing includes not-judged'),
        state: CheckState.schema.optional(),
        apiCheckUrlFilterPattern: z.string().max(2048).optional().describe('Part of the URL of the request'),
        applyGroupSettings,
      }),
    ),
    response: lazySchema(() => z.array(AnyCheck.schema)),
    documentedResponse: lazySchema(() => z.array(DocumentedCheck.schema)),
  },
  createCheck: {
    method: 'POST',
    path: '/v1/checks',
    ignoredFields,
    otherErrors: [409],
    summary: 'Create a check of any type',
    query: autoAssign,
    body: AnyDefinition,
    documentedBody: DocumentedDefinition,
    success: created,
    response: AnyCheck,
    documentedResponse: DocumentedCheck,
  },
  getCheck: {
    method: 'GET',
    path: '/v1/checks/{id}',
    summary: 'One check',
    params,
    query: z.object({ applyGroupSettings, includeDependencies }),
    response: AnyCheck,
    documentedResponse: DocumentedCheck,
  },
  updateCheck: {
    method: 'PUT',
    path: '/v1/checks/{id}',
    ignoredFields,
    otherErrors: [409],
    summary: 'Change a check; absent fields keep their value',
    params,
    query: autoAssign.extend({ unchangedSince }),
    body: AnyPatch,
    response: AnyCheck,
    documentedResponse: DocumentedCheck,
  },
  deleteCheck: {
    method: 'DELETE',
    path: '/v1/checks/{id}',
    summary: 'Delete a check and its results',
    params,
  },
});

export const checkRoutes = alsoIn(['v2', 'v3'], ofEveryType);

/** The typed routes of one check type: create and update. Their bodies list each field for the OpenAPI document. */
function typedRoutesOf(
  type: CheckType,
  view: LazySchema<z.ZodObject>,
): { readonly create: Route; readonly update: Route } {
  const pascal = pascalName(type);
  return alsoIn(['v2', 'v3'], {
    create: defineRoute({
      ...checkRoute,
      method: 'POST',
      path: `/v1/checks/${type.route}`,
      operationId: `create${pascal}`,
      ignoredFields,
      ...(type.pings ? { otherErrors: [409] } : {}),
      summary: `Create a check: ${type.title}`,
      query: autoAssign,
      body: lazySchema(() => definitionSchema(type)),
      success: created,
      response: view,
    }),
    update: defineRoute({
      ...checkRoute,
      method: 'PUT',
      path: `/v1/checks/${type.route}/{id}`,
      operationId: `update${pascal}`,
      ignoredFields,
      ...(type.pings ? { otherErrors: [409] } : {}),
      summary: `Change a check: ${type.title}; absent fields keep their value`,
      params,
      query: autoAssign,
      // Loose, because the definition after merging is validated; the document shows the fields.
      body: z.looseObject({}),
      documentedBody: lazySchema(() =>
        z
          .object({
            ...patchOf({ ...CommonFields.shape, ...type.spec.shape }).shape,
            ...type.requiredOnUpdate?.shape,
          })
          .meta({
            id: `${pascal}Patch`,
            description: `Any fields of ${pascal}Input; absent ones keep their value, fields of \`request\` and \`alertSettings\` too`,
          }),
      ),
      success: successful,
      response: view,
    }),
  });
}

/** Schema of a partial update of a definition: no field is required, and none has a default. */
function patchOf(shape: Readonly<Record<string, unknown>>): z.ZodObject {
  const fields = Object.entries(shape).map(([name, field]) => {
    const bare = withoutDefault(field as z.ZodType);
    const isMerged = name !== 'alertSettings' && isMergedKey(name) && bare instanceof z.ZodObject;
    return [name, (isMerged ? patchOf(bare.shape) : bare).optional()];
  });
  return z.object(Object.fromEntries(fields));
}

function isMergedKey(name: string): boolean {
  return (mergedInChecks as readonly string[]).includes(name);
}

function withoutDefault(field: z.ZodType): z.ZodType {
  const isDefaulted = field instanceof z.ZodDefault || field instanceof z.ZodPrefault;
  const inner = isDefaulted || field instanceof z.ZodOptional ? (field.unwrap() as z.ZodType) : undefined;
  if (!inner) return field;
  const bare = withoutDefault(inner);
  return field.description === undefined || bare.meta()?.id !== undefined
    ? bare
    : bare.describe(field.description);
}

/** The typed routes of each check type, by its name. */
export const typedCheckRoutes = new Map(
  [...checkViews].map(([type, view]) => [type.name, typedRoutesOf(type, view)]),
);
