import { HeartbeatDetail } from '@picket/checks/heartbeat/check.ts';
import { noteStates } from '@picket/checks/heartbeat/spec.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { CallRequest } from '@picket/platform/feature/exchange.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { heartbeatRoutes } from '@picket/protocol/checks/heartbeat.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import type { KeptBody } from '@picket/protocol/http/route.ts';
import { Heartbeats } from './heartbeats.ts';
import { maxMessageLength, type Ping } from './signals.ts';
import type { EventCount } from './store.ts';
import type { HeartbeatEventRow } from './tables.ts';
import { scheduleOf, timesAfter } from './timer.ts';

const dayMs = 86_400_000;
const detailOf = storedValue<object>('results.detail', {});

interface PingCall {
  readonly params: { readonly pingToken: string; readonly signal?: string };
  readonly query: {
    readonly status?: 'up' | 'down' | undefined;
    readonly msg: string;
    readonly ping?: number | undefined;
    readonly rid?: string | undefined;
  };
  readonly body?: KeptBody | undefined;
  readonly request: CallRequest;
}

/** Routes of heartbeats: the pings of jobs, and the resulting events. */
export function heartbeatHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store, clock } = deps;
  const heartbeats = new Heartbeats({ store, clock });
  const checkOf = async (accountId: string, checkId: string): Promise<string> => {
    const check = await store.checks.find(accountId, checkId);
    const timer = check && (await store.heartbeats.find(check.id));
    if (!timer) throw new AppError('NOT_FOUND', `There is no heartbeat monitor ${checkId}.`);
    return timer.check_id;
  };
  const statsOf = async (checkId: string) => {
    const now = clock.wallMs() + 1;
    const period = async (lengthMs: number) => {
      const current = await store.heartbeats.countEvents(checkId, now - lengthMs, now);
      const previous = await store.heartbeats.countEvents(checkId, now - 2 * lengthMs, now - lengthMs);
      return {
        successRatio: { previousPeriod: successRatio(previous), currentPeriod: successRatio(current) },
        totalEntitiesCurrentPeriod: current.total,
      };
    };
    return { last24Hours: await period(dayMs), last7Days: await period(7 * dayMs) };
  };
  /** An event as the API shows it. The body of a ping with a result is in its detail. */
  const viewOf = async (row: HeartbeatEventRow) => {
    const isNote = noteStates.some((state) => state === row.state);
    const result = isNote || row.signal === null ? undefined : await store.results.find(row.check_id, row.id);
    const detail = HeartbeatDetail.safeParse(detailOf(result?.detail ?? '{}')).data;
    return { ...eventView(row), body: row.body ?? detail?.body ?? null };
  };
  const ping = async (call: PingCall) => {
    await heartbeats.ping(call.params.pingToken, pingOf(call, deps.publicUrl));
    return {};
  };
  return handlersById(heartbeatRoutes, {
    async listHeartbeatEvents({ caller, params, query }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const events = await store.heartbeats.events(checkId, windowOf(query, clock.wallMs()), {
        limit: query.limit,
        offset: pageOffset(query),
      });
      const shown = query.includeBodies ? await Promise.all(events.map(viewOf)) : events.map(eventView);
      return [{ events: shown, stats: await statsOf(checkId) }];
    },
    async getHeartbeatEvent({ caller, params }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const event = await store.heartbeats.findEvent(checkId, params.id);
      if (!event) throw new AppError('NOT_FOUND', `The monitor has no event ${params.id}.`);
      return { event: await viewOf(event), stats: await statsOf(checkId) };
    },
    async getHeartbeatAvailability({ caller, params, query }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const { from, to } = windowOf(query, clock.wallMs());
      const count = await store.heartbeats.countEvents(checkId, from, to);
      return { successRatio: successRatio(count), totalEntitiesCurrentPeriod: count.total };
    },
    async listJobRuns({ caller, params }) {
      const runs = await store.jobRuns.open(await checkOf(caller.accountId, params.checkId));
      return runs.map((run) => ({
        runId: run.run_id === '' ? null : run.run_id,
        startedAt: iso(run.started_at),
        mustEndBy: optionalIso(run.deadline_at),
      }));
    },
    async getHeartbeatTimer({ caller, params }) {
      const timer = await store.heartbeats.find(await checkOf(caller.accountId, params.checkId));
      const schedule = timer ? scheduleOf(timer) : null;
      return {
        lastAt: optionalIso(timer?.last_at ?? null),
        expectedAt: optionalIso(timer?.expected_at ?? null),
        failsAt: optionalIso(timer?.deadline_at ?? null),
        nextTimes: schedule ? timesAfter(schedule, clock.wallMs(), 10).map(iso) : [],
      };
    },
    ping,
    pingByPost: ping,
    signal: ping,
    signalByPost: ping,
  });
}

