import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Lane, lanes } from '../../../../src/checks/contract/check-type.ts';
import { findCheckType } from '../../../../src/checks/index.ts';
import { packageVersion } from '../../../../src/lib/version.ts';
import type {
  ClaimRequest,
  ClaimResponse,
  LeasedRun,
  LeaseRef,
  ReleaseResponse,
  RenewResponse,
  ResultReceipt,
  ResultReport,
  ResultsResponse,
} from '../../../../src/protocol/agent/agent.ts';
import { agentBundleRoutes } from '../../../../src/protocol/agent/code-bundle.ts';
import {
  locationEventRoutes,
  type ReportedLocationEvent,
} from '../../../../src/protocol/locations/location-event.ts';
import { ArtifactInbox } from './artifact-inbox.ts';
import { AskedSettings } from './asked-settings.ts';
import type { Behaviour, CallName, RecordedCall, Script } from './script.ts';

/** Agents report lost claims at once, so a few are enough. */
const maxRememberedClaims = 100;

const callOfPath: Readonly<Record<string, CallName>> = {
  '/v1/agent/claims': 'claim',
  '/v1/agent/leases/renew': 'renew',
  '/v1/agent/leases/release': 'release',
  '/v1/agent/results': 'results',
  '/v1/agent/examinations': 'examine',
};

const codeBundlePath = agentBundleRoutes.fetchCodeBundle.path.replace('{key}', '');

/**
 * A control plane for agent tests: real HTTP on a free port, every request recorded, every response scriptable. It
 * keeps only the state that the protocol needs (queue, leases, results with their fencing tokens). Tests wait with
 * `waitFor`, which checks its condition after every event.
 */
