import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { quoted } from '../seen/read.ts';
import { companyItems } from './location.ts';

type Explained = Omit<Conclusion, 'evidence' | 'links'>;

/** A status that counts as a failure, by itself or by an assertion. */
export function unexpectedStatus(given: Case): Conclusion | undefined {
  const { run, before } = given;
  const { status } = run;
  const isAsserted =
    run.code === 'ASSERTION_FAILED' &&
    run.assertions.some((one) => one.failed && one.source === 'STATUS_CODE');
  if (status === null || (run.code !== 'STATUS_UNEXPECTED' && !isAsserted)) return undefined;
  const earlier = before?.status ?? null;
  const history =
    earlier === null || earlier === status ? '' : ` It answered ${earlier} at ${before?.result.startedAt}.`;
  const { cause, impact, ...explained } = explainedStatus(given, status);
  const body = run.body.trim();
  return {
    ...explained,
    cause: `${cause}${history}`,
    impact: impactOf(given, impact),
    evidence: [
      shown(`${run.url ?? given.target} was answered with ${status}`, 'request', 'response'),
      ...(body === '' ? [] : [shown(`The body: ${quoted(body)}`, 'response')]),
      ...companyItems(given),
    ],
  };
}

function explainedStatus(given: Case, status: number): Explained {
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
      cause: `The server answers and has nothing at ${place} (${status})${wasWell ? '; the check asks for the same as when it passed, so the page was removed or moved at the server' : ''}.`,
      impact: 'Who opens this address finds nothing there.',
      next: wasWell
        ? 'Look at the last release or change of routes of the server: restore the page, redirect it, or change the check.'
        : 'Correct the address in the check.',
    };
  }
  if (status === 429) {
    const after = run.headers.get('retry-after');
    return {
      certainty: 'CERTAIN',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server limits how often it is asked, and this request was one too many (429)${after ? `; it says to wait ${quoted(after)}` : ''}.`,
      impact: 'The server runs; clients that ask as often, or from the same address, are refused as well.',
      next: 'Ask less often, or have the server except the addresses of the location from the limit.',
    };
  }
  if (status >= 502 && status <= 504) return gateway(given, status);
  if (status >= 500) return serverError(given, status);
  if (status >= 400) {
    return {
      certainty: 'LIKELY',
      owner: wasWell ? 'target' : 'target-or-check',
      classification: wasWell ? 'APPLICATION_ERROR' : 'CONFIGURATION_ERROR',
      cause: `The server refuses the request as it is (${status}).`,
      impact: 'Clients that send the same request are refused.',
      next: wasWell
        ? 'See what the server demands since: a header, a parameter, another method.'
        : 'Correct the request in the check: the body of the answer often says what is wrong.',
    };
  }
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `${place} is answered with ${status}, and the check expects another status.`,
    impact: 'Who opens this address gets something else than before.',
    next: 'If the status is as meant, change what the check expects.',
  };
}

function unauthorized({ run }: Case, place: string, wasWell: boolean): Explained {
  const sends =
    run.requestHeaders.has('authorization') || run.requestHeaders.has('cookie') || hasKey(run.requestHeaders);
  return {
    certainty: sends && wasWell ? 'LIKELY' : 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: sends
      ? `The server does not accept the credentials that the check sends to ${place} (${run.status})${wasWell ? ', which it did before: they have expired, were changed or were revoked' : ''}.`
      : `The server wants credentials for ${place} (${run.status}), and the check sends none${wasWell ? '; it did not want any before' : ''}.`,
    impact: sends
      ? 'Clients that use the same credentials are refused; others may notice nothing.'
      : 'Who is not logged in is refused.',
    next: sends
      ? 'Renew the token or password in the variables of the check.'
      : 'Give the check credentials, or open the address again.',
  };
}

function forbidden({ run }: Case, place: string, wasWell: boolean): Explained {
  const sends =
    run.requestHeaders.has('authorization') || run.requestHeaders.has('cookie') || hasKey(run.requestHeaders);
  return {
    certainty: 'LIKELY',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `The server refuses access to ${place} (${run.status})${sends ? ': what the credentials of the check may do does not suffice' : ': a rule of the server or of a firewall before it keeps this client out'}${wasWell ? ' any more' : ''}.`,
    impact: 'Clients with the same rights, or from the same address, are refused.',
    next: sends
      ? 'Look at the rights of that user or token.'
      : 'Look at the access rules of the server and of the firewall before it, and whether they except the location.',
  };
}

const hasKey = (headers: ReadonlyMap<string, string>) =>
  [...headers.keys()].some((name) => /(api-?key|token)$/.test(name));

/** A program before the service answers in its place. */
function gateway({ run, target }: Case, status: number): Explained {
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
      cause: `The server at ${target} refuses for now: it answers 503. The connection to it works.${said}`,
      impact: 'Users get this answer in place of the service.',
      next: 'Look at the server: whether it is overloaded, is being maintained, or lacks what it depends on; its answer and its log name the reason.',
    };
  }
  const what =
    status === 502
      ? 'got no usable answer from the service behind it'
      : status === 503
        ? 'has no service behind it that takes requests, or the service itself refuses for now'
        : 'waited too long for the service behind it';
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `A gateway or load balancer of ${target} answers ${status}${isThere && via ? ` (it calls itself ${quoted(via)})` : ''}: it ${what}. The connection to it works.${said}`,
    impact: 'Users get an error page in place of the service.',
    next: 'Look at the service behind the gateway: whether it runs, passes its health checks and is not overloaded; the log of the gateway names the one that failed.',
  };
}

function serverError({ run, target, before }: Case, status: number): Explained {
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `The program at ${target} fails while it answers ${run.url ?? 'the request'} (${status}); network, TLS and name are in order${before ? '' : ', and the check has not passed before'}.${run.body.trim() === '' ? '' : ` It says: “${quoted(run.body.trim())}”`}`,
    impact: 'Users who ask for the same get an error.',
    next: 'Look at the log of the program at the time of the run, and at its last release.',
  };
}

/** Redirects without an end. */
export function endlessRedirects(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'REDIRECT_LIMIT' && run.code !== 'REDIRECT_INVALID') return undefined;
  if (run.code === 'REDIRECT_INVALID') {
    return {
      certainty: 'CERTAIN',
      owner: 'target',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server redirects to an address that is none. ${run.message}`,
      impact: impactOf(given, 'Browsers do not get on from there.'),
      next: 'Correct the redirect at the server.',
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
      ? `The redirects of ${given.target} go round in a circle: ${quoted(repeated)} comes again.`
      : `The redirects of ${given.target} do not come to an end. ${run.message}`,
    impact: impactOf(given, 'Browsers give up and show an error.'),
    next: 'Look at the rules of redirects: two of them undo each other, often one for https or for www at the server and one at the proxy before it; a cookie that is not kept does the same.',
    evidence: [
      shown(run.message, 'error', 'response'),
      ...hrefs.slice(0, 3).map((href) => shown(`Redirect at ${quoted(href)}`, 'response')),
    ],
  };
}