/** Window of a query; without an end it ends slightly after now, so that nothing is cut off. */
function windowOf(
  query: { readonly startTime?: string | undefined; readonly endTime?: string | undefined },
  now: number,
): { from: number; to: number } {
  const to = query.endTime === undefined ? now + 1 : (parseTimestamp(query.endTime) ?? now);
  const from = query.startTime === undefined ? to - dayMs : (parseTimestamp(query.startTime) ?? to - dayMs);
  if (to < from) throw fieldError('query', [{ key: 'endTime', message: 'must not be before "startTime"' }]);
  return { from, to };
}

/** Share of events that are not failures, in percent with two decimal places; null without events. */
function successRatio({ total, failing }: EventCount): number | null {
  return total === 0 ? null : Math.round(((total - failing) / total) * 10_000) / 100;
}

function eventView(row: HeartbeatEventRow) {
  return {
    id: row.id,
    state: row.state,
    timestamp: iso(row.created),
    source: row.source,
    userAgent: row.user_agent,
    signal: row.signal,
    runId: row.run_id,
    exitCode: row.exit_code,
    durationMs: row.duration_ms,
    message: row.message,
    otherRuns: row.other_runs,
    body: null,
    isBodyCut: row.is_body_cut === 1,
  };
}

const maxSourceLength = 300;
const maxUserAgentLength = 512;

/** A ping as it arrived. */
function pingOf({ params, query, body, request }: PingCall, publicUrl: string | undefined): Ping {
  const { status, msg, ping: durationMs = null, rid: runId = null } = query;
  if (params.signal !== undefined && status !== undefined) {
    const message = `must not be given in addition to /${params.signal} at the end of the URL`;
    throw fieldError('query', [{ key: 'status', message }]);
  }
  return {
    ...senderOf(request, publicUrl),
    ending: params.signal,
    status,
    message: printable(msg).trim().slice(0, maxMessageLength).toWellFormed(),
    body: body ? bodyText(body) : null,
    isBodyCut: body?.isCut === true,
    runId,
    durationMs,
  };
}

/** Sender of a ping in a few words, such as "HTTPS GET from curl". Header values are only displayed. */
function senderOf(request: CallRequest, publicUrl: string | undefined): Pick<Ping, 'source' | 'userAgent'> {
  const { origin, referer, 'user-agent': agent } = request.headers;
  const userAgent = agent === undefined ? null : printable(agent).slice(0, maxUserAgentLength);
  const from = origin ?? referer ?? userAgent?.split(/[/ ]/, 1)[0];
  const scheme = publicUrl?.startsWith('https:') ? 'HTTPS' : request.protocol.toUpperCase();
  const what = `${scheme} ${request.method}`;
  const source = from ? `${what} from ${printable(from)}` : what;
  return { source: source.slice(0, maxSourceLength), userAgent };
}

/** A body as text; control characters except those of lines are not stored, and a character that was cut neither. */
function bodyText({ bytes }: KeptBody): string {
  const text = new TextDecoder().decode(bytes, { stream: true });
  return text.replaceAll(/[^\P{C}\n\r\t]/gu, '');
}

/** Headers may contain any bytes; control characters are not stored. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '');
}
