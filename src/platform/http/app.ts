import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '@picket/lib/errors.ts';
import { askedBy, callerGone } from '@picket/lib/turns/asker.ts';
import type { Turn } from '@picket/lib/turns/fair-queue.ts';
import { pathsOf, type Route } from '@picket/protocol/http/route.ts';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RequestPayload,
} from 'fastify';
import type { z } from 'zod';
import { successOf } from '../feature/exchange.ts';
import { type AnyHandler, baseUrlOf, type Call, type HandlerDeps } from '../feature/handler.ts';
import { encodeAnswer, type OddAnswer } from './answer-encoding.ts';
import { authenticate, type Caller } from './auth.ts';
import { BodyRoom } from './bodies/body-room.ts';
import { refuseEncodedUpload, unpackedBody } from './bodies/compressed-body.ts';
import { keptBody } from './bodies/kept-body.ts';
import {
  enterRoom,
  largestBody,
  limitReading,
  limitSending,
  requestTimeoutMs,
  smallBodyBytes,
} from './bodies/limits.ts';
import { RawTransfers } from './bodies/raw-transfers.ts';
import { CallerTurns, turnKeyOf } from './connections/caller-turns.ts';
import { endConnectionsOnClose } from './connections/closing.ts';
import { answerErrors, badRequestLine } from './errors.ts';
import { heedsKeys, Idempotency, refuseKeyOfUpload } from './idempotency/idempotency.ts';
import { RateLimits } from './limits.ts';
import { buildOpenApi } from './openapi.ts';
import { parseQuery } from './query-string.ts';
import { logRequest } from './request-log.ts';
import { validated } from './validated.ts';

export interface AppDeps extends Pick<HandlerDeps, 'store' | 'clock' | 'logger' | 'publicUrl'> {
  /** Every operation, in the order of the reference. */
  readonly routes: readonly Route[];
  /** The handler of every operation, by operationId. */
  readonly handlers: ReadonlyMap<string, AnyHandler>;
  /** Whether new work is accepted; false while shutting down. */
  readonly isReady: () => boolean;
  /** Source of reports and charts. */
  readonly analytics?: { problem(): string | null };
  /** Request limit per caller and minute; 0 or absent: no rate limits. */
  readonly requestsPerMinute?: number;
  /** How long a client may stall while receiving a response. */
  readonly readerTimeoutMs?: number;
  /** Returns the reason why a request is refused at its host, or undefined. */
  readonly refuses?: (request: FastifyRequest) => string | undefined;
  /** Whether a request becomes a connection of another kind; other upgrade requests are ignored. */
  readonly upgrades?: (request: IncomingMessage) => boolean;
  /** Called for responses that violate their schema. */
  readonly onOddAnswer?: (odd: OddAnswer) => void;
  /** Addresses of proxies trusted to report the origin of a request. */
  readonly trustedProxies?: readonly string[];
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
  interface FastifyInstance {
    /** Dependencies of operations that requests call internally, the same as over HTTP. */
    inside: Pick<AppDeps, 'handlers' | 'logger' | 'onOddAnswer'> & {
      readonly limits: RateLimits | undefined;
    };
  }
}

/** Artifacts may be large and connections slow, so they have a longer timeout. */
const rawRequestTimeoutMs = 30 * 60_000;
const stalledReaderMs = 30_000;

