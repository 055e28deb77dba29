import { Buffer } from 'node:buffer';
import { packageVersion } from '@picket/lib/version.ts';
import { headerOfText } from '@picket/lib/wire/header-text.ts';
import type { ForwardProxy } from '@picket/probes/connection/forward-proxy.ts';
import type { Login } from '@picket/probes/http/login/login.ts';
import type { Addresses } from '../addresses/fields.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { IpFamilyName } from '../contract/ip-family.ts';
import type { RunLog } from '../contract/run-log.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledServerName, templateFailure } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import type { KerberosSettings } from '../kerberos/settings.ts';
import type { Auth } from './auth/auth.ts';
import { filledAuth, loginOf } from './auth/login.ts';
import { locationProxy } from './location-proxy.ts';
import { type RequestTrace, traceOf } from './traceparent.ts';

interface Pair {
  readonly key: string;
  readonly value: string;
}

/** A request as a check defines it, with templates. */
export interface HttpRequestSpec {
  readonly method: string;
  readonly url: string;
  readonly followRedirects: boolean;
  readonly skipSSL: boolean;
  readonly serverName: string | null;
  readonly ipFamily: IpFamilyName;
  readonly addresses?: Addresses;
  readonly traceparentHosts: readonly string[];
  readonly body: string;
  readonly bodyType: 'NONE' | 'JSON' | 'FORM' | 'RAW' | 'GRAPHQL';
  readonly headers: readonly Pair[];
  readonly queryParameters: readonly Pair[];
  readonly assertions: readonly Assertion[];
  /** The older field for what `auth` of type BASIC does. */
  readonly basicAuth: { readonly username: string; readonly password: string } | null;
  readonly auth: Auth | null;
}

/** A request that can be sent: templates filled in, defaults added. */
export interface PreparedRequest {
  readonly url: URL;
  readonly method: string;
  /** TLS server name; undefined: the URL's host. */
  readonly serverName: string | undefined;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body: string | undefined;
  readonly proxy: ForwardProxy | undefined;
  /** Trace context for the hosts that it names; undefined if the check sends none. */
  readonly trace: RequestTrace | undefined;
  /** Begins the login at the origin of the URL; undefined if the request has none that answers challenges. */
  readonly logIn: (() => Login) | undefined;
  readonly assertions: readonly Assertion[];
}

/** URL schemes without and with TLS. */
type Schemes = readonly [plain: string, secure: string];
const httpSchemes: Schemes = ['http', 'https'];

const contentTypes = {
  NONE: undefined,
  RAW: undefined,
  JSON: 'application/json',
  GRAPHQL: 'application/json',
  FORM: 'application/x-www-form-urlencoded',
} as const;

/** Fills in the templates of a request and completes it, or returns what is wrong with the definition. */
export function prepareRequest(
  spec: HttpRequestSpec,
  options: {
    readonly variables: Readonly<Record<string, string>>;
    readonly proxyUrl: string | null;
    readonly log: RunLog;
    /** The Kerberos identity of the agent, if it has one. */
    readonly kerberos?: KerberosSettings | undefined;
    /** Allowed schemes of the URL; http and https when absent. */
    readonly schemes?: Schemes | undefined;
  },
): { readonly request: PreparedRequest } | { readonly failure: Failure } {
  const { variables, log, schemes = httpSchemes } = options;
  try {
    const url = URL.parse(render(spec.url, variables, 'url').trim());
    if (!url || !schemes.some((scheme) => url.protocol === `${scheme}:`) || url.hostname === '') {
      return { failure: failure('URL_INVALID', urlProblem(spec.url, url, schemes)) };
    }
    if (url.hostname.length > maxHostnameLength) {
      const message = `the host name of the URL has ${url.hostname.length} characters, ${maxHostnameLength} are possible`;
      return { failure: failure('URL_INVALID', message) };
    }
    addQuery(url, spec.queryParameters, variables);
    url.hash = '';
    const located = locationProxy(options);
    if ('failure' in located) return located;
    const named = filledServerName(spec.serverName, variables);
    if ('failure' in named) return named;
    const body = bodyOf(spec, variables);
    const written =
      spec.auth ?? (spec.basicAuth && ({ type: 'BASIC', domain: '', ...spec.basicAuth } as const));
    const auth = written && filledAuth(written, variables);
    const headers = headersOf(spec, { auth, variables, log });
    return {
      request: {
        url,
        method: spec.method,
        serverName: named.serverName,
        headers,
        body,
        proxy: located.proxy,
        trace: traceOf(spec.traceparentHosts, headers),
        logIn: auth ? loginOf(auth, options.kerberos) : undefined,
        assertions: filledAssertions(spec.assertions, variables),
      },
    };
  } catch (thrown) {
    return templateFailure(thrown);
  }
}

/** Longest host name that DNS can carry (RFC 1035 section 2.3.4), without a trailing dot. */
const maxHostnameLength = 253;

function urlProblem(written: string, url: URL | null, [plain, secure]: Schemes): string {
  const shown = JSON.stringify(written);
  if (url) return `the URL ${shown} is ${url.protocol} but has to be ${plain}: or ${secure}:`;
  const hint = written.includes('{{') ? ' once its templates are filled in' : '';
  return `${shown} is not a valid ${plain} or ${secure} URL${hint}`;
}

/** Appends query parameters to the existing query of the URL. */
function addQuery(url: URL, parameters: readonly Pair[], variables: Readonly<Record<string, string>>): void {
  if (parameters.length === 0) return;
  const added = parameters.map(
    ({ key, value }) => `${encodeURIComponent(key.toWellFormed())}=${render(value, variables, 'query')}`,
  );
  url.search = [url.search.slice(1), ...added].filter((part) => part !== '').join('&');
}

function bodyOf(spec: HttpRequestSpec, variables: Readonly<Record<string, string>>): string | undefined {
  if (spec.bodyType === 'NONE') return undefined;
  const text = render(spec.body, variables, 'raw');
  return spec.bodyType === 'GRAPHQL' ? JSON.stringify({ query: text }) : text;
}

function headersOf(
  spec: HttpRequestSpec,
  means: {
    readonly auth: Auth | null;
    readonly variables: Readonly<Record<string, string>>;
    readonly log: RunLog;
  },
): string[] {
  const { auth, variables, log } = means;
  const own: string[] = [];
  const names = new Set<string>();
  for (const { key, value } of spec.headers) {
    const name = key.trim();
    const lowerName = name.toLowerCase();
    if (lowerName === 'content-length') {
      log.write('WARN', 'the header Content-Length of the check is not sent: it is set from the body');
      continue;
    }
    names.add(lowerName);
    // A line break at the end of a variable is a common accident; inside a value it stays and is refused.
    own.push(name, headerOfText(render(value, variables, 'raw').trim()));
  }
  const defaults: string[] = [];
  if (!names.has('user-agent')) defaults.push('User-Agent', `Picket/${packageVersion()}`);
  if (!names.has('accept')) defaults.push('Accept', '*/*');
  const contentType = contentTypes[spec.bodyType];
  if (contentType && !names.has('content-type')) defaults.push('Content-Type', contentType);
  if (auth && names.has('authorization')) {
    log.write('WARN', 'the login of the check is not used: its header Authorization replaces it');
  } else if (auth?.type === 'BASIC') {
    const credentials = Buffer.from(`${auth.username}:${auth.password}`);
    defaults.push('Authorization', `Basic ${credentials.toString('base64')}`);
  }
  return own.length === 0 ? defaults : [...defaults, ...own];
}
