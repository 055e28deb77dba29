import { type Failure, reworded } from '../contract/failure.ts';
import type { Outcome, Runner } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { templateFailure } from '../judging/filled.ts';
import { noEvidence } from '../runner/evidence.ts';
import { badness, heldBack, labelled, verdictName } from '../runner/part-of-run.ts';
import { unsentOutcome } from '../runner/probe-runner.ts';
import type { DnsDetail, NameServerVerdict } from './detail.ts';
import type { NamedServer } from './named-server.ts';
import { filledServers, serverName } from './request.ts';
import type { DnsSpec } from './spec.ts';
import { unknownDetail } from './unknown-detail.ts';

/** One server and its outcome. */
interface Asked {
  readonly name: string;
  readonly outcome: Outcome<DnsDetail>;
  /** Hands over the files of its diagnosis. */
  readonly handOver: () => Promise<void>;
}

/**
 * Asks each name server of a check, all at the same time. With `EVERY` the outcome is the worst one, and among equals
 * the slowest; with `ANY` it is the best one, and among equals the quickest. The detail lists what each answered.
 */
export async function onServers(
  spec: DnsSpec,
  context: RunContext,
  once: (server: NamedServer) => Runner<DnsSpec, DnsDetail>,
): Promise<Outcome<DnsDetail>> {
  const servers = serversOf(spec, context);
  if ('failure' in servers) {
    return unsentOutcome({ ...unknownDetail(spec, {}), ...noEvidence }, servers.failure, context);
  }
  const asked = await Promise.all(
    servers.map(async (server): Promise<Asked> => {
      const name = serverName(server);
      const held = context.artifacts && heldBack(context.artifacts);
      const log = labelled(context.log, () => name);
      const outcome = await once(server)(spec, { ...context, log, artifacts: held?.sink });
      return { name, outcome, handOver: held?.handOver ?? (async () => undefined) };
    }),
  );
  const isAny = spec.request.serversToPass === 'ANY';
  const [decisive] = asked.toSorted((one, other) => {
    const order = badness(other.outcome) - badness(one.outcome);
    const isSlower = other.outcome.responseTimeMs - one.outcome.responseTimeMs;
    return (isAny ? -1 : 1) * (order === 0 ? isSlower : order);
  });
  if (!decisive) throw new Error('there is no server to ask');
  await decisive.handOver();
  const { outcome } = decisive;
  const failed = outcome.failure && ofServer(outcome.failure, decisive, asked);
  const [, ...further] = outcome.errorMessages;
  return {
    ...outcome,
    ...(failed && { failure: failed, errorMessages: [failed.message, ...further] }),
    detail: { ...outcome.detail, nameServers: asked.map(verdictOf), jobLog: jobLogOf(context.log) },
  };
}

function serversOf(spec: DnsSpec, context: RunContext) {
  try {
    return filledServers(spec, context);
  } catch (thrown) {
    return templateFailure(thrown);
  }
}

/** Most characters of an answer in the list: the whole answer of the decisive server is in the response. */
const maxAnswerLength = 1000;

function verdictOf({ name, outcome }: Asked): NameServerVerdict {
  const { failure: failed, responseTimeMs, detail } = outcome;
  const { returnCode, answer, nameServerInfo } = detail.response;
  return {
    nameServer: name,
    address: nameServerInfo?.host ?? null,
    verdict: verdictName(outcome),
    ...{ code: failed?.code ?? null, message: failed?.message ?? null },
    ...{ returnCode, answer: answer.slice(0, maxAnswerLength), responseTime: responseTimeMs },
  };
}

/** Rewords the failure of one server to name all servers that failed. */
function ofServer(failed: Failure, { name }: Asked, asked: readonly Asked[]): Failure {
  const failing = asked.filter(({ outcome }) => outcome.failure);
  const list = failing.length > 1 ? ` (${failing.map((one) => one.name).join(', ')})` : '';
  const count = `${failing.length} of ${asked.length} name servers failed${list}`;
  return reworded(failed, `${count}: ${name}: ${failed.message}`);
}