export class FakeService {
  readonly calls: RecordedCall[] = [];
  /** Called for each request outside the agent protocol as it arrives; error reports are accepted. */
  onOtherCall: ((path: string) => void) | undefined;
  readonly otherCalls: { readonly path: string; readonly bodyText: string }[] = [];
  /** Every result that was stored or fenced, in order of arrival. */
  readonly results: ResultReport[] = [];
  readonly receipts: ResultReceipt[] = [];
  /** The current lease of each run. */
  readonly leases = new Map<string, LeaseRef>();
  /** Runs leased for each numbered claim. */
  readonly #claimed = new Map<string, readonly LeasedRun[]>();
  readonly released: LeaseRef[] = [];
  /** The last location events that agents reported, by id. */
  readonly locationEvents = new Map<string, ReportedLocationEvent>();
  leaseTtlMs = 15_000;
  readonly asked = new AskedSettings(() => this.#wake());
  /** How far this service's clock runs ahead of the host's. */
  clockAheadMs = 0;
  script: Script | undefined;
  /** Code bundles that suites name, by key. */
  readonly codeBundles = new Map<string, Buffer>();
  readonly inbox = new ArtifactInbox(() => this.#notify());
  readonly #server: Server;
  readonly #scheme: 'http' | 'https';
  readonly #sockets = new Set<Socket>();
  #queue: LeasedRun[] = [];
  readonly #cancelled = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #storedIds = new Set<string>();
  readonly #waiters = new Set<() => void>();
  readonly #polls = new Set<() => void>();

  /** @param tls serves HTTPS with this certificate. */
  constructor(tls?: { readonly key: string; readonly cert: string }) {
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    this.#scheme = tls ? 'https' : 'http';
    this.#server = tls ? createTlsServer(tls, serve) : createServer(serve);
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Queues runs for the next claim and wakes a waiting claim. */
  enqueue(...runs: LeasedRun[]): void {
    this.#queue.push(...runs);
    this.#wake();
  }

  /** Cancels a run: the agent learns of it from the next renewal or claim. */
  cancel(runId: string): void {
    this.#cancelled.add(runId);
    this.#wake();
  }

  /** Takes a lease away: the next renewal reports it lost, and its result is fenced. */
  loseLease(runId: string): void {
    this.#lost.add(runId);
    this.leases.delete(runId);
  }

  callsOf(name: CallName): RecordedCall[] {
    return this.calls.filter((call) => call.name === name);
  }

  resultOf(runId: string): ResultReport | undefined {
    return this.results.find((result) => result.runId === runId);
  }

  /** Resets every open connection, waiting polls included. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /**
   * Resolves with the predicate's value once it is neither undefined nor false. The predicate is evaluated after every
   * event of this service, and ten times a second for changes elsewhere.
   */
  async waitFor<T>(what: string, predicate: () => T | undefined | false, timeoutMs = 90_000): Promise<T> {
    const first = predicate();
    if (first !== undefined && first !== false) return first;
    return await new Promise<T>((resolve, reject) => {
      const look = () => {
        const value = predicate();
        if (value === undefined || value === false) return;
        done();
        resolve(value);
      };
      const done = () => {
        clearInterval(interval);
        clearTimeout(timeout);
        this.#waiters.delete(look);
      };
      const interval = setInterval(look, 100);
      const timeout = setTimeout(() => {
        done();
        reject(new Error(`waited ${timeoutMs} ms in vain for: ${what}`));
      }, timeoutMs);
      this.#waiters.add(look);
    });
  }

  #wake(): void {
    for (const poll of this.#polls) poll();
    this.#notify();
  }

  #notify(): void {
    for (const look of [...this.#waiters]) look();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that uses this service as its proxy sends the whole URL.
    const url = new URL(request.url ?? '/', 'http://service');
    if (await this.inbox.take(url, request, response)) return;
    const name = callOfPath[url.pathname];
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client reset the connection while it sent its body, so no response can be sent.
      return;
    }
    const bodyText = Buffer.concat(chunks).toString();
    if (url.pathname === locationEventRoutes.reportLocationEvents.path) {
      const { events } = JSON.parse(bodyText) as { events: ReportedLocationEvent[] };
      for (const event of events) this.locationEvents.set(event.eventId, event);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ serverTime: this.#now() }));
      this.#notify();
      return;
    }
    const bundle = this.codeBundles.get(url.pathname.slice(codeBundlePath.length));
    if (bundle && url.pathname.startsWith(codeBundlePath)) {
      response.writeHead(200, { 'content-type': 'application/gzip' }).end(bundle);
      return;
    }
    if (!name) {
      this.otherCalls.push({ path: request.url ?? '/', bodyText });
      this.onOtherCall?.(url.pathname);
      response.writeHead(request.url === '/api/agent/envelope/' ? 200 : 404).end('{}');
      return;
    }
    const call: RecordedCall = {
      name,
      headers: request.headers,
      // The body of an examination has no meaning.
      body: name === 'examine' ? {} : (JSON.parse(bodyText) as Record<string, unknown>),
      bodyText: name === 'examine' ? '' : bodyText,
      bodyBytes: Buffer.concat(chunks).length,
      atMs: performance.now(),
      isAborted: false,
    };
    response.on('close', () => {
      if (!response.writableFinished) call.isAborted = true;
      this.#notify();
    });
    const index = this.callsOf(name).length;
    this.calls.push(call);
    const behaviour = this.script?.(call, index) ?? {};
    this.#notify();
    await this.#behave(call, behaviour, request.socket, response);
    this.#notify();
  }

  async #behave(
    call: RecordedCall,
    behaviour: Behaviour,
    socket: Socket,
    response: ServerResponse,
  ): Promise<void> {
    if (behaviour.delayMs) await new Promise((resolve) => setTimeout(resolve, behaviour.delayMs));
    if (behaviour.isSilent) return;
    if (behaviour.isReset) {
      socket.resetAndDestroy();
      return;
    }
    const { statusCode = 200, headers = {}, bodyText, change } = behaviour;
    if (statusCode !== 200) {
      const error = { statusCode, error: 'Scripted', message: `scripted ${statusCode}` };
      response.writeHead(statusCode, { 'content-type': 'application/json', ...headers });
      response.end(bodyText ?? JSON.stringify(error));
      return;
    }
    const answer = bodyText === undefined ? await this.#answer(call, response) : undefined;
    if (behaviour.isAnswerHeld) return;
    if (behaviour.isAnswerLost) {
      socket.resetAndDestroy();
      return;
    }
    if (response.destroyed) return;
    const text = bodyText ?? JSON.stringify(change ? change(answer as Record<string, unknown>) : answer);
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(text);
  }

  async #answer(call: RecordedCall, response: ServerResponse): Promise<object> {
    switch (call.name) {
      case 'claim':
        return await this.#claim(call.body as unknown as ClaimRequest, response);
      case 'renew':
        return this.#renew(call.body.leases as LeaseRef[]);
      case 'release':
        return this.#release(call.body.leases as LeaseRef[]);
      case 'examine':
        return {
          serverTime: this.#now(),
          version: packageVersion(),
          location: { slugName: 'test-location', name: 'Test location' },
          isOutdated: false,
          receivedBytes: call.bodyBytes,
        };
      case 'results':
        return this.#store(call.body.results as ResultReport[]);
    }
  }

  async #claim(request: ClaimRequest, response: ServerResponse): Promise<ClaimResponse> {
    const { waitMs, sessionId, claimNumber, lostClaims = [] } = request;
    for (const lost of lostClaims) this.#putBack(`${sessionId} ${lost}`);
    const endMs = performance.now() + waitMs;
    const isNews = () => this.#cancelled.size > 0 || this.asked.areNewsFor(request);
    while (!response.destroyed && !isNews() && !this.#hasWorkFor(request)) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) break;
      await this.#untilWoken(leftMs, response);
    }
    // An agent that has disconnected gets no runs: they stay in the queue.
    const runs = response.destroyed ? [] : lanes.flatMap((lane) => this.#dequeue(lane, request));
    for (const { runId, leaseNumber } of runs) this.leases.set(runId, { runId, leaseNumber });
    if (claimNumber !== undefined && runs.length > 0) this.#claimed.set(`${sessionId} ${claimNumber}`, runs);
    const [oldest] = this.#claimed.keys();
    if (oldest !== undefined && this.#claimed.size > maxRememberedClaims) this.#claimed.delete(oldest);
    const cancelledRunIds = this.#takeCancelled();
    return { ...this.#times(), runs, cancelledRunIds, settings: this.asked.current };
  }

  /** Number of runs that wait for a claim. */
  get queuedCount(): number {
    return this.#queue.length;
  }

  #hasWorkFor({ freeSlots, fullCheckTypes }: ClaimRequest): boolean {
    return this.#queue.some((run) => freeSlots[laneOf(run)] > 0 && !isFull(run, fullCheckTypes));
  }

  /** Removes the oldest runs of a lane from the queue. */
  #dequeue(lane: Lane, { freeSlots, fullCheckTypes }: ClaimRequest): LeasedRun[] {
    const fitting = this.#queue.filter((run) => laneOf(run) === lane && !isFull(run, fullCheckTypes));
    const taken = new Set(fitting.slice(0, freeSlots[lane]));
    this.#queue = this.#queue.filter((run) => !taken.has(run));
    return [...taken];
  }

  async #untilWoken(timeoutMs: number, response: ServerResponse): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, timeoutMs);
      const polls = this.#polls;
      function end(): void {
        clearTimeout(timer);
        polls.delete(end);
        response.off('close', end);
        resolve();
      }
      polls.add(end);
      response.on('close', end);
    });
  }

  /** Queues runs of a claim again, under new fencing tokens, because the agent never received the response. */
  #putBack(claim: string): void {
    for (const run of this.#claimed.get(claim) ?? []) {
      if (this.leases.get(run.runId)?.leaseNumber !== run.leaseNumber) continue;
      this.leases.delete(run.runId);
      this.#queue.push({ ...run, leaseNumber: run.leaseNumber + 1 });
    }
    this.#claimed.delete(claim);
  }

  #renew(leases: readonly LeaseRef[]): RenewResponse {
    const isLost = ({ runId, leaseNumber }: LeaseRef) =>
      this.#lost.has(runId) || this.leases.get(runId)?.leaseNumber !== leaseNumber;
    return {
      ...this.#times(),
      lostRunIds: leases.filter(isLost).map(({ runId }) => runId),
      cancelledRunIds: this.#takeCancelled(),
    };
  }

  #release(leases: readonly LeaseRef[]): ReleaseResponse {
    for (const lease of leases) {
      this.leases.delete(lease.runId);
      this.released.push(lease);
    }
    return { serverTime: this.#now(), released: leases.length };
  }

  #store(results: readonly ResultReport[]): ResultsResponse {
    const items = results.map((result): ResultReceipt => {
      const { resultId, runId, leaseNumber } = result;
      if (this.#storedIds.has(resultId)) return { resultId, status: 'duplicate', reason: null };
      const isStale = this.leases.get(runId)?.leaseNumber !== leaseNumber;
      this.results.push(result);
      this.#storedIds.add(resultId);
      if (!isStale) this.leases.delete(runId);
      return { resultId, status: isStale ? 'stale' : 'accepted', reason: null };
    });
    this.receipts.push(...items);
    return { serverTime: this.#now(), items };
  }

  #takeCancelled(): string[] {
    const ids = [...this.#cancelled];
    this.#cancelled.clear();
    return ids;
  }

  #times(): { serverTime: number; leaseTtlMs: number } {
    return { serverTime: this.#now(), leaseTtlMs: this.leaseTtlMs };
  }

  #now(): number {
    return Date.now() + this.clockAheadMs;
  }
}

function isFull({ check }: Partial<LeasedRun>, fullCheckTypes: readonly string[] = []): boolean {
  return fullCheckTypes.includes(check?.checkType ?? '');
}

/** Runs of unknown check types, and values that are not runs at all, are leased as probes. */
function laneOf(run: Partial<LeasedRun>): Lane {
  return findCheckType(run.check?.checkType ?? '')?.lane ?? 'probe';
}
