import { beginningOf } from '@picket/lib/text.ts';
import { z } from 'zod';
import { type DetailsOf, FailureDetails } from './failure-details.ts';

/**
 * Owners of failures. `target` and `config` (the user's own definition cannot be run) make a result `hasFailures`;
 * `location` and `agent` make it `hasErrors`, which never alerts as "target down".
 */
export const failureOwners = ['target', 'location', 'agent', 'config'] as const;
export type FailureOwner = (typeof failureOwners)[number];

interface FailureEntry {
  readonly owner: FailureOwner;
  readonly meaning: string;
  /**
   * True if the target sent no response, whether the target or the path to it is the cause; retries `onlyOn:
   * NETWORK_ERROR` depend on this.
   */
  readonly isNetworkError: boolean;
  /** Whether a run with this failure is never retried, whatever the check's retry strategy. */
  readonly isFinal?: true | undefined;
  /**
   * How a delay of the agent itself can cause the failure: `time-limit` if a time limit expired meanwhile, `hang-up` if
   * the peer may have disconnected an agent that was silent for long.
   */
  readonly fromLateness?: 'time-limit' | 'hang-up' | undefined;
  /**
   * Part of the location that can cause the failure of a healthy target: its resolver or its network. `if-named`: only
   * if the message names a network failure (see checks/foreign-texts/network.ts), as for scripts, which may also fail
   * because of content. Absent: no part, as for every failure because of content. While the agent finds that part
   * unhealthy (any part, for `if-named`), such a failure says nothing about the target.
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

/** All failure codes: stable, stored with results and listed in docs/reference/errors.md. */
export const failureCatalogue = {
  NAME_NOT_FOUND: {
    ...network('The name does not exist, or has no address of the requested family.'),
    fromLocation: 'resolver',
  },
  CONNECTION_REFUSED: network('The target refused the connection.'),
  CONNECTION_RESET: viaNetwork(hungUp(network('The target closed the connection unexpectedly.'))),
  CONNECTION_TIMEOUT: viaNetwork(timed(network('The connection was not established before the deadline.'))),
  HOST_UNREACHABLE: viaNetwork(network('The network reported that the target is unreachable.')),
  TLS_CERTIFICATE_INVALID: network('The certificate is expired, not trusted, or for another name.'),
  TLS_HANDSHAKE_FAILED: viaNetwork(
    hungUp(network('The TLS handshake failed before the certificate was verified.')),
  ),
  STARTTLS_REFUSED: target('The target does not offer STARTTLS, or rejected it.'),
  TLS_CERTIFICATE_EXPIRING: target('A certificate of the target expires within failDaysBeforeExpiry.'),
  TLS_BASELINE_VIOLATED: target(
    'The protocol, cipher, key or signature of the target is weaker than the check allows.',
  ),
  RESPONSE_TIMEOUT: viaNetwork(
    timed(network('The target accepted the request but did not finish its response before the deadline.')),
  ),
  RESPONSE_MALFORMED: network('The response violates the protocol, or its headers exceed the limit.'),
  RESPONSE_UNDECODABLE: target('The body or message does not match its declared encoding.'),
  REDIRECT_LIMIT: target('The target sent more than 10 redirects.'),
  REDIRECT_INVALID: target('A redirect does not lead to a valid http or https URL.'),
  DNS_NO_ANSWER: viaNetwork(timed(network('The name server of the check did not respond in time.'))),
  RESPONSE_CODE_UNEXPECTED: target('The DNS response code counts as a failure for this check.'),
  STATUS_UNEXPECTED: target(
    'The HTTP or gRPC status counts as a failure for this check, or is not the 101 of a WebSocket.',
  ),
  SERVICE_NOT_SERVING: target('The gRPC health service does not report SERVING.'),
  GRPC_REFLECTION_FAILED: target(
    'The server does not support gRPC reflection, or reflection does not list the method.',
  ),
  DIALOGUE_FAILED: target(
    'The response to a step of the conversation was not the expected one, or the target ended the conversation early.',
  ),
  CONNECTION_UNEXPECTED: target('The target accepted a connection, but the check expects it to refuse.'),
  NO_REPLY: viaNetwork(
    timed(
      network('The target did not respond to any echo request or probe, and no router reported a reason.'),
    ),
  ),
  PACKET_LOSS_EXCEEDED: viaNetwork(timed(target('Packet loss reached maxPacketLossThreshold.'))),
  REPLY_UNEXPECTED: target('The target responded, but the check expects failure.'),
  REQUEST_REFUSED: target(
    'The target answered that it does not do what the check asks: it refuses the login or the client, the query failed, or a time server has no time.',
  ),
  DOMAIN_EXPIRING: target(
    'The registration of the domain has expired, or expires within failDaysBeforeExpiry.',
  ),
  DOMAIN_NOT_REGISTERED: target('The registry does not know the domain: it is not registered.'),
  ASSERTION_FAILED: target('At least one assertion failed.'),
  MAX_RESPONSE_TIME_EXCEEDED: target('The response time exceeds maxResponseTime.'),
  RESOLVER_FAILED: {
    ...timed(location('The resolver of this location did not respond, or responded with an error.')),
    fromLocation: 'resolver',
  },
  RDAP_UNAVAILABLE: location(
    'The RDAP server of the registry, or the list of these servers, did not give the data: it cannot be reached, limits requests, or fails. This says nothing about the domain.',
  ),
  LOCATION_SICK: location('During the run the location was unhealthy, which explains the failure.'),
  NETWORK_UNAVAILABLE: viaNetwork(location('This location has no route to that address family.')),
  ICMP_UNAVAILABLE: location(
    'This location does not allow ICMP: the agent can open neither datagram nor raw ICMP sockets.',
  ),
  TRACEROUTE_UNAVAILABLE: location(
    'This location does not allow traceroute probes of this protocol. Another protocol may work.',
  ),
  PROXY_FAILED: location('The proxy of this location refused or broke the connection.'),
  LOGIN_UNAVAILABLE: {
    ...location(
      'The agent has no Kerberos identity for the login of the check, or gets no ticket for the server from the KDC.',
    ),
    isNetworkError: false,
  },
  SECRET_UNAVAILABLE: {
    ...location(
      'The run needs a secret that this location cannot read from where its agent should find it: a file, a command, a vault.',
    ),
    isNetworkError: false,
  },
  AGENT_OUT_OF_RESOURCES: agent('The agent ran out of file descriptors, memory, ports or buffers.'),
  AGENT_STARVED: agent('The agent lacked processor time and was too late to measure the target.'),
  RUNNER_CRASHED: agent('The part of the agent that ran the check ended unexpectedly.'),
  CHECK_CRASHES_RUNNER: {
    ...agent(
      'The run crashed the part of the agent that ran it twice, the second time alone. It is not retried, and the check runs in isolation for an hour.',
    ),
    isFinal: true,
  },
  RUN_ABORTED: agent('The agent shut down, or lost its lease, before the run finished.'),
  CHECK_TYPE_UNSUPPORTED: agent(
    'The agent does not support the check type, or one of its fields. Upgrade the agent.',
  ),
  CHECK_NOT_TRUSTED: {
    ...location(
      'The agents of this location run only checks that are signed with a key they trust, and refuse this one. It is not retried. See sign-checks.md.',
    ),
    isNetworkError: false,
    isFinal: true,
  },
  TEMPLATE_INVALID: config('A {{template}} of the check cannot be evaluated.'),
  ASSERTION_INVALID: config('An assertion has an invalid JSON path, regular expression or target.'),
  ASSERTION_TOO_COSTLY: config(
    'The assertions take more work on this response than a run allows: see the limits of assertions.',
  ),
  URL_INVALID: config('After its templates are filled in, the URL is not an http or https URL.'),
  HOST_INVALID: config('After its templates are filled in, the host is not a valid name or address.'),
  REQUEST_INVALID: config('The request is invalid: a header, method, body or domain name is not allowed.'),
  SCRIPT_FAILED: ifNamed(
    target('A test failed, or the script threw an error or ended early, as with process.exit().'),
  ),
  SCRIPT_TIMED_OUT: ifNamed(
    target(
      'The script exceeded its time limit: 240 seconds; 10 seconds for a setup or teardown script; 30 minutes or globalTimeout for the tests of a suite.',
    ),
  ),
  SCRIPT_OUT_OF_MEMORY: target(
    'The script and its browsers exceeded their memory limit: 2.7 GiB; 512 MiB for a setup or teardown script; 4 GiB for a suite.',
  ),
  SCRIPT_LIMIT_EXCEEDED: target(
    'The script exceeded a limit of processor time, processes, descriptors, output or disk.',
  ),
  SCRIPT_INVALID: config('The script cannot be loaded, has no tests, or does nothing.'),
  BUNDLE_INVALID: config(
    'The code bundle of the suite is missing, cannot be unpacked, or contains something that is not allowed.',
  ),
  INSTALL_FAILED: config(
    'The dependencies of the suite cannot be installed: its lockfile does not match, or a package is not available.',
  ),
  INSTALL_TIMED_OUT: config('Installing the dependencies of the suite exceeded its limit of 5 minutes.'),
  BUNDLE_UNAVAILABLE: agent('This agent could not get the code bundle of the suite from the service.'),
  PACKAGE_MANAGER_MISSING: agent('This agent does not have the package manager of the suite.'),
  RUNTIME_MISSING: agent('This agent does not have the runtime of the check.'),
  BROWSER_MISSING: agent(
    'The browser of the run is not installed at this agent, or does not start. The target was not tested.',
  ),
  SANDBOX_UNAVAILABLE: agent('This agent cannot isolate scripts at present, so it does not run them.'),
  PING_MISSED: target('No ping arrived before the end of the grace time.'),
  JOB_FAILED: target('The ping of the job reported a failure.'),
  JOB_UNFINISHED: target('The job started, and did not end within maxResponseTime.'),
  MODEL_PROVIDER_MISSING: agent('No model provider is configured. A check with a prompt needs one.'),
  MODEL_UNAVAILABLE: agent(
    'The model did not respond: its provider is unreachable, rejects requests, or is faulty.',
  ),
  MODEL_ANSWER_INVALID: agent('All responses of the model were unusable.'),
  MODEL_LIMIT_EXCEEDED: agent(
    'The run, or all runs of this agent today, used up the budget of tokens, time, cost or turns for the model.',
  ),
  PROMPT_NOT_FOLLOWED: target('The model found no steps for the prompt and gave a reason.'),
  STEP_FAILED: ifNamed(
    target('A step of the plan failed: the page lacks the element, or the page is broken.'),
  ),
  ORIGIN_NOT_ALLOWED: config(
    'A step accesses an origin that the check does not allow: neither its prompt nor allowedOrigins names it.',
  ),
  DOMAIN_EXPIRY_UNPUBLISHED: config(
    'The registry of the domain does not publish when the registration expires: it has no RDAP server, or its answer has no such date.',
  ),
  EGRESS_DENIED: config('The egress policy of the agent blocks connections to that address.'),
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof failureCatalogue;
const failureCodes = Object.keys(failureCatalogue) as [FailureCode, ...FailureCode[]];

/** Whether this build knows the code: a newer agent may report a code that an older service does not know. */
export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(failureCatalogue, code);
}

/** Why a run did not pass. A failed target is returned as this value; a thrown error is a bug of ours. */
export const Failure = z
  .object({
    owner: z.enum(failureOwners),
    code: z.enum(failureCodes),
    message: z.string().max(4096),
    // Details that a newer agent reports and this build does not know are dropped.
    details: FailureDetails.optional()
      .catch(undefined)
      .describe(
        'Facts of the failure; the code decides which fields exist. Absent in results of older agents',
      ),
  })
  .meta({ id: 'Failure' });
export type Failure = z.infer<typeof Failure>;

const maxMessageLength = 4096;

/** Creates a failure with the owner that the catalogue assigns to its code. @param details for programs, by code. */
export function failure<Code extends FailureCode>(
  code: Code,
  message: string,
  details?: DetailsOf<Code>,
): Failure {
  const said = { owner: failureCatalogue[code].owner, code, message: beginningOf(message, maxMessageLength) };
  return details === undefined ? said : { ...said, details };
}

/** Returns the same failure with a more specific message, such as one that names the step. */
export function reworded(failed: Failure, message: string): Failure {
  return { ...failed, message: beginningOf(message, maxMessageLength) };
}

/** How a result shows a failure: `hasFailures` is the fault of the target (or the definition), `hasErrors` is ours. */
export function resultFlags(failed: Pick<Failure, 'owner'> | undefined): {
  hasFailures: boolean;
  hasErrors: boolean;
} {
  const hasErrors = failed?.owner === 'agent' || failed?.owner === 'location';
  return { hasFailures: failed !== undefined && !hasErrors, hasErrors };
}

/** This host cannot run checks of some type. If a run is started nevertheless, it ends with that failure. */
export class CapabilityMissing extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'CapabilityMissing';
    this.failure = failure;
  }
}
