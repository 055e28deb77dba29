import { createHash } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError, findUnstorable, validationError } from '@picket/platform/http/validation.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import {
  AgentErrorEvent,
  type AgentErrorFrame,
  agentErrorRoutes,
} from '@picket/protocol/agent/agent-error.ts';
import type { AgentErrorRow } from '../tables.ts';

const stackOf = storedValue<readonly AgentErrorFrame[]>('agent_errors.stack', []);

/** Routes of errors that agents report about themselves. */
export function agentErrorHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(agentErrorRoutes, {
    async reportAgentError({ caller, body }) {
      const event = eventOf(body);
      const [exception] = event.exception.values.slice(-1);
      if (!exception) throw new Error('an event has an exception');
      const now = clock.wallMs();
      const { frames } = exception.stacktrace;
      await store.agentErrors.record({
        id: event.event_id,
        location_id: caller.id,
        fingerprint: fingerprintOf(exception.type, exception.value, frames),
        type: exception.type,
        message: exception.value,
        level: event.level,
        stack: JSON.stringify(frames),
        agent_version: event.release,
        platform: event.contexts.os.name,
        runtime: `${event.contexts.runtime.name} ${event.contexts.runtime.version}`,
        count: 1,
        first_seen: now,
        last_seen: now,
      });
      return { id: event.event_id };
    },
    async listAgentErrors({ caller, params, query, request, reply }) {
      if (!(await store.locations.find(caller.accountId, params.id))) {
        throw new AppError('NOT_FOUND', `There is no private location ${params.id}.`);
      }
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.agentErrors.list(params.id, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map(view);
    },
  });
}

/**
 * First event of an envelope: lines of JSON, a header followed by pairs of an item's header and its content.
 *
 * @throws AppError VALIDATION_FAILED if it has no event, or if the event lacks fields that an agent must send.
 */
function eventOf(envelope: string): AgentErrorEvent {
  const lines = envelope.split('\n');
  const at = lines.findIndex((line, index) => index > 0 && /"type"\s*:\s*"event"/.test(line.slice(0, 500)));
  const parsed = AgentErrorEvent.safeParse(at < 0 ? undefined : json(lines[at + 1]));
  if (!parsed.success) throw validationError('payload', parsed.error.issues);
  const key = findUnstorable(parsed.data);
  if (key !== null) {
    throw fieldError('payload', [
      { key, message: 'must not contain a NUL character or an unpaired surrogate' },
    ]);
  }
  return parsed.data;
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** Errors of one kind have the same origin: only the numbers in their messages differ. */
function fingerprintOf(type: string, message: string, frames: readonly AgentErrorFrame[]): string {
  // The call path differs between occurrences, and line numbers differ between versions.
  const innermost = frames.at(-1);
  const place = innermost ? `${innermost.filename} ${innermost.function}` : '';
  const text = [type, message.replaceAll(/\d+/g, '0'), place].join('\n');
  return createHash('sha256').update(text).digest('hex');
}

function view(row: AgentErrorRow) {
  return {
    id: row.id,
    type: row.type,
    message: row.message,
    level: row.level,
    stack: [...stackOf(row.stack)],
    agentVersion: row.agent_version,
    platform: row.platform,
    runtime: row.runtime,
    count: row.count,
    firstSeenAt: new Date(row.first_seen).toISOString(),
    lastSeenAt: new Date(row.last_seen).toISOString(),
  };
}
