import { z } from 'zod';
import { beginningOf } from '../../lib/text.ts';
import { type DetailsOf, FailureDetails } from './failure-details.ts';

/**
 * Whose fault a run's failure is. `target` and `config` (the user's own definition cannot be run) make a
 * result `hasFailures`; `location` and `agent` make it `hasErrors`, which never alerts as "target down".
 */
export const failureOwners = ['target', 'location', 'agent', 'config'] as const;
export type FailureOwner = (typeof failureOwners)[number];

interface FailureEntry {
  readonly owner: FailureOwner;
  readonly meaning: string;
  /**
   * True when no answer was received from the target, whether the target or the way to it is to blame;
   * retries `onlyOn: NETWORK_ERROR` look at this.
   */
  readonly isNetworkError: boolean;
  /** Whether a run that failed so is never repeated, whatever the check says about retries. */
  readonly isFinal?: true | undefined;
  /**
   * How an agent that was late itself can bring the failure about: `time-limit` when a limit of time ran out
   * meanwhile, `hang-up` when the other side may have given up on an agent that was silent for long.
   */
  readonly fromLateness?: 'time-limit' | 'hang-up' | undefined;
  /**
   * Which part of the location can bring the failure about where the target is well: its resolver or its
   * network. `if-named`: only when the message names a failure of the network (see checks/foreign-texts/network.ts), as scripts do
   * that also fail by what they find. Absent: none, as for every failure by content. While the agent finds that
   * part unhealthy (any, for `if-named`), such a failure says nothing against the target.
   */
  readonly fromLocation?: 'resolver' | 'network' | 'if-named' | undefined;
}

const target = (meaning: string): FailureEntry => ({ owner: 'target', meaning, isNetworkError: false });
const network = (meaning: string): FailureEntry => ({ owner: 'target', meaning, isNetworkError: true });
const location = (meaning: string): FailureEntry => ({ owner: 'location', meaning, isNetworkError: true });
const timed = (entry: FailureEntry): FailureEntry => ({ ...entry, fromLateness: 'time-limit' });
const hungUp = (entry: FailureEntry): FailureEntry => ({ ...entry, fromLateness: 'hang-up' });
const viaNetwork = (entry: FailureEntry): FailureEntry => ({ ...entry, fromLocation: 'network' });
const ifNamed = (entry: FailureEntry): FailureEntry => ({ ...entry, fromLocation: 'if-named' });
const agent = (meaning: string): FailureEntry => ({ owner: 'agent', meaning, isNetworkError: false });
const config = (meaning: string): FailureEntry => ({ owner: 'config', meaning, isNetworkError: false });

/**
 * Every reason a run can fail for: stable codes, stored with results and listed in docs/reference/errors.md.
 */
