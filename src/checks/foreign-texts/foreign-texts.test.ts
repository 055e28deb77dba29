import { describe, expect, it } from 'vitest';
import { errorNameIn, scriptErrorIn } from './javascript.ts';
import { lookedUpNameIn, networkCodeIn, networkFailureIn, systemPeerIn } from './network.ts';
import {
  browserTroubleIn,
  expectationIn,
  isBrowserAftermath,
  locatorIn,
  scriptProblemIn,
  urlIn,
} from './playwright.ts';
import { certificateFlawIn, handshakeProblemIn } from './tls.ts';
import { proxyStatusIn } from './undici.ts';

// One original message of another program for each pattern.

describe('texts of Node, Chromium and Firefox about the network', () => {
  it.each([
    [
      'page.goto: net::ERR_NAME_NOT_RESOLVED at https://shop.test/a',
      'unnamed',
      'resolver',
      'shop.test',
      null,
    ],
    ['getaddrinfo EAI_AGAIN shop.test', 'unnamed', 'resolver', 'shop.test', null],
    [
      'page.goto: NS_ERROR_UNKNOWN_HOST\n  - navigating to "https://shop.test/"',
      'unnamed',
      'resolver',
      'shop.test',
      null,
    ],
    [
      'page.goto: net::ERR_CONNECTION_REFUSED at http://shop.test:81/',
      'unreachable',
      null,
      'shop.test',
      null,
    ],
    ['connect ECONNREFUSED 10.0.0.5:443', 'unreachable', null, null, '10.0.0.5'],
    [
      'page.goto: net::ERR_TIMED_OUT at https://[2001:db8::1]/',
      'unreachable',
      'network',
      '2001:db8::1',
      null,
    ],
    ['connect EHOSTUNREACH 10.0.0.5:443 - Local (10.0.0.1:4)', 'unreachable', 'network', null, '10.0.0.5'],
    [
      'Connect Timeout Error (attempted address: shop.test:443, timeout: 10000ms)',
      'unreachable',
      'network',
      'shop.test',
      null,
    ],
    [
      'page.goto: Timeout 30000ms exceeded.\nCall log:\n  - navigating to "https://shop.test/"',
      'unreachable',
      'network',
      'shop.test',
      null,
    ],
    [
      'apiRequestContext.get: Request timed out after 5000ms\nCall log:\n  - → GET https://shop.test/api',
      'unreachable',
      'network',
      'shop.test',
      null,
    ],
    ['Error: socket hang up', 'unreachable', 'network', null, null],
  ])('reads %j', (text, symptom, part, host, address) => {
    expect(networkFailureIn(text)).toEqual({ symptom, part, host, address });
  });

  it.each([
    ['getaddrinfo ENOTFOUND shop.test', 'NAME_NOT_FOUND'],
    ['getaddrinfo EAI_AGAIN shop.test', 'RESOLVER_FAILED'],
    ['connect ECONNREFUSED 10.0.0.5:443', 'CONNECTION_REFUSED'],
    ['net::ERR_EMPTY_RESPONSE at https://shop.test/', 'CONNECTION_RESET'],
    ['connect ETIMEDOUT 10.0.0.5:443', 'CONNECTION_TIMEOUT'],
    ['net::ERR_ADDRESS_UNREACHABLE at https://shop.test/', 'HOST_UNREACHABLE'],
    ['net::ERR_INTERNET_DISCONNECTED at https://shop.test/', 'NETWORK_UNAVAILABLE'],
    ['net::ERR_CERT_DATE_INVALID at https://shop.test/', 'TLS_CERTIFICATE_INVALID'],
    ['net::ERR_SSL_PROTOCOL_ERROR at https://shop.test/', 'TLS_HANDSHAKE_FAILED'],
    ['Max redirect count exceeded', 'REDIRECT_LIMIT'],
    ['net::ERR_TUNNEL_CONNECTION_FAILED at https://shop.test/', 'PROXY_FAILED'],
    ['expected 3 to be 4', undefined],
  ])('gives %j the code %s', (text, code) => {
    expect(networkCodeIn(text)).toBe(code);
  });

  it('finds the peer and the name in them', () => {
    expect(systemPeerIn('connect ECONNREFUSED ::1:8443')).toEqual({ address: '::1', port: 8443 });
    expect(systemPeerIn('read ECONNRESET')).toBeNull();
    expect(lookedUpNameIn('getaddrinfo ENOTFOUND shop.test')).toBe('shop.test');
  });
});

