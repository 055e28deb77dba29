import { z } from 'zod';
import { Paging, QueryBoolean } from '../http/query.ts';
import { defineRoute, successful } from '../http/route.ts';

const DateTime = z.iso.datetime();

const kind = z
  .string()
  .describe(
    'What the members share: location, resolver, hop, address, host, certificate, egress, parent; check where nothing',
  );
const evidence = z.string().describe('Which one: an address, a host, a location, …');
const reason = z.string().describe('Why they are taken as one, in one sentence');

/** What an alert shows of its cause. */
export const CauseOfAlert = z
  .object({ id: z.string(), kind, evidence, reason, memberCount: z.int() })
  .meta({ id: 'CauseOfAlert' });
export type CauseOfAlert = z.output<typeof CauseOfAlert>;

const AlertCauseMember = z.object({
  checkId: z.string(),
  checkName: z.string(),
  checkAlertId: z.string(),
  since: DateTime.describe('The first slot since it last passed'),
  joinedAt: DateTime,
  recoveredAt: DateTime.nullable().describe('null while it fails'),
});

export const AlertCause = z
  .object({
    ...CauseOfAlert.shape,
    recoveredCount: z.int().describe('Members that have recovered'),
    startedAt: DateTime.describe('When the first member began to fail'),
    openedAt: DateTime,
    closedAt: DateTime.nullable().describe('When all members had recovered; null while it is open'),
    isLocationsOwn: z
      .boolean()
      .describe('True when an unhealthy location explains it: its own alert is the notification'),
    members: z.array(AlertCauseMember).describe('The checks that fail by it, and those that have recovered'),
  })
  .meta({ id: 'AlertCause' });
export type AlertCause = z.output<typeof AlertCause>;

const causeRoute = { tag: 'Alerts', credential: 'account' } as const;

export const alertCauseRoutes = {
  listAlertCauses: defineRoute({
    ...causeRoute,
    method: 'GET',
    path: '/v1/alert-causes',
    operationId: 'listAlertCauses',
    summary: 'What checks fail by: causes with the checks that fail by them, newest first',
    query: z.object({
      ...Paging,
      isOpen: QueryBoolean.optional().describe('Only those that are open, or only those that are over'),
    }),
    success: successful,
    response: z.array(AlertCause),
  }),
  getAlertCause: defineRoute({
    ...causeRoute,
    method: 'GET',
    path: '/v1/alert-causes/{id}',
    operationId: 'getAlertCause',
    summary: 'One cause with the checks that fail by it',
    params: z.object({ id: z.uuid() }),
    success: successful,
    response: AlertCause,
  }),
};