export const failureCatalogue = {
  NAME_NOT_FOUND: {
    ...network('The name does not exist, or has no address of the wanted family.'),
    fromLocation: 'resolver',
  },
  CONNECTION_REFUSED: network('The target refused the connection.'),
  CONNECTION_RESET: viaNetwork(hungUp(network('The target broke the connection off.'))),
  CONNECTION_TIMEOUT: viaNetwork(timed(network('No connection was made before the deadline.'))),
  HOST_UNREACHABLE: viaNetwork(network('The network answered that the target cannot be reached.')),
  TLS_CERTIFICATE_INVALID: network('The certificate is expired, for another name, or not trusted.'),
  TLS_HANDSHAKE_FAILED: viaNetwork(
    hungUp(network('The TLS handshake failed before a certificate could be judged.')),
  ),
  STARTTLS_REFUSED: target('The target does not offer TLS on its plain connection, or refused to begin it.'),
  TLS_CERTIFICATE_EXPIRING: target('A certificate of the target expires within failDaysBeforeExpiry.'),
  TLS_BASELINE_VIOLATED: target(
    'The protocol, cipher, key or signature of the target is weaker than the check allows.',
  ),
  RESPONSE_TIMEOUT: viaNetwork(
    timed(network('The target accepted the request but did not finish its answer before the deadline.')),
  ),
  RESPONSE_MALFORMED: network('The answer is not valid in its protocol, or its headers exceed the limit.'),
  RESPONSE_UNDECODABLE: target('The body or message could not be decoded as its encoding says.'),
  REDIRECT_LIMIT: target('More than 10 redirects.'),
  REDIRECT_INVALID: target('A redirect without a usable http or https address.'),
  DNS_NO_ANSWER: viaNetwork(timed(network('The name server of the check did not answer in time.'))),
  RESPONSE_CODE_UNEXPECTED: target('The DNS response code counts as a failure for this check.'),
  STATUS_UNEXPECTED: target(
    'The HTTP or gRPC status counts as a failure for this check, or is not the 101 of a WebSocket.',
  ),
  SERVICE_NOT_SERVING: target('The health service of gRPC does not say SERVING.'),
  GRPC_REFLECTION_FAILED: target(
    'The server does not describe itself by reflection, or not the method that is to be called.',
  ),
  DIALOGUE_FAILED: target(
    'The target answered a step of a conversation with something else than the check expects, or ended it before.',
  ),
  CONNECTION_UNEXPECTED: target('A connection was made, and the check expects that none can be made.'),
  NO_REPLY: viaNetwork(
    timed(network('The target answered not one echo request or probe, and nobody said why.')),
  ),
  PACKET_LOSS_EXCEEDED: viaNetwork(timed(target('The packet loss reached maxPacketLossThreshold.'))),
  REPLY_UNEXPECTED: target('The target answered, and the check expects that it does not.'),
  ASSERTION_FAILED: target('At least one assertion did not hold.'),
  MAX_RESPONSE_TIME_EXCEEDED: target('The response time is over maxResponseTime.'),
  RESOLVER_FAILED: {
    ...timed(location('The resolver of this location did not answer, or answered with an error.')),
    fromLocation: 'resolver',
  },
  LOCATION_SICK: location(
    'The agent found its location unhealthy while the run was under way, in a way that explains the failure.',
  ),
  NETWORK_UNAVAILABLE: viaNetwork(location('This location has no route to that address family.')),
  ICMP_UNAVAILABLE: location(
    'This location does not allow ICMP: neither datagram nor raw ICMP sockets can be used there.',
  ),
  TRACEROUTE_UNAVAILABLE: location(
    'This location does not allow the probes that the traceroute is to send; those of another protocol may work.',
  ),
  PROXY_FAILED: location('The proxy of this location refused or broke the connection.'),
  AGENT_OUT_OF_RESOURCES: agent('The agent ran out of file descriptors, memory, ports or buffers.'),
  AGENT_STARVED: agent(
    'The agent itself was so late that nothing can be said about the target: it had no processor time.',
  ),
  RUNNER_CRASHED: agent('The part of the agent that ran the check ended unexpectedly.'),
  CHECK_CRASHES_RUNNER: {
    ...agent(
      'The run ended the part of the agent that ran it, twice and the second time alone. It is not retried, and the check runs apart from others for an hour.',
    ),
    isFinal: true,
  },
  RUN_ABORTED: agent('The agent shut down, or lost its right to the run, before the run was done.'),
  CHECK_TYPE_UNSUPPORTED: agent(
    'This agent does not know the check type, or a field of it. Upgrade the agent.',
  ),
  TEMPLATE_INVALID: config('A {{template}} of the check cannot be evaluated.'),
  ASSERTION_INVALID: config(
    'A JSON path, a regular expression or the target of an assertion cannot be used.',
  ),
  ASSERTION_TOO_COSTLY: config(
    'The assertions of the check take more work on this answer than a run may: see the limits of assertions.',
  ),
  URL_INVALID: config('The URL is not http or https once its templates are filled in.'),
  HOST_INVALID: config('The host is neither a name nor an address once its templates are filled in.'),
  REQUEST_INVALID: config(
    'The request cannot be sent as configured: a header, method, body or domain name is not allowed.',
  ),
  SCRIPT_FAILED: ifNamed(
    target(
      'A test of the script failed, it threw, or it ended before it was done, as process.exit() makes it.',
    ),
  ),
  SCRIPT_TIMED_OUT: ifNamed(
    target(
      'The script ran longer than it may: 240 seconds, a setup or teardown script 10, the tests of a suite 30 minutes or their globalTimeout.',
    ),
  ),
  SCRIPT_OUT_OF_MEMORY: target(
    'The script and its browsers used more memory than they may: 2.7 GiB, a setup or teardown script 512 MiB, a suite 4 GiB.',
  ),
  SCRIPT_LIMIT_EXCEEDED: target(
    'The script used more processor time, processes, descriptors, output or disk than it may.',
  ),
  SCRIPT_INVALID: config('The script cannot be loaded, has no tests, or does nothing.'),
  BUNDLE_INVALID: config(
    'The code bundle of the suite is missing, cannot be unpacked, or holds what it must not hold.',
  ),
  INSTALL_FAILED: config(
    'The dependencies of the suite cannot be installed: its lockfile does not fit, or a package is not to be had.',
  ),
  INSTALL_TIMED_OUT: config('Installing the dependencies of the suite took longer than it may, 5 minutes.'),
  BUNDLE_UNAVAILABLE: agent('This agent could not get the code bundle of the suite from the service.'),
  PACKAGE_MANAGER_MISSING: agent('This agent does not have the package manager of the suite.'),
  RUNTIME_MISSING: agent('This agent does not have the runtime of the check.'),
  BROWSER_MISSING: agent(
    'This agent does not have the browser that the run opens, or it does not start: nothing can be said about the target.',
  ),
  SANDBOX_UNAVAILABLE: agent('This agent cannot contain scripts, or not now, and so does not run them.'),
  PING_MISSED: target('No ping came in by the end of the grace time.'),
  JOB_FAILED: target('The job reported by its ping that it failed.'),
  MODEL_PROVIDER_MISSING: agent('No model provider is configured, and a prompt needs one to be followed.'),
  MODEL_UNAVAILABLE: agent(
    'The model gave no answer: its provider cannot be reached, refuses, or is out of order.',
  ),
  MODEL_ANSWER_INVALID: agent(
    'The model answered in a way that nothing can be done with, however often it was asked.',
  ),
  MODEL_LIMIT_EXCEEDED: agent(
    'The run, or all runs of this agent on this day, used up what they may take of the model: tokens, time, cost or turns.',
  ),
  PROMPT_NOT_FOLLOWED: target('The model found no steps that do what the prompt asks, and says why.'),
  STEP_FAILED: ifNamed(
    target(
      'A step of the plan could not be done: what it acts on is not on the page, or the page is out of order.',
    ),
  ),
  ORIGIN_NOT_ALLOWED: config(
    'A step reaches for an origin that the check does not allow: neither its prompt nor allowedOrigins names it.',
  ),
  EGRESS_DENIED: config('The egress policy of the agent does not allow a connection to that address.'),
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof failureCatalogue;
const failureCodes = Object.keys(failureCatalogue) as [FailureCode, ...FailureCode[]];

/**
 * Whether this build knows the code: an agent may be newer than the service, and report one that it does not.
 */
export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(failureCatalogue, code);
}