describe('texts of OpenSSL, Node and Chromium about TLS', () => {
  it.each([
    ['certificate has expired', 'expired'],
    ['certificate is not yet valid', 'early'],
    ['net::ERR_CERT_DATE_INVALID', 'dated'],
    ["Hostname/IP does not match certificate's altnames: Host: a.test.", 'name'],
    ['net::ERR_CERT_REVOKED', 'revoked'],
    ['self-signed certificate in certificate chain', 'self-signed'],
    ['unable to get local issuer certificate', 'issuer'],
    ['certificate signature failure', undefined],
  ])('finds in %j the flaw %s', (text, flaw) => {
    expect(certificateFlawIn(text)).toBe(flaw);
  });

  it.each([
    ['tlsv1 alert protocol version', 'version-or-cipher'],
    ['tlsv13 alert certificate required', 'client-certificate'],
    ['wrong version number', 'no-tls'],
    ['Client network socket disconnected before secure TLS connection was established', undefined],
  ])('finds in %j the problem %s', (text, problem) => {
    expect(handshakeProblemIn(text)).toBe(problem);
  });
});

describe('texts of Playwright', () => {
  it.each([
    ['page.goto: Timeout 30000ms exceeded.', 'navigation-timeout'],
    ["locator.click: Timeout 1500ms exceeded.\nCall log:\n  - waiting for locator('#buy')", 'locator'],
    ['expect(received).toBe(expected)', 'assertion'],
    ['Test timeout of 30000ms exceeded.', 'test-timeout'],
    ['basket is not defined', 'thrown'],
  ])('reads %j as %s', (text, problem) => {
    expect(scriptProblemIn(text)).toBe(problem);
  });

  it('finds locators, expectations and addresses', () => {
    expect(locatorIn("Call log:\n  - waiting for locator('#buy') to be visible")).toBe("locator('#buy')");
    expect(locatorIn("Locator: getByRole('button')\nExpected: visible")).toBe("getByRole('button')");
    expect(expectationIn('Expected: 3\nReceived: 4')).toEqual({ expected: '3', received: '4' });
    expect(urlIn('net::ERR_FAILED at https://shop.test/a')).toBe('https://shop.test/a');
    expect(urlIn('Call log:\n  - → GET https://shop.test/api')).toBe('https://shop.test/api');
  });

  it('finds a browser that is missing, or does not start', () => {
    expect(
      browserTroubleIn("browserType.launch: Executable doesn't exist at /ms-playwright/firefox-1/firefox"),
    ).toMatchObject({ path: '/ms-playwright/firefox-1/firefox', program: 'firefox' });
    expect(
      browserTroubleIn("browserType.launch: Chromium distribution 'chrome' is not found at /opt/chrome"),
    ).toMatchObject({ channel: 'chrome' });
    expect(browserTroubleIn('browserType.launch: Timeout 180000ms exceeded.')).toMatchObject({
      why: 'Timeout 180000ms exceeded.',
    });
    expect(browserTroubleIn('page.goto: Timeout 30000ms exceeded.')).toBeUndefined();
    expect(isBrowserAftermath('Worker teardown timeout of 30000ms exceeded.')).toBe(true);
  });
});

describe('texts of JavaScript and of the HTTP client', () => {
  it('distinguish an error of the script from one that a response may have caused', () => {
    expect(scriptErrorIn('ReferenceError: basket is not defined')).toBe('surely');
    expect(scriptErrorIn('SyntaxError: Unexpected token < in JSON at position 0')).toBe('perhaps');
    expect(scriptErrorIn('expected 3 to be 4')).toBeNull();
    expect(errorNameIn('TypeError: fetch failed', 'beginning')).toBe('TypeError');
    expect(errorNameIn('it said TypeError: fetch failed', 'anywhere')).toBe('TypeError');
  });

  it('report that a proxy requires a login', () => {
    expect(proxyStatusIn('Proxy response (407) !== 200 when HTTP Tunneling')).toBe(407);
    expect(proxyStatusIn('fetch failed')).toBeUndefined();
  });
});
