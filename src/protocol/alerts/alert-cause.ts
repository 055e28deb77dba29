import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging, QueryBoolean } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const kind = z
  .string()
  .describe(
    'The common property of the members: location, resolver, hop, address, host, certificate, egress, parent; check: nothing',
  );
const evidence = z.string().describe('Value of that property: an address, a host, a location, …');
const reason = z.string().describe('Why the checks share a cause, in one sentence');

/** Cause of an alert, as an alert shows it. */
export const CauseOfAlert = lazySchema(() =>
  z.object({ id: z.string(), kind, evidence, reason, memberCount: z.int() }).meta({ id: 'CauseOfAlert' }),
);
export type CauseOfAlert = z.output<typeof CauseOfAlert.schema>;

const AlertCauseMember = lazySchema(() =>
  z.object({
    checkId: z.string(),
    checkName: z.string(),
    checkAlertId: z.string(),
    since: DateTime.schema.describe('Due time of the first failed slot since the check last passed'),
    joinedAt: DateTime.schema,
    recoveredAt: DateTime.schema.nullable().describe('null while the check fails'),
  }),
);

export const AlertCause = lazySchema(() =>
  z
    .object({
      ...CauseOfAlert.shape,
      recoveredCount: z.int().describe('Members that have recovered'),
      startedAt: DateTime.schema.describe('When the first member began to fail'),
      openedAt: DateTime.schema,
      closedAt: DateTime.schema.nullable().describe('When all members had recovered; null while it is open'),
      isLocationsOwn: z
        .boolean()
        .describe("True if an unhealthy location explains the failures: only the location's alert is sent"),
      members: z
        .array(AlertCauseMember.schema)
        .describe('Checks that fail for this cause, and those that have recovered'),
    })
    .meta({ id: 'AlertCause' }),
);
export type AlertCause = z.output<typeof AlertCause.schema>;

export const alertCauseRoutes = defineRoutes('Alerts', 'account', {
  listAlertCauses: {
    method: 'GET',
    path: '/v1/alert-causes',
    summary: 'Causes of failing checks, each with its checks, newest first',
    query: lazySchema(() =>
      z.object({
        ...Paging,
        isOpen: QueryBoolean.optional().describe('true: only open causes; false: only resolved ones'),
      }),
    ),
    response: lazySchema(() => z.array(AlertCause.schema)),
  },
  getAlertCause: {
    method: 'GET',
    path: '/v1/alert-causes/{id}',
    summary: 'One cause with its failing checks',
    params: z.object({ id: z.uuid() }),
    response: AlertCause,
  },
});
