import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

export const slotStates = ['QUEUED', 'LEASED', 'FINAL', 'MISSED', 'CANCELLED'] as const;

/** Why a slot ended without a measurement, and the remedy. */
export const slotReasons = {
  'no-agent': 'No agent of the location polled for work. Start one, or check its log.',
  'over-capacity':
    'The agents of the location were busy until the slot was no longer fresh. Add agents, raise JOB_CONCURRENCY, or check less often.',
  expired: 'The run waited too long in the queue.',
  'agent-lost': 'Two agents in a row vanished while they ran it. Look at their logs and memory.',
  unsupported: 'No agent of the location can run it: the type or its runtime is missing there.',
  'service-away':
    'The service was not running. Look at its log and its host; on PostgreSQL a second process takes over.',
  'paused-by-maintenance': 'A maintenance window pauses the check.',
  deactivated: 'The check or its group was switched off.',
  deleted: 'The check was deleted.',
  'location-removed': 'The check no longer runs at this location.',
  'location-deleted': 'The private location was deleted.',
} as const;
export type SlotReason = keyof typeof slotReasons;
/** The reason of slots that were deliberately not measured. */
export const pausedReason = 'paused-by-maintenance' satisfies SlotReason;
const reasonNames = Object.keys(slotReasons) as [SlotReason, ...SlotReason[]];

const SlotState = lazySchema(() =>
  z
    .enum(slotStates)
    .describe('FINAL: measured. MISSED, CANCELLED: never measured. QUEUED, LEASED: in progress'),
);

/** One due time of a check at one location, and its outcome. */
export const Slot = lazySchema(() =>
  z
    .object({
      id: z.string(),
      location: z.string().describe('The location of the slot'),
      scheduledAt: z.iso.datetime().describe('Due time'),
      slotCount: z
        .int()
        .min(1)
        .describe(
          'Number of consecutive slots in the record: more than 1 only for MISSED, from scheduledAt on',
        ),
      state: SlotState.schema,
      reason: z
        .string()
        .nullable()
        .describe(`For MISSED and CANCELLED: ${reasonNames.join(', ')}`),
      explanation: z.string().nullable().describe('Reason in words, with a remedy'),
      endedAt: z.iso
        .datetime()
        .nullable()
        .describe('When the record became terminal; null while in progress'),
      startDelayMs: z
        .number()
        .nullable()
        .describe('For FINAL: time from the due time to the start of the probe'),
      checkResultId: z.string().nullable().describe('For FINAL: the result'),
      verdict: z
        .enum(['PASSED', 'DEGRADED', 'FAILED', 'ERROR'])
        .nullable()
        .describe('For FINAL. ERROR: the monitoring failed, not the target'),
      responseTime: z.number().nullable().describe('For FINAL, in milliseconds'),
    })
    .meta({ id: 'Slot' }),
);
export type Slot = z.output<typeof Slot.schema>;

/** Number of slots by outcome; all but `due` add up to `due`. */
export const SlotCounts = lazySchema(() =>
  z
    .object({
      due: z.int(),
      final: z.int().describe('Measured'),
      missed: z.record(z.string(), z.int()).describe('Never measured, by reason'),
      cancelled: z.record(z.string(), z.int()).describe('Cancelled before they were measured, by reason'),
      onTheirWay: z.int().describe('Queued or leased'),
    })
    .meta({ id: 'SlotCounts' }),
);
export type SlotCounts = z.output<typeof SlotCounts.schema>;

const SlotWindow = {
  from: Timestamp.optional().describe('Slots due at or after it; default: 24 hours before `to`'),
  to: Timestamp.optional().describe('Slots due before it; default: now'),
};

export const slotRoutes = defineRoutes('Slots', 'account', {
  listCheckSlots: {
    method: 'GET',
    path: '/v1/checks/{id}/slots',
    summary:
      'All slots of a check and their outcomes, newest first: measured, missed with the reason, in progress',
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() =>
      z.object({
        ...CursorPaging,
        limit: z.coerce.number().int().min(1).max(1000).default(100).describe('Items per page'),
        ...SlotWindow,
        location: z
          .string()
          .min(1)
          .max(64)
          .optional()
          .describe('A region, or the slugName of a private location'),
        state: z.enum(slotStates).optional(),
        reason: z.enum(reasonNames).optional(),
      }),
    ),
    response: lazySchema(() => cursorPage(Slot.schema)),
  },
  countCheckSlots: {
    method: 'GET',
    path: '/v1/checks/{id}/slots/count',
    summary: 'Number of due slots of a check in a window, by outcome',
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() => z.object({ ...SlotWindow, location: z.string().min(1).max(64).optional() })),
    response: SlotCounts,
  },
  countLocationSlots: {
    method: 'GET',
    path: '/v1/private-locations/{id}/slots',
    summary: 'Number of due slots of all checks at a private location in a window, by outcome',
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() => z.object(SlotWindow)),
    response: SlotCounts,
  },
});
