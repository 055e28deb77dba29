import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { quoted } from '../run-view/read.ts';
import { companyItems, sentence } from './location.ts';

type Explained = Omit<Conclusion, 'evidence' | 'links'>;

/** A status that counts as a failure, by itself or by an assertion. */
export function unexpectedStatus(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  const { status } = run;
  const isAsserted =
    run.code === 'ASSERTION_FAILED' &&
    run.assertions.some((one) => one.failed && one.source === 'STATUS_CODE');
  if (status === null || (run.code !== 'STATUS_UNEXPECTED' && !isAsserted)) return undefined;
  const earlier = before?.status ?? null;
  const history =
    earlier === null || earlier === status
      ? ''
      : ` It responded with ${earlier} at ${before?.result.startedAt}.`;
  const { cause, impact, ...explained } = explainedStatus(given, status);
  const body = run.body.trim();
  return {
    ...explained,
    cause: `${cause}${history}`,
    impact: impactOf(given, impact),
    evidence: [
      shown(`${run.url ?? given.target} responded with ${status}`, 'request', 'response'),
      ...(body === '' ? [] : [shown(`The body: ${quoted(body)}`, 'response')]),
      ...companyItems(given),
    ],
  };
}

function explainedStatus(given: AnalysisInput, status: number): Explained {
  const { run, before } = given;
  const place = run.url ?? given.target;
  const wasWell = before?.status !== undefined && before?.status !== null && before.status < 400;
  if (status === 401 || status === 407) return unauthorized(given, place, wasWell);
  if (status === 403) return forbidden(given, place, wasWell);
  if (status === 404 || status === 410) {
    return {
      certainty: 'CERTAIN',
      owner: wasWell ? 'target' : 'target-or-check',
      classification: wasWell ? 'APPLICATION_ERROR' : 'CONFIGURATION_ERROR',
      cause: `The server is up but has no page at ${place} (${status})${wasWell ? '; the check requests the same address as at the last pass, so the page was removed or moved on the server' : ''}.`,
      impact: `Visitors get a ${status} at this address.`,
      next: wasWell
        ? 'Look at the last release or route change of the server: restore the page, redirect it, or change the check.'
        : 'Correct the address in the check.',
    };
  }
  if (status === 429) {
    const after = run.headers.get('retry-after');
    return {
      certainty: 'CERTAIN',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server limits the rate of requests, and this one exceeded the limit (429)${after ? `; it asks clients to wait (Retry-After: ${quoted(after)})` : ''}.`,
      impact: 'The server is up; clients with the same request rate or the same address are refused as well.',
      next: 'Run the check less often, or exempt the addresses of the location from the limit.',
    };
  }
  if (status >= 502 && status <= 504) return gateway(given, status);
  if (status >= 500) return serverError(given, status);
  if (status >= 400) {
    return {
      certainty: 'LIKELY',
      owner: wasWell ? 'target' : 'target-or-check',
      classification: wasWell ? 'APPLICATION_ERROR' : 'CONFIGURATION_ERROR',
      cause: `The server rejects the request (${status}).`,
      impact: 'Clients that send the same request get the same error.',
      next: wasWell
        ? 'Check what the server requires now: a header, a parameter, another method.'
        : 'Correct the request in the check: the response body often names the problem.',
    };
  }
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `${place} responds with ${status}, but the check expects another status.`,
    impact: 'Visitors of this address may get another response than before.',
    next: 'If the status is correct, change the expectation of the check.',
  };
}

function unauthorized({ run }: AnalysisInput, place: string, wasWell: boolean): Explained {
  const { loginState } = run.details;
  if (loginState === 'not-offered' || loginState === 'unusable') {
    return {
      certainty: 'CERTAIN',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server requires credentials for ${place} (${run.status}), but not by a login that the check can do. ${sentence(run.message)}`,
      impact: 'Users who are not logged in are refused.',
      next: wasWell
        ? 'Look at the login settings of the server: they were different at the last pass.'
        : 'Choose another scheme in the login of the check.',
    };
  }
  const sends =
    loginState === 'refused' ||
    run.requestHeaders.has('authorization') ||
    run.requestHeaders.has('cookie') ||
    hasKey(run.requestHeaders);
  return {
    certainty: sends && wasWell ? 'LIKELY' : 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: sends
      ? `The server does not accept the credentials that the check sends to ${place} (${run.status})${wasWell ? ', but did before: they have expired, or were changed or revoked' : ''}.`
      : `The server requires credentials for ${place} (${run.status}), and the check sends none${wasWell ? '; they were not required before' : ''}.`,
    impact: sends
      ? 'Clients that use the same credentials are refused; others may not be affected.'
      : 'Users who are not logged in are refused.',
    next: sends
      ? 'Renew the token or password in the variables of the check.'
      : 'Add credentials to the check, or make the address public again.',
  };
}