/** Builds the HTTP API without listening: every route of the table with its handler, and the operators' probes. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = Fastify({
    // The framework's own lines (a request began, a server listens) would only repeat ours.
    loggerInstance: deps.logger.child({}, { level: warnOrAbove(deps.logger.level) }) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: 1024 * 1024,
    // Node's own limit applies to all routes alike; `limitSending` enforces that of routes with a JSON body.
    requestTimeout: rawRequestTimeoutMs,
    http: { headersTimeout: requestTimeoutMs, shouldUpgradeCallback: deps.upgrades ?? (() => false) },
    keepAliveTimeout: 75_000,
    // Clients that build paths from parts leave a trailing slash.
    routerOptions: { querystringParser: parseQuery, ignoreTrailingSlash: true },
    onProtoPoisoning: 'remove',
    onConstructorPoisoning: 'remove',
    clientErrorHandler: badRequestLine,
    return503OnClosing: true,
    trustProxy: deps.trustedProxies?.length ? [...deps.trustedProxies] : false,
    // Values are validated below, and responses have our own compiler; without these factories, the framework would
    // load its own compilers, which takes a tenth of a second.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
  });
  // Bodies are JSON unless a route declares another type.
  app.removeContentTypeParser('text/plain');
  acceptEmptyBodies(app);
  for (const contentType of new Set(deps.routes.flatMap((route) => route.bodyContentType ?? []))) {
    app.addContentTypeParser(contentType, { parseAs: 'string' }, (_request, body, done) => done(null, body));
  }
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    const refusal = deps.refuses?.(request);
    if (refusal !== undefined) return reply.code(404).type('text/plain').send(refusal);
  });
  endConnectionsOnClose(app);
  app.decorate('callerTurns', new CallerTurns(app));
  answerErrors(app, deps.routes);
  app.setSerializerCompiler<AnswerSchema>(({ schema, url: route }) => (data) => {
    return encodeAnswer(schema.answers.response, data, (where) => deps.onOddAnswer?.({ route, where }));
  });
  const transfers = new RawTransfers(app);
  const room = new BodyRoom();
  const idempotency = new Idempotency(deps);
  app.addHook('onSend', async (request) =>
    limitReading(request.raw, deps.readerTimeoutMs ?? stalledReaderMs),
  );
  const limits = deps.requestsPerMinute ? new RateLimits(deps.clock, deps.requestsPerMinute) : undefined;
  const { handlers, logger, onOddAnswer } = deps;
  app.decorate('inside', { handlers, logger, limits, ...(onOddAnswer ? { onOddAnswer } : {}) });
  const addRoutes = (instance: FastifyInstance, bodyKind: ReturnType<typeof bodyKindOf>) => {
    for (const route of deps.routes.filter((one) => bodyKindOf(one) === bodyKind)) {
      const handler = deps.handlers.get(route.operationId);
      if (!handler) throw new Error(`no handler for ${route.operationId} (${route.method} ${route.path})`);
      addRoute(instance, route, { handler, deps, transfers, limits, room, idempotency });
    }
  };
  addRoutes(app, 'json');
  await app.register(async (raw) => {
    raw.removeAllContentTypeParsers();
    raw.addContentTypeParser('*', (_request, body, done) => done(null, body));
    addRoutes(raw, 'raw');
  });
  await app.register(async (keeping) => {
    keeping.removeAllContentTypeParsers();
    keeping.addContentTypeParser('*', async (request: FastifyRequest, body: RequestPayload) =>
      keptBody(body, request.routeOptions.config.keptBodyBytes ?? 0),
    );
    addRoutes(keeping, 'kept');
  });
  addProbes(app, deps);
  return app;
}

function noCompiler(): never {
  throw new Error('every route uses the compilers of this service');
}

/** How the bodies of a route are treated. */
function bodyKindOf(route: Route): 'json' | 'raw' | 'kept' {
  if (route.keptBodyBytes !== undefined) return 'kept';
  return route.isBodyRaw ? 'raw' : 'json';
}

/** Some clients always send a `Content-Type`, even without a body. The type of an empty body is irrelevant. */
function acceptEmptyBodies(app: FastifyInstance): void {
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(body.length === 0 ? null : notJson(), undefined);
  });
  const parse = app.getDefaultJsonParser('remove', 'remove');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else parse(request, String(body), done);
  });
}

/** Wraps a response schema for Fastify, so that it is not mistaken for JSON Schema. It is made for the first response. */
interface AnswerSchema {
  readonly answers: { readonly response: z.ZodType };
}

interface RouteParts {
  readonly handler: AnyHandler;
  readonly deps: AppDeps;
  readonly transfers: RawTransfers;
  readonly limits: RateLimits | undefined;
  readonly room: BodyRoom;
  readonly idempotency: Idempotency;
}

