import type { ClaimResponse, RenewResponse, ResultsResponse } from '../../../src/protocol/agent/agent.ts';
import type { HistoryEvent, LeaseName } from './history.ts';

interface WireCall {
  readonly agent: string;
  readonly path: string;
  readonly body: Buffer;
  readonly askedAtMs: number;
}

interface RequestBody {
  readonly sessionId: string;
  readonly claimNumber?: number;
  readonly lostClaims?: readonly number[];
  readonly leases?: readonly LeaseName[];
  readonly results?: readonly {
    readonly resultId: string;
    readonly runId: string;
    readonly leaseNumber: number;
  }[];
}

const pathStart = '/v1/agent/';

/** The event of a call and its response; undefined for calls that no invariant covers. */
export function answeredEvent(
  wireCall: WireCall,
  status: number,
  answer: Buffer,
  answeredAtMs: number,
): HistoryEvent | undefined {
  const { agent, path, askedAtMs } = wireCall;
  if (!path.startsWith(pathStart)) return undefined;
  if (status !== 200) return unansweredEvent(wireCall, status, answeredAtMs);
  const asked = JSON.parse(wireCall.body.toString()) as RequestBody;
  const call = { agent, sessionId: asked.sessionId, askedAtMs, answeredAtMs };
  const leases = asked.leases ?? [];
  const answered = JSON.parse(answer.toString()) as unknown;
  switch (path.slice(pathStart.length)) {
    case 'claims': {
      const { runs } = answered as ClaimResponse;
      const granted = runs.map(({ runId, leaseNumber, resultId, check }) => ({
        runId,
        leaseNumber,
        resultId,
        checkId: check.id,
      }));
      const { claimNumber = 0, lostClaims = [] } = asked;
      if (granted.length === 0 && lostClaims.length === 0) return undefined;
      return { kind: 'claim', ...call, claimNumber, lostClaims, granted };
    }
    case 'leases/renew': {
      const { lostRunIds, cancelledRunIds } = answered as RenewResponse;
      return { kind: 'renew', ...call, leases, lost: [...lostRunIds, ...cancelledRunIds] };
    }
    case 'leases/release':
      return { kind: 'release', ...call, leases };
    case 'results': {
      const { items } = answered as ResultsResponse;
      const reports = (asked.results ?? []).map(({ resultId, runId, leaseNumber }, index) => ({
        resultId,
        runId,
        leaseNumber,
        receipt: items[index]?.status ?? 'none',
      }));
      return { kind: 'results', ...call, reports };
    }
    default:
      return undefined;
  }
}

/** The event of a call without a successful response. Results that it carried may have been stored anyway. */
export function unansweredEvent(
  { agent, path, body, askedAtMs }: WireCall,
  status: number | null,
  atMs: number,
): HistoryEvent | undefined {
  if (!path.startsWith(pathStart)) return undefined;
  const call = path.slice(pathStart.length);
  const asked = call === 'results' ? (JSON.parse(body.toString()) as RequestBody) : undefined;
  const resultIds = asked?.results?.map(({ resultId }) => resultId) ?? [];
  return { kind: 'unanswered', agent, call, askedAtMs, atMs, status, resultIds };
}