/** Why a run did not pass. A failed target is such a value; a throw means that we are broken. */
export const Failure = z
  .object({
    owner: z.enum(failureOwners),
    code: z.enum(failureCodes),
    message: z.string().max(4096),
    // An agent that is newer may say what this build does not know: then it says nothing.
    details: FailureDetails.optional()
      .catch(undefined)
      .describe('The facts of the failure, by its code; absent in results of older agents'),
  })
  .meta({ id: 'Failure' });
export type Failure = z.infer<typeof Failure>;

const maxMessageLength = 4096;

/** A failure with the owner its code has in the catalogue. @param details what programs read of it, by its code. */
export function failure<Code extends FailureCode>(
  code: Code,
  message: string,
  details?: DetailsOf<Code>,
): Failure {
  const said = { owner: failureCatalogue[code].owner, code, message: beginningOf(message, maxMessageLength) };
  return details === undefined ? said : { ...said, details };
}

/** The same failure with a message that says more, such as the step that it happened in. */
export function reworded(failed: Failure, message: string): Failure {
  return { ...failed, message: beginningOf(message, maxMessageLength) };
}

/**
 * How a failure shows in a result: `hasFailures` is the target's (or the definition's) fault, `hasErrors` is
 * ours.
 */
export function resultFlags(failed: Pick<Failure, 'owner'> | undefined): {
  hasFailures: boolean;
  hasErrors: boolean;
} {
  const hasErrors = failed?.owner === 'agent' || failed?.owner === 'location';
  return { hasFailures: failed !== undefined && !hasErrors, hasErrors };
}

/** This host cannot run checks of some type. A run that meets it anyway ends with that failure. */
export class CapabilityMissing extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'CapabilityMissing';
    this.failure = failure;
  }
}