function forbidden({ run }: AnalysisInput, place: string, wasWell: boolean): Explained {
  const sends =
    run.requestHeaders.has('authorization') || run.requestHeaders.has('cookie') || hasKey(run.requestHeaders);
  return {
    certainty: 'LIKELY',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `The server ${wasWell ? 'now ' : ''}refuses access to ${place} (${run.status})${sends ? ': the credentials of the check do not have the required permissions' : ': a rule of the server or of a firewall in front of it blocks this client'}.`,
    impact: 'Clients with the same rights, or from the same address, are refused.',
    next: sends
      ? 'Look at the permissions of that user or token.'
      : 'Look at the access rules of the server and of the firewall in front of it, and allow the location.',
  };
}

const hasKey = (headers: ReadonlyMap<string, string>) =>
  [...headers.keys()].some((name) => /(api-?key|token)$/.test(name));

/** A gateway in front of the service responds in its place. */
function gateway({ run, target }: AnalysisInput, status: number): Explained {
  const via = run.headers.get('via') ?? run.headers.get('server') ?? null;
  const isThere =
    run.headers.has('via') ||
    /nginx|envoy|haproxy|cloudflare|awselb|varnish|traefik|caddy|apache|gateway|proxy/i.test(via ?? '');
  const body = run.body.trim();
  const said = body === '' ? '' : ` It says: “${quoted(body)}”`;
  if (status === 503 && !isThere) {
    return {
      certainty: 'LIKELY',
      owner: 'target',
      classification: 'APPLICATION_ERROR',
      cause: `The server at ${target} is temporarily unavailable: it responds with 503. The connection to it works.${said}`,
      impact: 'Users get this error instead of the service.',
      next: 'Check whether the server is overloaded, under maintenance, or lacks a dependency; its response and its log show the reason.',
    };
  }
  const what =
    status === 502
      ? 'got no usable response from the service behind it'
      : status === 503
        ? 'has no service behind it that accepts requests, or the service itself is temporarily unavailable'
        : 'waited too long for the service behind it';
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `A gateway or load balancer of ${target} responds with ${status}${isThere && via ? ` (it calls itself ${quoted(via)})` : ''}: it ${what}. The connection to it works.${said}`,
    impact: 'Users get an error page instead of the service.',
    next: 'Check whether the service behind the gateway is up, passes its health checks and is not overloaded; the log of the gateway names the one that failed.',
  };
}

function serverError({ run, target, before }: AnalysisInput, status: number): Explained {
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `The program at ${target} fails when it handles ${run.url ?? 'the request'} (${status}); DNS, network and TLS work${before ? '' : ', and the check has not passed before'}.${run.body.trim() === '' ? '' : ` It says: “${quoted(run.body.trim())}”`}`,
    impact: 'Users who send the same request get an error.',
    next: 'Look at the log of the program at the time of the run, and at its last release.',
  };
}

/** Redirects without an end. */
export function endlessRedirects(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'REDIRECT_LIMIT' && run.code !== 'REDIRECT_INVALID') return undefined;
  if (run.code === 'REDIRECT_INVALID') {
    return {
      certainty: 'CERTAIN',
      owner: 'target',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server redirects to an invalid address. ${run.message}`,
      impact: impactOf(given, 'Browsers cannot follow the redirect.'),
      next: 'Correct the redirect on the server.',
      evidence: [shown(run.message, 'error', 'response')],
    };
  }
  const hrefs = run.redirects.map(({ href }) => href);
  const repeated = hrefs.find((href, index) => hrefs.indexOf(href) !== index);
  const isLoop = repeated !== undefined;
  return {
    certainty: isLoop ? 'CERTAIN' : 'LIKELY',
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: isLoop
      ? `The redirects of ${given.target} form a loop: ${quoted(repeated)} comes up again.`
      : `The redirects of ${given.target} do not end. ${run.message}`,
    impact: impactOf(given, 'Browsers give up and show an error.'),
    next: 'Look for two redirect rules that undo each other, often one for https or www on the server and one on the proxy in front of it; a cookie that is not stored has the same effect.',
    evidence: [
      shown(run.message, 'error', 'response'),
      ...hrefs.slice(0, 3).map((href) => shown(`Redirect at ${quoted(href)}`, 'response')),
    ],
  };
}
