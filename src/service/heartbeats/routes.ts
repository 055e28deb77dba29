import { AppError } from '@picket/lib/errors.ts';
import type { CallRequest } from '@picket/platform/feature/exchange.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { heartbeatRoutes } from '@picket/protocol/checks/heartbeat.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { Heartbeats, type Ping } from './heartbeats.ts';
import type { EventCount } from './store.ts';
import type { HeartbeatEventRow } from './tables.ts';

const dayMs = 86_400_000;
const maxMessageLength = 500;

interface PingCall {
  readonly params: { readonly pingToken: string };
  readonly query: { readonly status: 'up' | 'down'; readonly msg: string };
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
  const ping = async ({ params, query, request }: PingCall) => {
    const failure = query.status === 'down' ? printable(query.msg).trim().slice(0, maxMessageLength) : null;
    await heartbeats.ping(params.pingToken, { ...pingOf(request, deps.publicUrl), failure });
    return {};
  };
  return handlersById(heartbeatRoutes, {
    async listHeartbeatEvents({ caller, params, query }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const events = await store.heartbeats.events(checkId, windowOf(query, clock.wallMs()), {
        limit: query.limit,
        offset: pageOffset(query),
      });
      return [{ events: events.map(eventView), stats: await statsOf(checkId) }];
    },
    async getHeartbeatEvent({ caller, params }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const event = await store.heartbeats.findEvent(checkId, params.id);
      if (!event) throw new AppError('NOT_FOUND', `The monitor has no event ${params.id}.`);
      return { event: eventView(event), stats: await statsOf(checkId) };
    },
    async getHeartbeatAvailability({ caller, params, query }) {
      const checkId = await checkOf(caller.accountId, params.checkId);
      const { from, to } = windowOf(query, clock.wallMs());
      const count = await store.heartbeats.countEvents(checkId, from, to);
      return { successRatio: successRatio(count), totalEntitiesCurrentPeriod: count.total };
    },
    ping,
    pingByPost: ping,
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
    timestamp: new Date(row.created).toISOString(),
    source: row.source,
    userAgent: row.user_agent,
  };
}

const maxSourceLength = 300;
const maxUserAgentLength = 512;

/** Sender of a ping in a few words, such as "HTTPS GET from curl". Header values are only displayed. */
function pingOf(request: CallRequest, publicUrl: string | undefined): Omit<Ping, 'failure'> {
  const { origin, referer, 'user-agent': agent } = request.headers;
  const userAgent = agent === undefined ? null : printable(agent).slice(0, maxUserAgentLength);
  const from = origin ?? referer ?? userAgent?.split(/[/ ]/, 1)[0];
  const scheme = publicUrl?.startsWith('https:') ? 'HTTPS' : request.protocol.toUpperCase();
  const what = `${scheme} ${request.method}`;
  const source = from ? `${what} from ${printable(from)}` : what;
  return { source: source.slice(0, maxSourceLength), userAgent };
}

/** Headers may contain any bytes; control characters are not stored. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '');
}