function addRoute(
  app: FastifyInstance,
  route: Route,
  { handler, deps, transfers, limits, room, idempotency }: RouteParts,
): void {
  const schema =
    'response' in route && !route.responseContentType
      ? { response: { [route.success.statusCode]: { answers: route } } }
      : {};
  const urls = pathsOf(route).map((path) =>
    (route.hasPathTail ? path.replace(/\{\w+\}$/, '*') : path).replaceAll(/\{(\w+)\}/g, ':$1'),
  );
  for (const url of urls)
    app.route({
      method: route.method,
      url,
      schema,
      ...(route.bodyLimitBytes === undefined ? {} : { bodyLimit: route.bodyLimitBytes }),
      ...(route.keptBodyBytes === undefined ? {} : { config: { keptBodyBytes: route.keptBodyBytes } }),
      onRequest: async (request, reply) => {
        if (route.isBodyRaw || route.isResponseRaw) transfers.add(request, reply);
        nameTail(route, request);
        request.caller = await authenticate(deps, route, request);
        app.callerTurns.know(request, request.caller);
        limits?.spend(route, request, reply);
        refuseKeyOfUpload(route, request);
        refuseEncodedUpload(route, request.headers);
        if (!route.isBodyRaw && largestBody(route, request.raw) > smallBodyBytes) {
          await enterRoom(room, route, request, reply);
        }
        if (!route.isBodyRaw) limitSending(request.raw);
      },
      ...(bodyKindOf(route) !== 'raw'
        ? {
            preParsing: async (request: FastifyRequest, reply: FastifyReply, body: RequestPayload) =>
              unpackedBody(request.headers, body, reply.raw),
          }
        : {}),
      ...(heedsKeys(route)
        ? {
            preHandler: async (request: FastifyRequest, reply: FastifyReply) =>
              idempotency.begin(route, request, reply),
            onSend: async (request: FastifyRequest, reply: FastifyReply, payload: unknown) =>
              idempotency.end(request, reply, payload),
          }
        : {}),
      preValidation: async (request) => {
        if (heedsKeys(route)) idempotency.look(request);
        // Body types of other routes are not accepted on this one.
        if (typeof request.body === 'string' && !route.bodyContentType && !isJsonSent(request)) {
          if (request.body !== '') throw notJson();
          request.body = undefined;
        }
        Object.assign(request, validated(route, request));
      },
      onResponse: async (request, reply) => logRequest(deps.logger, route, request, reply),
      handler: async (request, reply) => {
        const { caller } = request;
        const call = {
          params: request.params,
          query: request.query,
          body: request.body,
          caller:
            caller.kind === 'account' ? caller.account : caller.kind === 'location' ? caller.location : null,
          request,
          reply,
        } as unknown as Call;
        const runOnce = () => idempotency.runOnce(request, () => handler(call));
        const answer = await askedBy(askerOf(caller, request, reply), runOnce).catch((thrown) => {
          if (route.limitedBy !== undefined && isNotFound(thrown))
            limits?.spendUnknown(route, request, reply);
          throw thrown;
        });
        if (route.isResponseRaw || reply.sent) return reply;
        reply.code(successOf(route, reply.statusCode));
        if (route.responseContentType) reply.type(route.responseContentType);
        if ('response' in route) return answer;
        return reply.send();
      },
    });
}

/** Returns the queue of a request, with a signal that aborts once its response is no longer needed. */
function askerOf(caller: Caller, request: FastifyRequest, reply: FastifyReply): Turn {
  const key = turnKeyOf(caller, request);
  return caller.kind === 'account' ? { key, gone: callerGone(reply) } : { key };
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.code === 'NOT_FOUND';
}

function notJson(): AppError {
  return new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body with "Content-Type: application/json".');
}

/** Whether a body is announced as JSON, which includes a bare string. */
function isJsonSent({ headers }: FastifyRequest): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}

/** Names the tail of a path after its parameter in the table. */
function nameTail(route: Route, request: FastifyRequest): void {
  const name = route.hasPathTail ? /\{(\w+)\}$/.exec(route.path)?.[1] : undefined;
  if (name === undefined) return;
  const { '*': tail, ...params } = request.params as Record<string, string>;
  request.params = { ...params, [name]: tail };
}

function addProbes(app: FastifyInstance, deps: AppDeps): void {
  app.get('/-/liveness', async () => ({ status: 'alive' }));
  app.get('/-/readiness', async () => {
    if (!deps.isReady()) throw new AppError('STORE_UNAVAILABLE', 'The service is shutting down.');
    await deps.store.ping();
    const analytics = deps.analytics?.problem() ?? null;
    // Stays ready: all other requests work, and another process on the same database would do no better.
    return { status: 'ready', ...(analytics === null ? {} : { problems: { analytics } }) };
  });
  let document: Promise<object> | undefined;
  app.get('/v1/openapi.json', async (request) => {
    document ??= buildOpenApi(deps.routes);
    return { ...(await document), servers: [{ url: baseUrlOf(request, deps.publicUrl) }] };
  });
}

function warnOrAbove(level: string): string {
  return ['error', 'fatal', 'silent'].includes(level) ? level : 'warn';
}
